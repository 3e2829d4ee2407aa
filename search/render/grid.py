"""`Grid`: a matrix with names for its rows and columns, which a terminal, a notebook and a picture draw alike.

Records become grids in heatmap.py, those of an extension in its own drawings; `draw_grid` in heatmap.py,
`matrix` in notebook.py and `heat_map` in picture.py draw them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from search.records.tokens import Matrix

Scale = Literal["contribution", "cosine", "attention"]


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix of numbers with its labels and its scale of colours.

    Attributes:
        title: what the numbers are.
        rows, columns: labels, one for each row and column of `cells`.
        cells: (rows, columns) numbers.
        scale: kind of the numbers. Contributions and cosines have a colour for each sign; attention is never negative.
        limit: the number with the darkest colour.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Matrix
    scale: Scale = "cosine"
    limit: float = 1.0

    @property
    def places(self) -> int:
        """Decimals of a number: 1 for contributions, which are in thousandths, else 2."""
        return 1 if self.scale == "contribution" else 2
