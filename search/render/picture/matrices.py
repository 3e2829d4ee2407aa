"""Matrices of coloured cells with labels and a scale: of sentences; and of an explanation.

An explanation has two side by side: what made the score, and which word is like which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.render.format import fixed, headings, layer_of, letters, named, one_line, where
from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    MINUS,
    PLUS,
    Canvas,
    Scale,
    colours,
    fitted,
    shortened,
    text_width,
    wrapped,
)
from search.render.scale import COSINES, Ends, around_zero
from search.render.units import Unit, Units, largest_addend, left_out, part, word_lines

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from search.records.tokens import Matrix

NARROWEST_SCALE = 2.2  # inches, for the numbers below it
_NUMBERS_FROM = 0.4  # inches a cell must have to hold a number
_MARGIN, _SIZE, _LONGEST = 0.35, 9.0, 60
_MOST_SQUARE_INCHES = 40.0  # of a side: 6,400 pixels


@dataclass(frozen=True)
class Block:
    """Where a matrix stands: its top left corner and the side of a cell in inches, and its labels.

    `words` says how many rows and columns are words; a line parts them from the others.
    """

    x: float
    y: float
    cell: float
    rows: Sequence[str]
    columns: Sequence[str]
    label_size: float
    words: tuple[int, int] | None = None


def draw_cells(
    canvas: Canvas,
    block: Block,
    cells: NDArray[np.floating],
    ends: Ends,
    scale: Scale,
    row_tones: Sequence[str],
    column_tones: Sequence[str],
) -> None:
    """The cells in the colours of a scale with these ends, numbers in them where they are large enough."""
    import numpy as np

    rows, columns = cells.shape
    axes = canvas.axes(block.x, block.y, columns * block.cell, rows * block.cell)
    axes.pcolormesh(
        np.arange(columns + 1), np.arange(rows + 1), ends.share(cells), cmap=colours(scale), vmin=-1, vmax=1,
        edgecolors=GRID, linewidth=0.4,
    )  # fmt: skip
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    if block.words:
        axes.axhline(block.words[0], color="white", linewidth=4)
        axes.axvline(block.words[1], color="white", linewidth=4)
    for i, label in enumerate(block.rows):
        canvas.write(
            block.x - 0.08, block.y + (i + 0.5) * block.cell, label, block.label_size,
            ha="right", va="center", color=row_tones[i],
        )  # fmt: skip
    for j, label in enumerate(block.columns):
        canvas.write(
            block.x + (j + 0.5) * block.cell, block.y + rows * block.cell + 0.08, label, block.label_size,
            ha="center", rotation=90, color=column_tones[j],
        )  # fmt: skip
    if block.cell >= _NUMBERS_FROM:
        _draw_numbers(canvas, block, cells, ends, scale)


def draw_scale(canvas: Canvas, x: float, y: float, width: float, ends: Ends, scale: Scale) -> None:
    """A strip of the colours with its ends, and the zero; a cell beyond an end has the end's colour."""
    import numpy as np

    width, below = min(width, 3.2), ends.low < 0
    marks = [(0.0, f"{ends.low:.4g}", "left"), (1.0, f"{ends.high:{'+' if below else ''}.4g}", "right")]
    if below:
        marks.append((0.5, "0", "center"))
    shown = np.linspace(-1 if below else 0, 1, 256)[None, :]
    axes = canvas.axes(x, y, width, 0.13)
    axes.imshow(shown, aspect="auto", cmap=colours(scale), vmin=-1, vmax=1)
    for share, label, side in marks:
        canvas.write(x + share * width, y + 0.17, label, 8, ha=side, color=FAINT)


def _draw_numbers(
    canvas: Canvas, block: Block, cells: NDArray[np.floating], ends: Ends, scale: Scale
) -> None:
    places, tones = 2 if scale == "cosine" or ends.high == 1 else 3, colours(scale)
    for i, row in enumerate(cells.tolist()):
        for j, value in enumerate(row):
            number = fixed(value, places).replace("0.", ".", 1)
            canvas.write(
                block.x + (j + 0.5) * block.cell, block.y + (i + 0.5) * block.cell, number, 8,
                ha="center", va="center", color=_ink_on(tones((float(ends.share(value)) + 1) / 2)),
            )  # fmt: skip


