"""Hits and whether they answer, passages that say the same, and what stands around a passage."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from search.records.contents import StoredPassage
from search.records.displayed import NotebookMixin
from search.records.options import Mode, Ranking

if TYPE_CHECKING:
    from pandas import DataFrame

    from search.records.explanations import Explanation


@dataclass(frozen=True)
class Verdict:
    """Whether anything in an index seems to answer a query; the same for all hits of a list.

    Attributes:
        says: "answers likely", "perhaps" or "nothing".
        probability: that something does, where every other query has an answer; see `search.ranking.verdict`.
        score: of the best hit.
        found: how much of the query's words, each counting its idf, the first hits of one document have, in [0, 1].
    """

    says: Literal["answers likely", "perhaps", "nothing"]
    probability: float
    score: float
    found: float


@dataclass(frozen=True, repr=False, kw_only=True)
class Hit(StoredPassage, NotebookMixin):
    """One ranked passage.

    Attributes:
        rank: 1 for the best.
        score: what hits are ranked by; higher is better.
        cosine: the meaning part, in [-1, 1]; None when the ranking did not use it.
        lexical: the word part, in [0, 1]: the passage's BM25 by what the three most telling words of the query could
            reach, or by the best of the index if that is more; None when the ranking did not use it.
        ranking: how `score` was made.
        reranked: what `ranking.rerank` said of the passage, and `rank_before` the rank without it. For "late" the
            score is half the one above and half `reranked`, for a cross-encoder it is `reranked`.
        index: the name of the index, or its path, where several are asked as one, and over HTTP; "" else.
        changed: what has become of the file since it was indexed: "" for nothing; "moved", it changed, and the lines
            are those on which the text stands now; "changed", the text is not found in it any more, or it has no plain
            lines, so the lines are those of then; "gone", it is not there.
        percentile: how many in a hundred random pairs of a query and a passage of the index score less, by the
            same mode and weight; None for an index that has no sample or is too small for one, and where words of the
            query are left out.
        random_pairs: how many pairs `percentile` rests on.
        copies: in how many other documents this text, or nearly this text, stands, if it stands in many; they are
            left out of the ranking, unless all copies are asked for.
        verdict: whether anything in the index, or of what passes the filter, seems to answer the query; None where
            that was not asked, and for any but the default ranking and model.
        approximate: it was looked for by an index on a server that can miss passages, so better ones may be missing;
            its own score is exact.
        explanation: why it has its score, of a query that was asked with `explain=True`; None else.
    """

    rank: int
    score: float
    cosine: float | None
    lexical: float | None
    ranking: Ranking
    reranked: float | None = None
    rank_before: int | None = None
    percentile: float | None = None
    random_pairs: int = 0
    copies: int = 0
    changed: Literal["", "moved", "changed", "gone"] = ""
    index: str = ""
    verdict: Verdict | None = None
    approximate: bool = False
    explanation: Explanation | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        place = f"page {self.page}" if self.page else f"{self.line_start}-{self.line_end}"
        return f"<Hit {self.rank}: {self.score:.3f} {self.document!r} {place} p{self.passage_id}>"

    @property
    def mode(self) -> Mode:
        """How `score` was made: see `Ranking`."""
        return self.ranking.mode

    @property
    def weight(self) -> float:
        """What the cosine counts: 1 for "dense", 0 for "lexical"."""
        return self.ranking.weight

    @property
    def addends(self) -> dict[str, float]:
        """What the score is the sum of: "meaning", "words", "rerank", as far as the ranking used them."""
        rerank = self.ranking.rerank
        if rerank and rerank != "late":
            return {"rerank": self.score}
        part = 0.5 if rerank else 1.0
        parts = {
            "meaning": None if self.cosine is None else part * self.weight * self.cosine,
            "words": None if self.lexical is None else part * (1 - self.weight) * self.lexical,
            "rerank": None if self.reranked is None else part * self.reranked,
        }
        return {name: value for name, value in parts.items() if value is not None}

    @property
    def uri(self) -> str:
        """Where it stands: `file:///notes/keys.md#L3-L9`, and `#page=3` in a format with pages (RFC 8118)."""
        place = f"page={self.page}" if self.page else f"L{self.line_start}-L{self.line_end}"
        return f"{Path(self.path).as_uri()}#{place}"


class Hits(list[Hit], NotebookMixin):
    """The hits of a query, best first: a list that a notebook shows as a table."""

    def to_pandas(self) -> DataFrame:
        """A row for each hit, a column for each of its fields but the explanation.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()


@dataclass(frozen=True, kw_only=True)
class Copy(StoredPassage):
    """A passage of a cluster.

    Attributes:
        cosine: with the passage of the cluster that is nearest to it.
        same_text_as: the id of the first passage of the cluster with the very same text; None for that one, and
            for a text that comes once.
    """

    cosine: float
    same_text_as: int | None


@dataclass(frozen=True)
class Cluster:
    """Passages that say the same, in the order of their ids.

    Attributes:
        exact: all have the very same text.
        lowest: the lowest cosine of a passage with its nearest one.
    """

    passages: tuple[Copy, ...]
    exact: bool
    lowest: float


@dataclass(frozen=True)
class Surroundings:
    """What stands around a passage in its document, in order.

    Attributes:
        lines_before, lines_after: lines of the source file, as (number, text).
        start: what stands before the passage on its first line.
        note: why there are no lines; "" where there are.
    """

    lines_before: tuple[tuple[int, str], ...] = ()
    lines_after: tuple[tuple[int, str], ...] = ()
    note: str = ""
    start: str = ""
