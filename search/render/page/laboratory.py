"""Pages about models: attention and cosines of sentences; on the server also forms and inspected texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from search.records.comparisons import Similarities
from search.records.inspections import Attention, InputToken, Inspection
from search.render.format import letters, one_line
from search.render.heatmap import CAVEATS, rows_line
from search.render.inspection import model_line, turned_rows
from search.render.page.document import (
    Page,
    about,
    data,
    hidden,
    isolated,
    kept,
    link,
    options,
    shade,
    text,
)

LONGEST = 8_000  # characters of a text, as it is part of an address
PLACES = {"/similarity": "Compare sentences", "/inspect": "Look inside a text"}
VIEWS = {"tokens": "tokens and layers", "attention": "who reads whom"}


def of_sentences(texts: Sequence[str], index: str, answer: Page | None, problem: str) -> Page:
    """Return the form that compares sentences, with its result.

    Args:
        texts: the typed sentences.
        index: name of the index whose model is used.
        answer: the result; None if there is none.
        problem: reason why there is no result; "" if there is one.
    """
    fields = f"""{_area("Sentences, one a line", chr(10).join(texts), 7)}<button>Compare</button>
<span class="faint">Two are compared token by token.</span>"""
    return _form("/similarity", "How alike are these sentences?", index, fields, answer, problem)


def of_text(texts: Sequence[str], index: str, answer: Page | None, problem: str, show: str) -> Page:
    """Return the form that inspects a text or a pair, with its result."""
    first, second = [*texts, "", ""][:2]
    fields = f"""{_area("Text", first, 2)}{_area("Second text, if there is one", second, 2)}
<label>Show <select name="show">{options(VIEWS, show)}</select></label><button>Look</button>
<span class="faint">The first look takes some seconds.</span>"""
    return _form("/inspect", "What does the model make of a text?", index, fields, answer, problem)


def _form(action: str, title: str, index: str, fields: str, answer: Page | None, problem: str) -> Page:
    current = ' aria-current="page"'
    result = f'<p role="alert">{text(problem)}</p>' if problem else ""
    if answer is not None:
        result = f"<h2>{answer.heading}</h2>{answer.about}{answer.body}"
    ways = "".join(
        f'<a href="{link(path, index=index)}"{current if path == action else ""}>{name}</a>'
        for path, name in PLACES.items()
    )
    fields += f'<nav class="ways" aria-label="Lab">{ways}</nav>'
    form = f'<form class="controls" action="{action}">{hidden(index=index)}{fields}</form>'
    uses = ("live.js", "sentences.js", "explanation.js", "attention.js", "attention.css")
    return Page(title, title, "", f"<live-part>{form}{result}</live-part>", uses)


def _area(label: str, typed: str, rows: int) -> str:
    return (
        f'<label class="wide">{label}<textarea name="text" rows="{rows}" maxlength="{LONGEST}" dir="auto">\n'
        f"{kept(typed)}</textarea></label>"
    )


def inspection(inspected: Inspection) -> Page:
    """Return the page of an inspected text or pair."""
    tokens = inspected.tokens
    special = sum(token.special for token in tokens)
    body = f"""<h3>{len(tokens)} tokens, {special} of them special</h3>
<ol class="tokens">{"".join(map(_chip, tokens))}</ol>
<p class="faint">Below a token its id, the row of its vector in the vocabulary.</p>
<h3>Each token through the layers</h3>
{_through_layers(inspected)}
<p class="faint">The cosine of a token's vector with itself one layer before.</p>"""
    note = text(model_line(inspected.model))
    return Page("Inside a text", "What the model makes of it", about(note=note), body)


def _chip(token: InputToken) -> str:
    kinds = {"special": token.special, "unknown": token.unknown, "second": token.segment}
    classes = " ".join(name for name, is_set in kinds.items() if is_set)
    return f'<li class="{classes}">{isolated(token.text)} <small>{token.id}</small></li>'


def _through_layers(inspected: Inspection) -> str:
    """Return a table with a row for each token: its cosines, shaded by their distance from 1."""
    cosines = turned_rows(inspected)
    end = max((1 - value for row in cosines for value in row), default=1.0)
    rows = "".join(
        f'<tr><th scope="row">{isolated(token.text)}</th>'
        + "".join(f'<td class="{shade(1 - value, end)}">{value:.3f}</td>' for value in row)
        + "</tr>"
        for token, row in zip(inspected.tokens, cosines, strict=True)
    )
    heads = "".join(f'<th scope="col">layer {layer}</th>' for layer in range(1, len(inspected.states)))
    return f"""<div class="scroll" role="region" aria-label="Cosines with the layer before" tabindex="0">
<table class="numbers"><thead><tr><th scope="col">token</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"""


_CONTROLS = """<div class="controls" hidden>
<label>Layer <select data-part="layer">{layers}</select></label>
<label>Show <select data-part="head">{heads}</select></label></div>"""

_DETAIL = """<section class="detail" aria-live="polite">
<p>Point at a token: left, the tokens it attends to; right, those that attend to it.</p></section>"""