def _ink_on(colour: tuple[float, float, float, float]) -> str:
    """Dark or white, whichever is easier to read on a colour (relative luminance as in WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.22 else "white"


def sentences(similarities: Similarities, ends: Ends = COSINES) -> bytes:
    """The cosines as the bytes of a PNG: a heatmap, with numbers in it up to about 25 sentences.

    Each row has its number and its sentence, which is shortened where it is long. Where the columns are other
    sentences, they are listed below under letters.
    """
    n, m = similarities.cosines.shape
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    cell = max(min(0.45 if max(n, m) <= 25 else 0.22, _MOST_SQUARE_INCHES / max(n, m)), 0.02)
    labelled = cell >= 0.14
    labels = [f"{shortened(one_line(text), _LONGEST)}  {i + 1}" for i, text in enumerate(similarities.rows)]
    left = max(text_width(label, _SIZE) for label in labels) * 0.93 + 0.15 if labelled else 0.15
    columns = [] if similarities.itself else zip(names, similarities.columns, strict=True)
    legend = [f"{name}: {text}" for name, text in columns]
    width = max(_MARGIN + left + max(m * cell, NARROWEST_SCALE) + _MARGIN, 6.5)
    legend = [line for entry in legend for line in wrapped(entry, width - 2 * _MARGIN, _SIZE)]
    note = f"Cosines of sentence embeddings: {similarities.model}, {similarities.pooling} pooling."
    notes = wrapped(note, width - 2 * _MARGIN)
    top = _MARGIN + 0.55
    height = top + n * cell + 0.75
    canvas = Canvas(width, height + 0.2 * len(legend), notes, _MARGIN)
    canvas.write(_MARGIN, _MARGIN - 0.1, f"{n} x {m} sentences", 12, weight="bold")
    x = _MARGIN + left
    block = Block(x, top, cell, labels if labelled else [], [], _SIZE)
    draw_cells(canvas, block, similarities.cosines, ends, "cosine", [INK] * n, [])
    if labelled:
        for j, name in enumerate(names):
            canvas.write(
                x + (j + 0.5) * cell, top - 0.06, name, _SIZE if cell > 0.4 else 6.5, ha="center", va="bottom"
            )
    y = top + n * cell + 0.2
    draw_scale(canvas, x, y, max(m * cell, NARROWEST_SCALE), ends, "cosine")
    for i, line in enumerate(legend):
        canvas.write(_MARGIN, height + 0.2 * i, line, 8.5)
    return canvas.png("Cosines of sentences")


MOST_ROWS, MOST_COLUMNS = 24, 40
_BARS, _GAP = 0.95, 0.5
_SMALL = 8.5


def explanation(why: Explanation, drawn: Units, hit: Hit | None = None, ends: Ends = COSINES) -> bytes:
    """Both matrices of an explanation, as the bytes of a PNG.

    Rows are units of the query, columns units of the passage. Where there are more than a picture can hold, those
    that added most are drawn, and a line says what was left out. Beside the contributions stand their sums, over
    all units.

    Args:
        drawn: the units of `why`.
        ends: of the colours of cosines.
    """
    shown = part(drawn, MOST_ROWS, MOST_COLUMNS)
    rows, columns = shown.query, shown.passage
    row_labels = [shortened(unit.label) for unit in rows]
    column_labels = [shortened(unit.label) for unit in columns]
    cell = _cell_size(len(rows), len(columns))
    label_size = 10.0 if cell > 0.4 else _SMALL
    left = max(text_width(label, label_size) for label in row_labels) + 0.15
    below = max(text_width(label, label_size) for label in column_labels) + 0.15
    matrix_width, matrix_height = len(columns) * cell, len(rows) * cell

    first = _MARGIN + left
    second = first + matrix_width + _BARS + _GAP + left
    cosines = f"Cosines at {layer_of(why)}"
    matrix_ends = second + max(matrix_width, NARROWEST_SCALE)
    title_ends = second - left + text_width(cosines, 11, bold=True)
    width = max(matrix_ends + _MARGIN, title_ends + _MARGIN, 8.5)
    notes = _notes(why, shown, width - 2 * _MARGIN)
    head_height = 0.27 * len(_head(why, hit)) + 0.2
    top = _MARGIN + head_height + 0.4 + _BARS
    canvas = Canvas(width, top + matrix_height + below + 0.75, notes, _MARGIN)

    _draw_head(canvas, why, hit)
    added = around_zero(largest_addend(shown))
    drawn_matrices: list[tuple[float, str, Matrix, Ends, Scale]] = [
        (first, "Contributions: what made the score", shown.contributions, added, "contribution"),
        (second, cosines, shown.similarity, ends, "cosine"),
    ]
    below_labels = top + matrix_height + below + 0.1
    for x, title, cells, its, scale in drawn_matrices:
        block = Block(x, top, cell, row_labels, column_labels, label_size, word_lines(shown))
        canvas.write(x - left, _MARGIN + head_height, title, 11, weight="bold")
        draw_cells(canvas, block, cells, its, scale, _tones(rows), _tones(columns))
        draw_scale(canvas, x, below_labels, max(matrix_width, NARROWEST_SCALE), its, scale)
    _draw_sums(canvas, first, top, cell, shown)
    return canvas.png(f"Why: {why.query}")


def _cell_size(rows: int, columns: int) -> float:
    """Inches; large enough for a number in a small matrix, for a label in a large one."""
    if rows <= 12 and columns <= 12:
        return 0.5
    return 0.3 if columns <= 24 else 0.22


def _head(why: Explanation, hit: Hit | None) -> list[str]:
    if hit is None:
        return [f"First: {one_line(why.query)}", f"Second: {one_line(why.passage)}"]
    return [f"Query: {one_line(why.query)}", f"Passage: {where(hit)} {named(hit)}", headings(hit)]


def _draw_head(canvas: Canvas, why: Explanation, hit: Hit | None) -> None:
    for i, line in enumerate(_head(why, hit)):
        first = i == 0
        size, style = (12, {"weight": "bold"}) if first else (10, {"color": FAINT})
        shown = fitted(line, canvas.width - 2 * _MARGIN, size, bold=first)
        canvas.write(_MARGIN, _MARGIN - 0.1 + 0.27 * i, shown, size, **style)


def _notes(why: Explanation, shown: Units, width: float) -> list[str]:
    """What stands under the picture."""
    added = float(why.contributions.sum()) * why.weight
    terms = sum(term.contribution for term in why.terms)
    words = f" + {terms:.6f} (terms)" if why.terms else ""
    if why.late is not None:
        words += f" + {float(why.late.sum()):.6f} (best matches)"
    sign = "-" if why.residual < 0 else "+"
    longest = max(float(abs(added).max()) for added in (shown.query_added, shown.passage_added))
    hatched = "; a hatched one is longer than it is drawn" if longest > _full_bar(shown) else ""
    rest = "residual" if not why.steps else f"completeness error of integrated gradients, {why.steps} steps"
    notes = [
        f"score {why.score:.6f} = {added:.6f} (contributions){words} {sign} {abs(why.residual):.1e} ({rest}). "
        f"Bars are sums of rows and columns{hatched}. "
        "Cells beyond an end of the scale have its colour. Cosines do not add up to anything.",
        f"{left_out(shown)} All of it: --csv or --html." if left_out(shown) else "",
    ]
    return [line for note in notes for line in wrapped(note, width)]


def _tones(units: Sequence[Unit]) -> list[str]:
    """What is no word of the text has a fainter label."""
    return [INK if unit.kind == "word" else FAINT for unit in units]


def _draw_sums(canvas: Canvas, x: float, y: float, cell: float, shown: Units) -> None:
    """Bars above the columns and right of the rows, on one scale, with numbers where there is room."""
    rows, columns = len(shown.query), len(shown.passage)
    largest = _full_bar(shown)
    above = canvas.axes(x, y - _BARS, columns * cell, _BARS - 0.06)
    _bars(above, shown.passage_added, largest, upright=True)
    beside = canvas.axes(x + columns * cell + 0.06, y, _BARS - 0.06, rows * cell)
    _bars(beside, shown.query_added, largest, upright=False)
    size = 8.0 if cell > 0.4 else 6.5
    right = x + columns * cell + _BARS + 0.04
    for i, value in enumerate(shown.query_added):
        canvas.write(right, y + (i + 0.5) * cell, f"{value:+.3f}", size, va="center", color=FAINT)
    for j, value in enumerate(shown.passage_added):
        if cell > 0.4 or abs(value) > largest:
            canvas.write(
                x + (j + 0.5) * cell, y - _BARS, f"{value:+.3f}", size, ha="center", va="bottom", color=FAINT
            )


def _full_bar(shown: Units) -> float:
    """The |sum| that a bar of full length has, on both sides."""
    return max(_largest_bar(shown.query, shown.query_added), _largest_bar(shown.passage, shown.passage_added))


def _largest_bar(units: Sequence[Unit], added: NDArray[np.float64]) -> float:
    """The |sum| that a bar of full length has: at most twice that of a word, so that a line of several tokens
    does not make the words' bars too short to see."""
    alone = [abs(float(value)) for unit, value in zip(units, added, strict=True) if len(unit.words) == 1]
    return min(float(abs(added).max()), 2 * max(alone, default=math.inf)) or 1.0


def _bars(axes: Axes, values: NDArray[np.float64], largest: float, *, upright: bool) -> None:
    places, lengths = range(len(values)), (values / largest).clip(-1, 1)
    colours = [PLUS if value >= 0 else MINUS for value in values]
    hatches = ["/////" if abs(value) > largest else "" for value in values]  # longer than it is drawn
    ends = (-0.5, len(values) - 0.5)
    draw = axes.bar if upright else axes.barh
    draw(places, lengths, 0.72, color=colours, hatch=hatches, edgecolor="white", linewidth=0)
    along, across = (axes.set_ylim, axes.set_xlim) if upright else (axes.set_xlim, axes.set_ylim)
    along(min(0.0, float(lengths.min())), 1)
    across(*(ends if upright else ends[::-1]))
    (axes.axhline if upright else axes.axvline)(0, color=FAINT, linewidth=0.6)
