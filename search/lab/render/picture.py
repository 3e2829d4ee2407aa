"""Pictures of attention and of position vectors, drawn with matplotlib (extra `pictures`): the bytes of a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from search.lab.records.inspections import Attention, Positions
from search.lab.render.attention import CAVEATS, attention_grid, rows_line
from search.render.picture import WIDEST, beyond, figure_size, heat_map, new_figure, png, style


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
    names = (f"learned by {rows.model}", "by the formula")
    for column, (name, vectors, cosines) in enumerate(
        zip(names, (rows.learned, rows.formula), rows.cosines, strict=True)
    ):
        limit = float(np.quantile(np.abs(vectors), 0.99))
        for axes, cells, end, kind in (
            (grid[0][column], vectors, limit, "Vectors"),
            (grid[1][column], cosines, 1.0, "Cosines"),
        ):
            image = axes.imshow(cells, cmap="PRGn_r", vmin=-end, vmax=end, aspect="auto")
            axes.set(title=f"{kind} {name}", ylabel="position")
            axes.set_xlabel("dimension" if kind == "Vectors" else "position")
            figure.colorbar(image, ax=axes, extend=beyond(cells, -end, end))
    notes = [
        "Rows are the first positions of a text. Numbers beyond the bar of colours have the colour of its end."
    ]
    return png(figure, "Position vectors", [], notes, WIDEST)
