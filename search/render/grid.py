"""`Grid`: a matrix with names for its rows and columns, which a terminal, a notebook and a picture draw alike.

Records become grids in heatmap.py, those of an extension in its own drawings; `draw_grid` in heatmap.py,
`matrix` in notebook.py and `heat_map` in picture.py draw them. `Bars` are numbers with names: `meter` in
notebook.py and `bar_chart` in picture.py draw them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from search.records.tokens import Matrix

Scale = Literal["contribution", "cosine", "attention"]
Range: TypeAlias = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix of numbers with its labels and its scale of colours.

    Attributes:
        title: what the numbers are.
        rows, columns: labels, one for each row and column of `cells`.
        cells: (rows, columns) numbers.
        scale: kind of the numbers. Contributions and cosines have a colour for each sign; attention is never negative.
        limit: the number with the darkest colour.
        colours: range of the colours, if it is not that of `limit`; numbers beyond it have the colour of its end.
        gaps: positions of rows and of columns before which others are left out; the number of rows or columns is the
            position after the last.
        texts: texts to draw into the cells instead of their numbers, a row of texts for each row; empty for numbers.
        decimals: decimals of a number; None for those of the scale.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Matrix
    scale: Scale = "cosine"
    limit: float = 1.0
    colours: Range | None = None
    gaps: tuple[Sequence[int], Sequence[int]] = ((), ())
    texts: Sequence[Sequence[str]] = ()
    decimals: int | None = None

    @property
    def range(self) -> Range:
        """Lowest and highest number of the colour scale."""
        return self.colours or (0.0 if self.scale == "attention" else -self.limit, self.limit)

    def depth(self, numbers: Any) -> Any:
        """Return how dark the colour of numbers is: from 0 to 1, or to -1 in the colour of negative numbers.

        Without colour is 0, or the end of the range that is nearer to 0.

        Example:
            >>> Grid("", "a", "a", np.ones((1, 1)), colours=(0.2, 0.6)).depth(0.5)
            0.75
        """
        low, high = self.range
        clipped = numbers.clip(low, high) if hasattr(numbers, "clip") else min(max(numbers, low), high)
        if low >= 0:
            return (clipped - low) / (high - low)
        return (clipped - high) / (high - low) if high <= 0 else clipped / max(-low, high)

    @property
    def places(self) -> int:
        """Decimals of a number: `decimals`, or 1 for contributions, which are in thousandths, else 2."""
        if self.decimals is not None:
            return self.decimals
        return 1 if self.scale == "contribution" else 2


@dataclass(frozen=True)
class Bars:
    """Numbers with names, each of which is drawn as a bar.

    Attributes:
        title: what is drawn.
        unit: what the numbers are, such as "probability".
        names: a name for each number.
        numbers: numbers of at least 0.
        end: number of a bar of full length; 0 for the largest number.
    """

    title: str
    unit: str
    names: Sequence[str]
    numbers: Sequence[float]
    end: float = 0.0

    @property
    def full(self) -> float:
        """Number of a bar of full length, above 0."""
        return self.end or max(self.numbers, default=0.0) or 1.0
