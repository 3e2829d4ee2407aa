"""The map of an index: its documents as points in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from search.records.notebook_mixin import NotebookMixin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GroupedBy: TypeAlias = Literal["topic", "folder", "kind"]
OTHER = "other"
TOPIC_FIELD = "map.topic"
"""Field of filters: the name of a document's topic on the map."""
FEWEST_DOCUMENTS = 30
"""Number of documents from which a map has topics."""


@dataclass(frozen=True)
class MapPoint:
    """A document on the map.

    Attributes:
        document_id: ID of the document, valid for one `Index.generation`.
        document, title: as in a `Hit`.
        group: topic of the document; without topics its top folder, or its kind if there are no folders; "other" for
            small groups.
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
        grouped_by: "topic"; "folder" for fewer than 30 documents or a single topic, or "kind" if most of these are in
            no folder. A topic is named by its typical words; see `search.ranking.topics`.
    """

    points: tuple[MapPoint, ...]
    groups: dict[str, int]
    documents: int
    explained: float
    grouped_by: GroupedBy = "folder"

    @property
    def is_complete(self) -> bool:
        """True if all documents are on the map, so that filters can use its topics."""
        return len(self.points) == self.documents

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the map.

        Args:
            ax: matplotlib axes to draw into; None creates a new pyplot figure.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax)
