"""A matrix of coloured cells with labels, and the scale of its colours; a matrix of sentences as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records.comparisons import Similarities
from search.render.format import fixed, letters
from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    Canvas,
    Lettering,
    Scale,
    colours,
    shortened,
    text_width,
    wrapped,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    end: float,
    scale: Scale,
    row_tones: Sequence[str],
    column_tones: Sequence[str],
) -> None:
    """The cells, on a scale from -end to end, numbers in them where they are large enough."""
    import numpy as np

    rows, columns = cells.shape
    axes = canvas.axes(block.x, block.y, columns * block.cell, rows * block.cell)
    axes.pcolormesh(
        np.arange(columns + 1), np.arange(rows + 1), cells, cmap=colours(scale), vmin=-end, vmax=end, edgecolors=GRID,
        linewidth=0.4,
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
        _draw_numbers(canvas, block, cells, end, scale)


def draw_scale(canvas: Canvas, x: float, y: float, width: float, end: float, scale: Scale) -> None:
    """A strip of the colours with its ends, and the zero; a cell beyond an end has the end's colour."""
    import numpy as np

    width = min(width, 3.2)
    number = f"{end:.4f}" if end < 1 else "1"
    marks = [(0.0, f"-{number}", "left"), (0.5, "0", "center"), (1.0, f"+{number}", "right")]
    if scale == "attention":
        marks = [(0.0, "0", "left"), (1.0, number, "right")]
    shown = np.linspace(0 if scale == "attention" else -1, 1, 256)[None, :]
    axes = canvas.axes(x, y, width, 0.13)
    axes.imshow(shown, aspect="auto", cmap=colours(scale), vmin=-1, vmax=1)
    for share, label, side in marks:
        canvas.write(x + share * width, y + 0.17, label, 8, ha=side, color=FAINT)


def _draw_numbers(
    canvas: Canvas, block: Block, cells: NDArray[np.floating], end: float, scale: Scale
) -> None:
    places, tones = 2 if end == 1 else 3, colours(scale)
    for i, row in enumerate(cells.tolist()):
        for j, value in enumerate(row):
            number = fixed(value, places).replace("0.", ".", 1)
            canvas.write(
                block.x + (j + 0.5) * block.cell, block.y + (i + 0.5) * block.cell, number, 8,
                ha="center", va="center", color=_ink_on(tones((value / end + 1) / 2)),
            )  # fmt: skip


def _ink_on(colour: tuple[float, float, float, float]) -> str:
    """Dark or white, whichever is easier to read on a colour (relative luminance as in WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.22 else "white"


def sentences(similarities: Similarities) -> bytes:
    """The cosines as the bytes of a PNG: a heatmap, with numbers in it up to about 25 sentences.

    Each row has its number and its sentence, which is shortened where it is long. Where the columns are other
    sentences, they are listed below under letters.
    """
    n, m = similarities.cosines.shape
    lettering = Lettering([*similarities.rows, *similarities.columns])
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    cell = max(min(0.45 if max(n, m) <= 25 else 0.22, _MOST_SQUARE_INCHES / max(n, m)), 0.02)
    labelled = cell >= 0.14
    labels = [
        f"{shortened(lettering.drawable(text), _LONGEST)}  {i + 1}"
        for i, text in enumerate(similarities.rows)
    ]
    left = max(text_width(label, _SIZE) for label in labels) * 0.93 + 0.15 if labelled else 0.15
    columns = [] if similarities.itself else zip(names, similarities.columns, strict=True)
    legend = [f"{name}: {text}" for name, text in columns]
    width = max(_MARGIN + left + max(m * cell, NARROWEST_SCALE) + _MARGIN, 6.5)
    legend = [line for entry in legend for line in wrapped(entry, width - 2 * _MARGIN, _SIZE)]
    note = f"Cosines of sentence embeddings: {similarities.model}, {similarities.pooling} pooling. {lettering.note}"
    notes = wrapped(note, width - 2 * _MARGIN)
    top = _MARGIN + 0.55
    height = top + n * cell + 0.4 + 0.5 + 0.2 * (len(legend) + len(notes)) + _MARGIN
    canvas = Canvas(width, height, lettering)
    canvas.write(_MARGIN, _MARGIN - 0.1, f"{n} x {m} sentences", 12, weight="bold")
    x = _MARGIN + left
    block = Block(x, top, cell, labels if labelled else [], [], _SIZE)
    draw_cells(canvas, block, similarities.cosines, 1.0, "cosine", [INK] * n, [])
    if labelled:
        for j, name in enumerate(names):
            canvas.write(
                x + (j + 0.5) * cell, top - 0.06, name, _SIZE if cell > 0.4 else 6.5, ha="center", va="bottom"
            )
    y = top + n * cell + 0.2
    draw_scale(canvas, x, y, max(m * cell, NARROWEST_SCALE), 1.0, "cosine")
    for i, line in enumerate([*legend, *notes]):
        tone = INK if i < len(legend) else FAINT
        canvas.write(_MARGIN, y + 0.55 + 0.2 * i, line, 8.5, color=tone)
    return canvas.png("Cosines of sentences")
