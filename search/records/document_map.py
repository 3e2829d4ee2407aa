"""The map of an index: its documents as points in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.records.notebook_mixin import NotebookMixin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHER = "other"


@dataclass(frozen=True)
class MapPoint:
    """A document on the map.

    Attributes:
        document_id: ID of the document, valid for one `Index.generation`.
        document, title: as in a `Hit`.
        group: top folder of the document, or its kind if there are no folders; "other" for small groups.
        x, y: position in [-1, 1].
    """

    document_id: int
    document: str
    title: str
    group: str
    x: float
    y: float


@dataclass(frozen=True)
class DocumentMap(NotebookMixin):
    """Documents as points: the closer two are, the more alike they read.

    The positions are the first two principal components of the documents' mean embeddings, divided by their 98th
    percentile and limited to [-1, 1]. So distances are approximate.

    Attributes:
        points: at most 5,000 documents; of more, evenly spaced ones.
        groups: group -> number of its points, largest first.
        documents: number of documents in the index.
        explained: share of the variance of the embeddings that the two components explain, in [0, 1].
        grouped_by: "folder", or "kind" if most documents are in no folder.
    """

    points: tuple[MapPoint, ...]
    groups: dict[str, int]
    documents: int
    explained: float
    grouped_by: Literal["folder", "kind"] = "folder"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the map.

        Args:
            ax: matplotlib axes to draw into; None creates a new pyplot figure.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax)
