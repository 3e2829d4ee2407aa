"""Attention as a page: two columns of tokens with lines between them, a head at a time, as in a head view.

Every head of every layer stands below, small, to choose from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from search.records.attention import EVERY_HEAD, Attention, View
from search.render.heatmap import CAVEATS, rows_line
from search.render.page.document import document, header, isolated, text

if TYPE_CHECKING:
    from search.records.tokens import Matrix

MOST_WEIGHTS = 5_000_000  # about 12 MB; more make a page that no browser opens gladly
_PLACES = 1000  # weights are rounded to thousandths
_DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8)

_CONTROLS = """<div class="controls" id="controls">
<label>Layer <select id="layer">{layers}</select></label>
<label>Show <select id="head">{heads}</select></label></div>"""

_DETAIL = """<section class="detail" id="detail" aria-live="polite">
<p>Point at a token on the left to see what it reads, on the right to see who reads it. Tab and the arrow keys do it
too; Escape shows all again.</p></section>"""

_MORE = """<p>Heads often put most of their weight on [CLS], [SEP] or a full stop; Clark et al. 2019 take that for a
way to do nothing. After the first layer a position holds a mixture of tokens; rollout accounts for that
(Abnar &amp; Zuidema 2020): it averages the mean of the heads with the identity, for the residual connection, and
multiplies the layers. It leaves out value vectors and feed-forward networks.</p>"""


def attention(attention: Attention, view: View = EVERY_HEAD) -> str:
    """The page of a text's attention, as the text of an HTML file. It opens at `view`, else at the last layer's mean.

    Raises:
        ValueError: there are more than MOST_WEIGHTS weights.
    """
    if attention.weights.size > MOST_WEIGHTS:
        raise ValueError(
            f"{attention.weights.size:,} weights are more than the {MOST_WEIGHTS:,} that a page can hold"
        )
    shown = attention.heads + 2 if view.rollout else view.head or attention.heads + 1
    opened = view.layer or attention.layers, shown
    body = "\n".join(
        (
            _head(attention),
            _controls(attention, opened),
            f'<main class="heads"><div class="view" id="view">{_tokens(attention, "from", "reads")}'
            f'<svg id="lines" aria-hidden="true"></svg>{_tokens(attention, "to", "is read")}</div>{_DETAIL}</main>',
            f'<p class="faint">{text(rows_line(attention))} On this page weights are rounded to thousandths. '
            '<span id="drawn"></span></p>',
            '<section id="all" hidden><h2>Every head of every layer</h2><div class="scroll"></div>'
            '<p class="faint">A row reads, a column is read; the colour grows with the square root of the '
            "weight.</p></section>",
            f"<section><h2>What attention does not tell</h2>{''.join(f'<p>{text(caveat)}</p>' for caveat in CAVEATS)}"
            f"{_MORE}</section>",
        )
    )
    data = {
        "layers": attention.layers,
        "heads": attention.heads,
        "tokens": [token.text for token in attention.tokens],
        "special": [int(token.special) for token in attention.tokens],
        "weights": [_layer(attention, number) for number in range(1, attention.layers + 1)],
        "places": _PLACES,
        "opened": opened,
    }
    return document(f"Attention: {attention.texts[0]}", body, data, "attention.js", "attention.css")


def encoded(weights: Matrix) -> str:
    """Two characters for each weight of a matrix, row by row: thousandths, in base 64."""
    rounded = np.rint(np.asarray(weights, dtype=np.float64) * _PLACES).astype(np.int64).ravel()
    pairs = np.stack([_DIGITS[rounded >> 6], _DIGITS[rounded & 63]], axis=1)
    return pairs.tobytes().decode("ascii")


def _layer(attention: Attention, layer: int) -> list[str]:
    """The heads of a layer, their mean, and the rollout up to it."""
    heads = [encoded(attention.matrix(layer, head)) for head in range(1, attention.heads + 1)]
    return [*heads, encoded(attention.matrix(layer)), encoded(attention.rollout(layer))]


def _head(attention: Attention) -> str:
    names = ("Text",) if len(attention.texts) == 1 else ("First", "Second")
    texts = [(name, f"<b>{isolated(given)}</b>") for name, given in zip(names, attention.texts, strict=True)]
    return header("Which token reads which", (*texts, ("Model", isolated(attention.model))))


def _controls(attention: Attention, opened: tuple[int, int]) -> str:
    shown = [
        *(f"head {head}" for head in range(1, attention.heads + 1)),
        "mean of the heads",
        "rollout up to it",
    ]
    return _CONTROLS.format(
        layers=_options([str(layer) for layer in range(1, attention.layers + 1)], opened[0]),
        heads=_options(shown, opened[1]),
    )


def _options(names: list[str], chosen: int) -> str:
    return "".join(
        f'<option value="{i}"{" selected" if i == chosen else ""}>{name}</option>'
        for i, name in enumerate(names, 1)
    )


def _tokens(attention: Attention, side: str, said: str) -> str:
    """The tokens one below the other, as things to point at."""
    lines = "".join(
        f'<li><span class="unit{" special" if token.special else ""}" data-token="{i}" tabindex="-1" '
        f'role="button">{isolated(token.text)}</span></li>'
        for i, token in enumerate(attention.tokens)
    )
    return f'<div class="side" id="{side}"><h2>{said}</h2><ol>{lines}</ol></div>'
