"""Comparisons of two hits, of a missing document with the hits, and of sentences with sentences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from search.records.explanations import require_range
from search.records.hits import Hit
from search.records.notebook_mixin import NotebookMixin

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from pandas import DataFrame

Cause = Literal["found", "lower", "limit", "copy", "changed", "gone", "not indexed", "filtered"]


@dataclass(frozen=True)
class Difference:
    """Contributions of one query word to the scores of two hits.

    Attributes:
        text, kind, start, end: as in `Share`.
        in_a, in_b: contribution of the word to the score of hit a and of hit b.
    """

    text: str
    kind: str
    start: int
    end: int
    in_a: float
    in_b: float

    @property
    def gap(self) -> float:
        """Contribution to score a minus contribution to score b; negative if the word favours b."""
        return self.in_a - self.in_b


@dataclass(frozen=True)
class Contrast:
    """Comparison of two hits of a query, word by word of the query.

    Attributes:
        a, b: the two hits; a passage named by ID or path has its rank among all passages.
        words: the gap of the scores, split by query words; see `Explanation.shares`.
    """

    query: str
    a: Hit
    b: Hit
    words: tuple[Difference, ...]

    @property
    def gap(self) -> float:
        """Difference of the scores, `a.score - b.score`; positive if `a` ranks above `b`."""
        return self.a.score - self.b.score

    @property
    def residual(self) -> float:
        """The gap of the scores minus the sum of all words' gaps: a rounding error."""
        return self.gap - sum(word.gap for word in self.words)


@dataclass(frozen=True)
class WhyNot:
    """Rank of a document or passage for a query, and the reason why it is not among the hits.

    Attributes:
        document: name within the indexed folder, with forward slashes; a path for a file outside of it.
        k: maximum number of hits.
        per_document: maximum number of hits of one document; 0 for no limit.
        passages: number of passages in the index; `hit.rank` is the rank among all of them.
        cause: "found": it is a hit.
            "lower": at least k other passages have higher scores.
            "limit": its score suffices, but its document already has `per_document` hits.
            "copy": its score suffices, but only one copy of its text is listed, the one in the document `detail`.
            "changed", "gone": it is indexed, but its file has changed or was deleted since. "not indexed": see
            `reason`. "filtered": it does not pass the filter.
        reason: for "not indexed": "not there", "outside the folder", "new", or one of
            `Reason` of search/corpus/sources.py, such as "ignored", "binary", "empty"; `detail` may say more.
        hit: the requested passage, or the document's best passage, with its rank among all passages; None if the
            document is not indexed.
        last: the last of the k hits.
        contrast: why `last` ranks above `hit`; None if it is a hit or is not indexed.
    """

    query: str
    document: str
    k: int
    per_document: int
    passages: int
    cause: Cause
    reason: str = ""
    detail: str = ""
    hit: Hit | None = None
    last: Hit | None = None
    contrast: Contrast | None = None

    @property
    def can_change(self) -> bool:
        """True if another query could change the rank: the document is indexed, current, and passes the filter."""
        return self.cause in ("found", "lower", "limit")


@dataclass(frozen=True, eq=False)
class Similarities(NotebookMixin):
    """Cosine similarities of two lists of sentences.

    Attributes:
        rows, columns: n and m sentences.
        cosines: (n, m) float32 in [-1, 1], cosines of the embeddings.
        itself: True if the sentences are compared with each other: the columns are the rows, the matrix is symmetric.
        model, pooling: model and pooling of the embeddings.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cosines: NDArray[np.float32]
    itself: bool
    model: str
    pooling: str

    def plot(self, ax: Axes | None = None, *, scale: tuple[float, float] | None = None) -> Axes:
        """Plot the cosines as a heat map.

        Args:
            ax: matplotlib axes to draw into; None creates a new pyplot figure.
            scale: range of the colours; None is -1 to 1.

        Raises:
            InputError: `scale` is no range.
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax, scale=require_range(scale))

    def to_pandas(self) -> DataFrame:
        """Return the cosines as a table, with the sentences as names of rows and columns.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()

    def closest(self, count: int) -> list[tuple[int, int]]:
        """Return (row, column) of the `count` pairs with the highest cosines, best first.

        If `itself`, no sentence is paired with itself and each pair is listed once.
        """
        import numpy as np

        order = np.argsort(-self.cosines, axis=None, kind="stable")
        rows, columns = np.unravel_index(order, self.cosines.shape)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return list(islice(((i, j) for i, j in pairs if not self.itself or i < j), count))


@dataclass(frozen=True)
class DeletionTest:
    """Cosines of a passage without some of its words.

    Attributes:
        words: the words with the largest contributions, in the order of the passage.
        cosine: cosine of the whole passage.
        without: cosine without these words.
        without_others: mean cosine without as many other words, drawn at random.
    """

    words: tuple[str, ...]
    cosine: float
    without: float
    without_others: float
