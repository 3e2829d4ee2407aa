"""X-ray page: how two texts come to their score, from the pieces that a model reads to one number.

Five sections: the pieces with their embeddings, the strips of layers, the grid of pairs, a head of attention, and the
score. Every number is in the HTML; the script moves the layer, marks a piece wherever it stands, and asks the server
again while somebody types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from markupsafe import Markup

from search.records.comparisons import DeletionTest
from search.records.explanations import Side
from search.records.hits import Hit
from search.records.tokens import Token
from search.records.visible_text import visible
from search.records.xrays import ADDED_EMBEDDINGS, XRay
from search.render import why as written
from search.render.format import fixed, one_line
from search.render.grid import Range
from search.render.heatmap import By
from search.render.page.document import Page, drawn, shade
from search.render.page.hit_list import PageRequest, viewed
from search.render.page.score_bar import ScoreBar, full_width
from search.render.page.token_grid import token_grid
from search.render.score_parts import parts_of

if TYPE_CHECKING:
    from search.records.tokens import Matrix, Table

SCRIPTS = ("grid.js", "xray.js")
_MOST_NUMBERS = 14  # columns of a strip whose cells have room for their numbers
_NAMES: dict[Side, tuple[str, str]] = {
    "query": ("Query", "First text"),
    "passage": ("Passage", "Second text"),
}
_MINUS = "\u2212"
_MOST_CELLS = 24  # rows and columns of the grid without scripts
_POOLINGS = {
    "mean": "mean of all pieces",
    "cls": "[CLS] alone",
    "pooler": "[CLS] through the pooler",
    "max": "largest value of each dimension",
    "lasttoken": "last piece alone",
}


@dataclass(frozen=True)
class HeadChoice:
    """A head of attention to show.

    Attributes:
        side: the text.
        layer: 1 to the number of layers.
        head: 1 to the number of heads; None for the mean over them.
    """

    side: Side
    layer: int
    head: int | None = None


@dataclass(frozen=True)
class Origin:
    """Source of the texts of an X-ray, on a server.

    Attributes:
        request: index, query and options.
        texts: both texts as the form has them.
        hit: the hit whose passage is the second text, as stored or as edited; None for two free texts.
        is_edited: True if a text differs from the hit's.
        grid: address of the matrices of other layers, without the layer.
    """

    request: PageRequest
    texts: tuple[str, str]
    hit: Hit | None = None
    is_edited: bool = False
    grid: str = ""


@dataclass(frozen=True)
class Piece:
    """A token as the page shows it.

    Attributes:
        label: vocabulary entry.
        note: its number in the vocabulary, and what its vector is made of.
        is_special: True for [CLS], [SEP] and punctuation.
    """

    label: str
    note: str
    is_special: bool


@dataclass(frozen=True)
class Strip:
    """Contributions of the pieces of one text at all layers, the last layer first.

    Attributes:
        pieces: the n pieces; the column after them is the offset.
        rows: (layer, n + 1 contributions to the cosine) for each layer.
        largest: largest absolute contribution, which gets the darkest shade.
    """

    side: Side
    name: str
    pieces: Sequence[Piece]
    rows: Sequence[tuple[int, Sequence[float]]]
    largest: float

    @property
    def cells(self) -> Iterator[tuple[int, Markup]]:
        """Yield the layer and the cells of each row, in thousandths; a template would take much longer."""
        for layer, values in self.rows:
            cells = (
                f'<td class="{shade(value, self.largest)}">{fixed(1000 * value, 0).replace("-", _MINUS)}</td>'
                for value in values
            )
            yield layer, Markup("".join(cells))

    @property
    def has_numbers(self) -> bool:
        """True if there is room for the numbers in the cells."""
        return len(self.pieces) < _MOST_NUMBERS


def xray(
    of: XRay,
    *,
    by: By = "token",
    hit: Hit | None = None,
    origin: Origin | None = None,
    head: HeadChoice | None = None,
    test: DeletionTest | None = None,
    colours: Range | None = None,
) -> Page:
    """Return the page of an X-ray.

    Args:
        by: the units of the grid to begin with.
        hit: the hit that is explained; None for two free texts.
        origin: where the texts come from, for a page of the server; None for a file.
        head: head of attention to show. None shows none on a page of the server, whose script fetches it when it comes
            into view, and in a file the mean over the heads of the last layer.
        test: what a deletion test of the explanation says.
        colours: range of the colours of cosines in the grid; None is -1 to 1.
    """
    why = of.explanation
    request = origin.request if origin else None
    is_hit = hit is not None or (origin is not None and origin.hit is not None)
    bar = viewed([hit_with(hit, of)])[0].bar if hit else ScoreBar(why.score, parts_of(why))
    largest = max(bar.parts, key=lambda part: part.value if part.is_word else -1.0, default=None)
    choice = head or HeadChoice("query", max(why.n_layers, 1))
    has_table = of.heads and (head or not origin)
    body = drawn(
        "xray.html",
        xray=of,
        why=why,
        hit=hit,
        origin=origin,
        request=request,
        texts=(why.query, visible(why.passage, why.hidden)),
        names=[_NAMES[side][not is_hit] for side in get_args(Side)],
        strips=[_strip(of, side, is_hit) for side in get_args(Side)],
        cells=_cells(of),
        grid=token_grid(why, by, origin.grid if origin else "", colours),
        bar=bar,
        full=full_width([bar]),
        largest=largest if largest and largest.is_word and bar.score > 0 else None,
        poolings=[(_POOLINGS.get(name, name), value) for name, value in of.poolings.items()],
        attention=attention(of, choice) if has_table else "",
        head=choice,
        test=test,
        written=written,
        total=why.meaning,
        late=None if why.late is None else float(why.late.sum()),
    )
    title = f"X-ray: {why.query}"
    return Page(title, "From text to score", body, SCRIPTS)


def hit_with(hit: Hit, of: XRay) -> Hit:
    """Return a hit with the explanation of an X-ray."""
    return replace(hit, explanation=of.explanation)


def attention(of: XRay, head: HeadChoice) -> Any:
    """Return the table of one head of attention as HTML."""
    tokens = _tokens(of, head.side)
    weights = of.attention(head.side, head.layer, head.head)
    return drawn(
        "attention_head.html",
        head=head,
        labels=[one_line(token.text) for token in tokens],
        rows=weights.astype(float).tolist(),
        largest=float(weights.max()),
    )


def _tokens(of: XRay, side: Side) -> Sequence[Token]:
    why = of.explanation
    return why.query_tokens if side == "query" else why.passage_tokens


def _strip(of: XRay, side: Side, is_hit: bool) -> Strip:
    table: Table = of.explanation.layers(side)
    rows = [(layer, table[layer].tolist()) for layer in range(len(table) - 1, -1, -1)]
    return Strip(
        side, _NAMES[side][not is_hit], _pieces(of, side), rows, float(np.abs(table).max()) or 1.0
    )


def _pieces(of: XRay, side: Side) -> list[Piece]:
    tokens, lengths = _tokens(of, side), of.lengths.get(side)
    return [
        Piece(
            one_line(token.text),
            _note(token, position, None if lengths is None else lengths[position]),
            token.special or not any(character.isalnum() for character in token.text),
        )
        for position, token in enumerate(tokens)
    ]


def _note(token: Token, position: int, lengths: Matrix | None) -> str:
    """Return what a piece is: "number 12,816 of the vocabulary; word 0.99 + position 6 0.45 + segment 0.48"."""
    note = f"number {token.id:,} of the vocabulary"
    if lengths is None:
        return note
    names = (f"{name} {position}" if name == "position" else name for name in ADDED_EMBEDDINGS)
    added = [
        f"{name} {length:.2f}" for name, length in zip(names, lengths.tolist(), strict=True) if length
    ]
    return f"{note}; its vector begins as a sum of three, of these lengths: {', '.join(added)}"


def _cells(of: XRay) -> dict[str, Any]:
    """Return the cosines of the grid's layer for a page without scripts: the first rows, and the strongest columns."""
    why = of.explanation
    cosines = why.similarity
    columns = sorted(np.argsort(-cosines.max(axis=0), kind="stable")[:_MOST_CELLS].tolist())
    rows = range(min(len(cosines), _MOST_CELLS))
    return {
        "columns": [one_line(why.passage_tokens[column].text) for column in columns],
        "rows": [
            (one_line(why.query_tokens[row].text), cosines[row, columns].astype(float).tolist())
            for row in rows
        ],
    }
