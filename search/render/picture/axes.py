"""A matrix drawn into axes of matplotlib, for notebooks: the reader's own figure, where one is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.render.picture.canvas import Scale, colours, families, shortened
from search.render.scale import Ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from search.records.tokens import Matrix

_INCH = 0.3  # of a cell
_NUMBERS_UP_TO = 15  # rows or columns


def heat_map(
    ax: Axes | None,
    cells: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    ends: Ends,
    scale: Scale,
) -> Axes:
    """The cells as coloured squares with labels, a scale beside them, and numbers where there are few.

    Args:
        ax: where to draw; None for the axes of a new figure of pyplot, which a notebook shows below its cell.
    """
    from matplotlib.colors import ListedColormap, Normalize, TwoSlopeNorm

    n, m = cells.shape
    tones = colours(scale)
    if ends.low >= 0:  # the upper half of the colours
        norm, tones = Normalize(ends.low, ends.high), ListedColormap(tones(np.linspace(0.5, 1, 256)))
    else:
        norm = TwoSlopeNorm(0, ends.low, ends.high)
    if ax is None:
        ax = _new_axes(n, m)
    image = ax.imshow(cells, cmap=tones, norm=norm)
    ax.set_title(title, fontsize=10, loc="left")
    for axis, labels, angle in ((ax.xaxis, columns, 90), (ax.yaxis, rows, 0)):
        shown = [shortened(label, 40) for label in labels]
        axis.set_ticks(
            range(len(labels)), shown, family=families(), parse_math=False, fontsize=8, rotation=angle
        )
    if max(n, m) <= _NUMBERS_UP_TO:
        for (i, j), value in np.ndenumerate(cells):
            dark = abs(float(ends.share(value))) > 0.6
            number = f"{value:.2f}".replace("0.", ".", 1) if scale == "cosine" else f"{1000 * value:.1f}"
            ax.text(j, i, number, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    return ax


def _new_axes(n: int, m: int) -> Axes:
    from matplotlib import pyplot

    size = (min(4.5 + _INCH * m, 24), min(2.5 + _INCH * n, 24))
    _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax
