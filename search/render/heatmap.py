"""Matrices, drawn for a terminal: every cell a number with a shade before it, so that neither colour nor
shade is needed to read it.

Rows of sentences are numbered 1, 2, 3, columns too where they are the same sentences, else A, B, C; the sentences
stand above. A matrix that is wider than the terminal goes on below.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Column
from rich.text import Text

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.inspections import EVERY_HEAD, Attention, View
from search.render import json
from search.render.format import fixed, layer_of, letters, one_line
from search.render.terminal import Canvas, as_text, grid
from search.render.units import COSINES, Ends, Units, around_zero, largest_addend, left_out
from search.render.why import draw_head, how_made, signed

_SHADES = " ·░▒▓█"
_CELL = 7  # a space, one or two characters of shade, a number of at most five
_MOST_SENTENCES = 60
_CLOSEST = 5
_LABEL = 12


@as_text
def sentences(canvas: Canvas, similarities: Similarities, ends: Ends = COSINES) -> None:
    """A matrix of sentences: the sentences, the cosines, the closest pairs."""
    rows = [str(i + 1) for i in range(len(similarities.rows))]
    columns = rows if similarities.itself else [letters(j) for j in range(len(similarities.columns))]
    _draw_legend(canvas, rows, similarities.rows)
    if not similarities.itself:
        _draw_legend(canvas, columns, similarities.columns)
    shape = f"{len(rows)} x {len(columns)} cosines"
    large = max(similarities.cosines.shape) > _MOST_SENTENCES
    if large:
        canvas.dim(f"{shape} are too many to draw here; --html, --png, --csv and --json have them all.")
    else:
        draw_cells(canvas, rows, columns, similarities.cosines.tolist(), ends, places=2)
    canvas.title("Closest pairs")
    for i, j in similarities.closest(4 * _CLOSEST if large else _CLOSEST):
        canvas.line(f"  {similarities.cosines[i, j]:.3f}  {rows[i]} ~ {columns[j]}")
    canvas.dim(f"  ({shape}, {similarities.pooling} pooling, {one_line(similarities.model)})")


def _draw_legend(canvas: Canvas, names: Sequence[str], texts: Sequence[str]) -> None:
    canvas.facts(zip(names, map(one_line, texts), strict=True), style="bold")
    canvas.gap()


@as_text
def matrices(
    canvas: Canvas,
    why: Explanation,
    drawn: Units,
    hit: Hit | None = None,
    *,
    contributions: bool = True,
    cosines: bool = True,
    ends: Ends = COSINES,
) -> None:
    """The matrices of two texts, unit by unit: what made the cosine, then what is like what. Nothing is cut off."""
    rows, columns = ([unit.label for unit in side] for side in (drawn.query, drawn.passage))
    if hit:
        draw_head(canvas, why, hit)
    else:
        canvas.facts((("rows", one_line(why.query)), ("columns", one_line(why.passage))))
    if contributions:
        part = "cosine" if why.weight == 1 else "cosine's part of the score"
        canvas.title(f"Contributions, in thousandths: they add up to the {part}")
        cells = [
            [*values, total]
            for values, total in zip(
                (1000 * drawn.contributions).tolist(), (1000 * drawn.query_added).tolist(), strict=True
            )
        ]
        draw_cells(
            canvas,
            rows,
            [*columns, "sum"],
            cells,
            around_zero(1000 * largest_addend(drawn)),
            places=1,
            totals=True,
        )
        _draw_sum(canvas, why, drawn)
    if cosines:
        canvas.title(f"Cosines of token vectors at {layer_of(why)}: they do not add up to anything")
        draw_cells(canvas, rows, columns, drawn.similarity.tolist(), ends, places=2)
    canvas.gap()
    canvas.dim(f"({len(rows)} x {len(columns)} {drawn.by}s. {left_out(drawn)}".rstrip() + ")")


def _draw_sum(canvas: Canvas, why: Explanation, drawn: Units) -> None:
    canvas.gap()
    whole = why.weight == 1 and not why.terms and why.late is None
    canvas.line(
        "cosine " if whole else "score ",
        (f"{why.score:.6f}", "bold green"),
        f" = {drawn.total:.6f} (all {why.contributions.size:,} pairs of tokens) ",
        "" if whole else f"+ {why.audit.addends - drawn.total:.6f} (words and others) ",
        f"{signed(why.residual)} (residual)",
    )
    canvas.dim(f"({how_made(why)})")


def draw_cells(
    canvas: Canvas,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[float]],
    ends: Ends,
    *,
    places: int,
    totals: bool = False,
) -> None:
    """A matrix in blocks of as many columns as the width has room for; the last may hold totals, without shades."""
    label = min(max(map(cell_len, rows)), _LABEL)
    at_once = max(1, (canvas.width - label) // _CELL)
    for first in range(0, len(columns), at_once):
        block = slice(first, first + at_once)
        names = [
            Column(name, width=_CELL - 1, justify="right", no_wrap=True, overflow="ellipsis")
            for name in columns[block]
        ]
        head = Column(width=label, justify="right", no_wrap=True, overflow="ellipsis", style="bold")
        table = grid(head, *names, gap=1)
        for name, values in zip(rows, cells, strict=True):
            numbers = [_cell(value, ends, places) for value in values[block]]
            if totals and block.stop >= len(columns):
                numbers[-1] = Text(fixed(values[-1], places))
            table.add_row(name, *numbers)
        if first:
            canvas.gap()
        canvas.table(table)


def _cell(value: float, ends: Ends, places: int) -> Text:
    """A number with a shade before it for its share of the scale, whatever its sign."""
    number = fixed(value, places)
    shade = _SHADES[round(abs(float(ends.share(value))) * (len(_SHADES) - 1))]
    tone = "red" if number.startswith("-") else "blue"
    return Text.assemble((shade * (_CELL - 1 - len(number)), tone), number)


MOST_TOKENS = 60

CAVEATS = (
    "A weight says with what share one head of one layer reads a token: one step among many. It says nothing about "
    "how long the vector is that is read, what other heads read, or what the rest of the layer adds.",
    'Whether attention explains what a model answers is disputed: Jain & Wallace 2019 ("Attention is not '
    'Explanation"), Wiegreffe & Pinter 2019 ("Attention is not not Explanation"). Here it explains no score.',
)


@as_text
def attention(canvas: Canvas, attention: Attention, view: View = EVERY_HEAD) -> None:
    """Weights of a text: one matrix with numbers."""
    canvas.line(view.title(attention), style="bold")
    canvas.gap()
    weights = view.matrix(attention)
    if weights is None:
        canvas.dim("--png and --html draw them all; --layer, --head and --rollout show some of them here.")
    elif len(weights) > MOST_TOKENS:
        canvas.dim(
            f"{len(weights)} tokens are too many to draw here; --html, --png and --json have them all."
        )
    else:
        names = labels(attention)
        numbered = [f"{i} {name}" for i, name in enumerate(names)]
        draw_cells(canvas, numbered, names, weights.tolist(), COSINES, places=2)
    canvas.gap()
    for said in (rows_line(attention), *CAVEATS):
        canvas.dim(said)


def attention_json(attention: Attention, view: View = EVERY_HEAD) -> str:
    """Tokens and weights: of all heads (layers, heads, n, n), or of what is viewed, (n, n)."""
    weights = view.matrix(attention)
    return json.document(
        {
            "texts": attention.texts,
            "tokens": attention.tokens,
            "model": attention.model,
            "layers": attention.layers,
            "heads": attention.heads,
            "layer": view.layer,
            "head": view.head,
            "rollout": view.rollout,
            "row_error": attention.row_error,
            "weights": attention.weights if weights is None else weights,
        }
    )


def rows_line(attention: Attention) -> str:
    """How to read a picture, and the check of its rows."""
    return (
        "A row reads, a column is read. Every row sums to 1 "
        f"(largest difference {attention.row_error:.1e}); {len(attention.tokens)} tokens, {one_line(attention.model)}."
    )


def labels(attention: Attention) -> list[str]:
    return [one_line(token.text) for token in attention.tokens]
