"""Mixin for records that a notebook shows as HTML, a matplotlib plot or a pandas table."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from search.errors import OptionalDependency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Html(str):
    """HTML that a notebook shows."""

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<Html of {len(self):,} characters>"


class NotebookMixin:
    """Rich display of a record in a notebook.

    Attributes:
        drawer: function that loads the module that draws the record, such as `search.render.notebook`. The package sets
            it, because records may not import it; records of an extension have their own.
    """

    drawer: ClassVar[partial[Any]]

    def to_dict(self, *, matrices: bool = False) -> dict[str, Any]:
        """Return the record as plain JSON types; matrices become lists of rows.

        Args:
            matrices: return an explanation whole, with the keys of --json and all matrices. Without it, an explanation
                has the score, its parts and the share of each word, in less than 4 kB.
        """
        return dict(self.drawer().as_dict(self, matrices))

    def _repr_html_(self) -> str:
        return self.drawer().html(self)

    def _plotted(self, ax: Axes | None, **how: Any) -> Axes:
        """Plot the record, or raise OptionalDependency if matplotlib is not installed."""
        _require("matplotlib", "pictures", "drawing a matrix")
        return self.drawer().plot(self, ax, **how)

    def _tabulated(self, **how: Any) -> DataFrame:
        """Return the record as a table, or raise OptionalDependency if pandas is not installed."""
        _require("pandas", "notebooks", "a table")
        return self.drawer().frame(self, **how)


def _require(package: str, extra: str, purpose: str) -> None:
    if find_spec(package) is None:
        raise OptionalDependency(package, extra, purpose)
