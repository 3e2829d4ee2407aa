"""Pictures of attention and of position vectors, drawn with matplotlib (extra `pictures`): the bytes of a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from search.lab.records.inspections import Attention, Positions
from search.lab.render.attention import CAVEATS, attention_grid, rows_line
from search.render.picture import WIDEST, beyond, figure_size, heat_map, new_figure, png, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOURCES = ("learned", "formula")


@style()
def attention(attention: Attention, layers: Sequence[int], head: int | None = None) -> bytes:
    """Return the attention weights of a text in some layers, side by side in the same colours, as a PNG."""
    grids = [attention_grid(attention, layer, head) for layer in layers]
    width, height = figure_size(grids[0])
    figure = new_figure((len(layers) * width, height))
    limit = max(weights.limit for weights in grids)
    panels = figure.subplots(1, len(layers), squeeze=False)[0]
    for axes, weights in zip(panels, grids, strict=True):
        heat_map(axes, replace(weights, limit=limit))
    notes = [rows_line(attention), *CAVEATS]
    return png(figure, grids[0].title, ["  |  ".join(attention.texts)], notes)


@style()
def positions(rows: Positions) -> bytes:
    """Return the vectors of positions and their cosines as a PNG: learned on the left, by the formula on the right."""
    figure = new_figure((9.4, 8))
    grid = figure.subplots(2, 2)
    for column, source in enumerate(_SOURCES):
        for row, matrix in zip(grid, ("vectors", "cosines"), strict=True):
            position_map(row[column], rows, source, matrix)
    notes = [
        "Rows are the first positions of a text. Numbers beyond the bar of colours have the colour of its end."
    ]
    return png(figure, "Position vectors", [], notes, WIDEST)


def position_map(ax: Axes | None, rows: Positions, source: str, matrix: str) -> Axes:
    """Draw vectors of positions, or their cosines, into axes; None creates a new pyplot figure.

    Args:
        source: "learned" or "formula".
        matrix: "vectors" or "cosines".
    """
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(5, 4), layout="constrained")
    number = _SOURCES.index(source)
    vectors = (rows.learned, rows.formula)[number]
    cells = vectors if matrix == "vectors" else rows.cosines[number]
    limit = float(np.quantile(np.abs(vectors), 0.99)) if matrix == "vectors" else 1.0
    with style():
        image = ax.imshow(cells, cmap="PRGn_r", vmin=-limit, vmax=limit, aspect="auto")
        maker = f"learned by {rows.model}" if source == "learned" else "by the formula"
        ax.set(title=f"{matrix.capitalize()} {maker}", ylabel="position")
        ax.set_xlabel("dimension" if matrix == "vectors" else "position")
        ax.figure.colorbar(image, ax=ax, extend=beyond(cells, -limit, limit))
    return ax
