"""Records that a notebook shows as a picture in HTML, axes of matplotlib or a table of pandas."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from search.errors import OptionalDependency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Displayed:
    """A record that a notebook shows as more than one line of text.

    Attributes:
        drawer: loads the module that draws records. The package sets it, as records know nothing of drawing.
    """

    drawer: ClassVar[Callable[[], Any]]

    def _repr_html_(self) -> str:
        return Displayed.drawer().html(self)

    def _plotted(self, ax: Axes | None, **how: Any) -> Axes:
        """
        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        _require("matplotlib", "pictures", "drawing a matrix")
        return Displayed.drawer().plot(self, ax, **how)

    def _tabulated(self, **how: Any) -> DataFrame:
        """
        Raises:
            OptionalDependency: pandas is not installed.
        """
        _require("pandas", "notebooks", "a table")
        return Displayed.drawer().frame(self, **how)


def _require(package: str, extra: str, purpose: str) -> None:
    if find_spec(package) is None:
        raise OptionalDependency(package, extra, purpose)
