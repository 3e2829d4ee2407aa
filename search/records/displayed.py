"""What a record shows of itself in a notebook: a picture in HTML, axes of matplotlib, a table of pandas.

A record does not know how it is drawn. Here is the one way from it to the stage that does, which is loaded when
somebody looks.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from search.errors import OptionalDependency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Displayed:
    """A record that a notebook shows as more than one line of text."""

    def _repr_html_(self) -> str:
        return _notebook().html(self)

    def _plotted(self, ax: Axes | None, **how: Any) -> Axes:
        """
        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        _require("matplotlib", "pictures", "drawing a matrix")
        return _notebook().plot(self, ax, **how)

    def _tabulated(self, **how: Any) -> DataFrame:
        """
        Raises:
            OptionalDependency: pandas is not installed.
        """
        _require("pandas", "notebooks", "a table")
        return _notebook().frame(self, **how)


def _require(package: str, extra: str, purpose: str) -> None:
    if find_spec(package) is None:
        raise OptionalDependency(package, extra, purpose)


def _notebook() -> Any:
    return import_module("search.render.notebook")
