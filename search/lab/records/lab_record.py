"""Results of the laboratory that draw themselves.

TableRecord  in a terminal and in a notebook
LabRecord    with matplotlib, too
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from search.records.notebook_mixin import NotebookMixin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class TableRecord(NotebookMixin):
    """A result that draws itself: in a notebook as HTML, and in a terminal as a table.

    Tables have at most 60 lines; a line counts what is left out.
    """

    drawer = partial(import_module, "search.lab.render.notebook")

    def to_pandas(self) -> DataFrame:
        """Return the result as a table; numbers are not rounded, and no rows are left out.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()

    def __repr__(self) -> str:
        return str(self.drawer().terminal(self))


class LabRecord(TableRecord):
    """A result that draws itself: in a notebook as HTML, in a terminal as a table, and as a plot."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the result as a heat map, as bars or as a curve.

        Args:
            ax: axes of matplotlib to draw into; None creates a new figure, which a notebook displays.

        Returns:
            The axes, for changes such as another title.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax)
