"""`LabRecord`: a result of the laboratory, which a terminal, a notebook and matplotlib draw."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from search.records.notebook_mixin import NotebookMixin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class LabRecord(NotebookMixin):
    """A result that draws itself: in a notebook as HTML, in a terminal as a table, and as a plot.

    Tables have at most 60 lines; a line counts what is left out.
    """

    drawer = partial(import_module, "search.lab.render.notebook")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the result as a heat map or as bars.

        Args:
            ax: axes of matplotlib to draw into; None creates a new figure, which a notebook displays.

        Returns:
            The axes, for changes such as another title.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax)

    def to_pandas(self) -> DataFrame:
        """Return the result as a table; numbers are not rounded, and no rows are left out.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()

    def __repr__(self) -> str:
        return str(self.drawer().terminal(self))