def attention(attention: Attention, layer: int | None = None, head: int | None = None) -> Page:
    """Return the page of a text's attention.

    Args:
        layer, head: layer and head to begin with; None begins with the last layer and the mean over its heads.
    """
    opened = layer or attention.layers, head or attention.heads + 1
    caveats = "".join(f"<p>{text(caveat)}</p>" for caveat in CAVEATS)
    body = "\n".join(
        (
            "<attention-view>",
            _controls(attention, opened),
            f'<div class="heads"><div class="view">{_tokens(attention, "from", "reads")}'
            f'<svg class="lines" aria-hidden="true"></svg>{_tokens(attention, "to", "is read")}</div>{_DETAIL}</div>',
            f'<p class="faint">{text(rows_line(attention))} <span data-part="drawn"></span></p>',
            '<section data-part="all" hidden><h2>Every head of every layer</h2><div class="scroll"></div>'
            '<p class="faint">A row reads, a column is read.</p></section>',
            f"<section><h2>What attention does not tell</h2>{caveats}</section>",
            f"{data(_values(attention, opened))}</attention-view>",
        )
    )
    title = f"Attention: {attention.texts[0]}"
    return Page(
        title, "Which token attends to which", _about(attention), body, ("attention.js", "attention.css")
    )


def _values(attention: Attention, opened: tuple[int, int]) -> dict[str, Any]:
    """Return the data for the script."""
    return {
        "layers": attention.layers,
        "heads": attention.heads,
        "tokens": [token.text for token in attention.tokens],
        "special": [int(token.special) for token in attention.tokens],
        "weights": [_layer(attention, number) for number in range(1, attention.layers + 1)],
        "opened": opened,
    }


def _layer(attention: Attention, layer: int) -> list[list[int]]:
    """Return the attention of each head of a layer, then their mean; each as a flat list of thousandths."""
    heads = [attention.matrix(layer, head) for head in (*range(1, attention.heads + 1), None)]
    return [np.rint(1000 * head).astype(int).ravel().tolist() for head in heads]


def _about(attention: Attention) -> str:
    names = ("Text",) if len(attention.texts) == 1 else ("First", "Second")
    texts = [
        (name, f"<b>{isolated(value)}</b>") for name, value in zip(names, attention.texts, strict=True)
    ]
    return about((*texts, ("Model", isolated(attention.model))))


def _controls(attention: Attention, opened: tuple[int, int]) -> str:
    heads = {str(head): f"head {head}" for head in range(1, attention.heads + 1)}
    heads[str(attention.heads + 1)] = "mean of the heads"
    layers = {str(layer): str(layer) for layer in range(1, attention.layers + 1)}
    layer, head = map(str, opened)
    return _CONTROLS.format(layers=options(layers, layer), heads=options(heads, head))


def _tokens(attention: Attention, side: str, heading: str) -> str:
    """Return the list of tokens, each of which reacts to the pointer."""
    lines = "".join(
        f'<li><span class="unit{" special" if token.special else ""}" data-token="{i}" tabindex="-1" '
        f'role="button">{isolated(token.text)}</span></li>'
        for i, token in enumerate(attention.tokens)
    )
    return f'<div class="side" data-side="{side}"><h2>{heading}</h2><ol>{lines}</ol></div>'


MOST_CELLS = 40_000  # browsers scroll larger tables badly


def sentences(similarities: Similarities) -> Page:
    """Return the page of a similarity matrix of sentences.

    Raises:
        ValueError: the matrix has more than MOST_CELLS cells.
    """
    n, m = similarities.cosines.shape
    if n * m > MOST_CELLS:
        raise ValueError(f"{n} x {m} cosines are more than the {MOST_CELLS:,} that a page can hold")
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    heads = "".join(
        f'<th scope="col" data-column="{j}"><span class="unit" tabindex="-1" role="button">{name}</span></th>'
        for j, name in enumerate(names)
    )
    rows = "".join(
        f'<tr><th scope="row" data-row="{i}"><span class="unit" tabindex="-1" role="button">'
        f"<i>{i + 1}</i> {isolated(sentence)}</span></th>{_cells(i, cosines)}</tr>"
        for i, (sentence, cosines) in enumerate(
            zip(similarities.rows, similarities.cosines.tolist(), strict=True)
        )
    )
    origin = f"{isolated(similarities.model)}, {text(similarities.pooling)} pooling"
    note = f"{n} \u00d7 {m} cosines of sentence embeddings: {origin}"
    values = {
        "rows": [one_line(sentence) for sentence in similarities.rows],
        "columns": [one_line(sentence) for sentence in similarities.columns],
        "names": names,
        "itself": similarities.itself,
        "cosine": [[round(cell, 4) for cell in row] for row in similarities.cosines.tolist()],
    }
    body = f"""<sentence-matrix>
<div class="scroll"><table class="matrix">
<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
<section class="detail" aria-live="polite">
<p>Point at a cell or a sentence, or go to it with Tab.</p></section>
{_legend(similarities, names)}
{data(values)}</sentence-matrix>"""
    title = "How alike these sentences are"
    return Page(title, title, about(note=note), body, ("sentences.js",))


def _cells(row: int, cosines: list[float]) -> str:
    return "".join(
        f'<td class="{shade(value, 1.0)}" data-row="{row}" data-column="{j}" tabindex="-1">'
        f"{value:.2f}</td>".replace(">-", ">\u2212")
        for j, value in enumerate(cosines)
    )


def _legend(similarities: Similarities, names: list[str]) -> str:
    """Return the list of the columns' sentences; "" if they are the rows' sentences."""
    if similarities.itself:
        return ""
    lines = "".join(
        f"<div><dt>{name}</dt><dd>{isolated(sentence)}</dd></div>"
        for name, sentence in zip(names, similarities.columns, strict=True)
    )
    return f'<h2>Columns</h2><dl class="legend">{lines}</dl>'
