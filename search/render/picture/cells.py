"""A matrix of coloured cells with labels, and the scale of its colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.render.format import fixed
from search.render.picture.canvas import FAINT, GRID, INK, Canvas

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.colors import Colormap
    from numpy.typing import NDArray

NARROWEST_SCALE = 2.2  # inches, for the numbers below it
_NUMBERS_FROM = 0.4  # inches a cell must have to hold a number


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
    colours: Colormap,
    row_tones: Sequence[str],
    column_tones: Sequence[str],
) -> None:
    """The cells, on a scale from -end to end, numbers in them where they are large enough."""
    import numpy as np

    rows, columns = cells.shape
    axes = canvas.axes(block.x, block.y, columns * block.cell, rows * block.cell)
    axes.pcolormesh(
        np.arange(columns + 1), np.arange(rows + 1), cells, cmap=colours, vmin=-end, vmax=end, edgecolors=GRID,
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
        _draw_numbers(canvas, block, cells, end, colours)


def draw_scale(canvas: Canvas, x: float, y: float, width: float, end: float, colours: Colormap) -> None:
    """A strip of the colours with its two ends and the zero; a cell beyond an end has the end's colour."""
    import numpy as np

    width = min(width, 3.2)
    axes = canvas.axes(x, y, width, 0.13)
    axes.imshow(np.linspace(-1, 1, 256)[None, :], aspect="auto", cmap=colours, vmin=-1, vmax=1)
    number = f"{end:.4f}" if end < 1 else "1"
    for share, label in ((0.0, f"-{number}"), (0.5, "0"), (1.0, f"+{number}")):
        place = ("left", "center", "right")[int(share * 2)]
        canvas.write(x + share * width, y + 0.17, label, 8, ha=place, color=FAINT)


def _draw_numbers(
    canvas: Canvas, block: Block, cells: NDArray[np.floating], end: float, colours: Colormap
) -> None:
    places = 2 if end == 1 else 3
    for i, row in enumerate(cells.tolist()):
        for j, value in enumerate(row):
            number = fixed(value, places).replace("0.", ".", 1)
            canvas.write(
                block.x + (j + 0.5) * block.cell, block.y + (i + 0.5) * block.cell, number, 8,
                ha="center", va="center", color=ink_on(colours((value / end + 1) / 2)),
            )  # fmt: skip


def ink_on(colour: tuple[float, float, float, float]) -> str:
    """Dark or white, whichever is easier to read on a colour (relative luminance as in WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.22 else "white"
