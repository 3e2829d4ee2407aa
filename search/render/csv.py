"""Matrices as CSV: a row for each row, the names of the columns in the first line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from search.records.comparisons import Similarities
from search.records.explanations import Explanation, Side
from search.render.format import one_line
from search.render.heatmap import By, Units, layer_grid

if TYPE_CHECKING:
    from search.records.tokens import Matrix

_FORMULA = ("=", "+", "-", "@")


def matrices(drawn: Units) -> dict[str, str]:
    """Return the cosines and the contributions of an explanation, by name."""
    rows, columns = ([unit.label for unit in side if unit.words] for side in (drawn.query, drawn.passage))
    return {
        "cosines": table(rows, columns, drawn.similarity),
        "contributions": table(*drawn.labels, drawn.contributions),
    }


def layers(why: Explanation, by: By, special: bool = True) -> dict[str, str]:
    """Return the contributions of both texts, traced to each layer, by name; layer 0 is the last row."""
    grids = {f"{side}-layers": layer_grid(why, side, by, special) for side in get_args(Side)}
    return {name: table(grid.rows, grid.columns, grid.cells / 1000) for name, grid in grids.items()}


def sentences(similarities: Similarities) -> dict[str, str]:
    """Return the cosines of sentences, by name."""
    rows, columns = (list(map(one_line, side)) for side in (similarities.rows, similarities.columns))
    return {"cosines": table(rows, columns, similarities.cosines)}


def table(rows: Sequence[str], columns: Sequence[str], cells: Matrix) -> str:
    """Return a matrix as CSV, with eight digits of each number.

    Example:
        >>> table(["key"], ["the", "lock"], np.array([[0.25, -1]]))
        ',the,lock\\r\\nkey,0.25,-1\\r\\n'
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["", *map(_label, columns)])
    for name, values in zip(rows, cells.tolist(), strict=True):
        writer.writerow([_label(name), *(f"{value:.8g}" for value in values)])
    return file.getvalue()


def _label(name: str) -> str:
    """Return a name; one that a spreadsheet would compute as a formula gets an apostrophe before it."""
    return f"'{name}" if len(name) > 1 and name.startswith(_FORMULA) else name
