"""Passages compared with each other and with the ranking, and sentences with sentences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from search.records.displayed import NotebookMixin
from search.records.explanations import Partner
from search.records.hits import Hit

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from pandas import DataFrame

Cause = Literal["found", "lower", "limit", "copy", "changed", "gone", "not indexed", "filtered"]


@dataclass(frozen=True)
class Difference:
    """What one word of a query added to two scores.

    Attributes:
        text, kind, start, end: as of `Share`.
        in_a, in_b: what it added to each score.
        found_in_a, found_in_b: the passage words that it added most with, the strongest first.
    """

    text: str
    kind: str
    start: int
    end: int
    in_a: float
    in_b: float
    found_in_a: tuple[Partner, ...] = ()
    found_in_b: tuple[Partner, ...] = ()

    @property
    def gap(self) -> float:
        """What the word adds to the distance of the two scores; negative where it speaks for b."""
        return self.in_a - self.in_b


@dataclass(frozen=True)
class Contrast:
    """Why a stands above b, or below it.

    Attributes:
        a, b: the two hits; one that was named by id or path has the rank it has among all passages.
        words: the gap, split by the words of the query; see `Explanation.shares`.
    """

    query: str
    a: Hit
    b: Hit
    words: tuple[Difference, ...]

    @property
    def gap(self) -> float:
        """Score of a less score of b: positive when a stands above b."""
        return self.a.score - self.b.score

    @property
    def residual(self) -> float:
        """The gap less the gaps of all words: rounding, when everything is right."""
        return self.gap - sum(word.gap for word in self.words)


@dataclass(frozen=True)
class WhyNot:
    """Where a document or passage stands in the ranking of a query, and why it is not among the hits.

    Attributes:
        document: its name within the indexed folder, with forward slashes; a path for what lies outside.
        k: how many hits there were to be, `per_document` the most of one document, 0 for no limit.
        passages: how many the index holds; the rank is among these.
        cause: "found": it is a hit.
            "lower": at least k others have higher scores.
            "limit": its score would do, but its document has as many hits as it may.
            "copy": its score would do, but its text stands in many documents and is shown once, from `detail`.
            "changed", "gone": it is indexed, but its file is not what it was then.
            "not indexed": see `reason`.
            "filtered": it does not pass the filter.
        reason: for "not indexed": "not there", "outside the folder", "new", or one of
            `Reason` of search/corpus/files.py, such as "ignored", "binary", "empty"; `detail` may say more.
        hit: the document's best passage, or the passage that was asked for, and its true rank; None when
            nothing of it is indexed.
        last: the last of the k hits.
        contrast: why `last` stands above `hit`; None for one that is found or not indexed.
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


@dataclass(frozen=True, eq=False)
class Similarities(NotebookMixin):
    """Cosines of sentences with sentences.

    Attributes:
        rows, columns: n and m sentences.
        cosines: (n, m) float32 in [-1, 1] of their embeddings.
        itself: the columns are the rows once more, so the matrix is square and symmetric.
        model, pooling: how the embeddings were made.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cosines: NDArray[np.float32]
    itself: bool
    model: str
    pooling: str

    def plot(self, ax: Axes | None = None) -> Axes:
        """A heat map of the cosines.

        Args:
            ax: axes of matplotlib to draw into; None makes a new figure of pyplot.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax)

    def to_pandas(self) -> DataFrame:
        """The cosines as a table, with the sentences as names of rows and columns.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()

    def closest(self, count: int) -> list[tuple[int, int]]:
        """(row, column) of the pairs with the highest cosines, best first.

        No sentence is paired with itself, and of a matrix that is `itself` each pair comes once.
        """
        import numpy as np

        order = np.argsort(-self.cosines, axis=None, kind="stable")
        rows, columns = np.unravel_index(order, self.cosines.shape)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return list(islice(((i, j) for i, j in pairs if not self.itself or i < j), count))
