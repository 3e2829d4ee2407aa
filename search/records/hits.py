"""Hits and the answerability verdict, clusters of near-duplicates, and lines around a passage."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from search.records.contents import StoredPassage
from search.records.notebook_mixin import NotebookMixin
from search.records.option_tools import Ranking
from search.records.options import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pandas import DataFrame

    from search.records.explanations import Explanation


VerdictWords = Literal[
    "answered", "probably answered", "perhaps", "probably not here", "found", "not found"
]


@dataclass(frozen=True)
class IdentifierCount:
    """An identifier of a query (`search.ranking.identifiers`), and where it stands.

    Attributes:
        identifier: as typed.
        files: number of files with it, or of documents from memory; only of passages that pass the filter.
    """

    identifier: str
    files: int


@dataclass(frozen=True)
class Verdict:
    """Answerability verdict for a query; the same for all hits of a list.

    Attributes:
        says: "answered", "probably answered", "perhaps" or "probably not here", by the probability; for a query with
            identifiers, "found" if one of them occurs, else "not found".
        probability: probability in [0, 1] that the index contains an answer, if half of all queries have one;
            see `search.ranking.verdict`. None for a query with identifiers.
        score: score of the best hit.
        coverage: largest idf-weighted share of the query's words in one of the first three hits, in [0, 1]. None for a
            query with identifiers.
        evidence: ID of the second or third passage, if much more of the query's words are in it than in the first.
        identifiers: the identifiers of the query.
    """

    says: VerdictWords
    probability: float | None
    score: float
    coverage: float | None
    evidence: int | None = None
    identifiers: tuple[IdentifierCount, ...] = ()

    @classmethod
    def of_several(cls, verdicts: Sequence[Verdict | None]) -> Verdict | None:
        """Return the verdict on several indexes, of which the first has the best hit; None if that has none.

        It is the one with the highest probability. Files with identifiers are added up.
        """
        every = list(filter(None, verdicts))
        if len(verdicts) < 2 or not verdicts[0]:
            return verdicts[0] if verdicts else None
        if verdicts[0].probability is None:
            counts = Counter[str]()
            for count in chain.from_iterable(verdict.identifiers for verdict in every):
                counts[count.identifier] += count.files
            return replace(
                verdicts[0],
                says="found" if any(counts.values()) else "not found",
                score=max(verdict.score for verdict in every),
                identifiers=tuple(map(IdentifierCount, counts, counts.values())),
            )
        best = max(every, key=lambda verdict: verdict.probability or 0.0)
        return replace(best, evidence=None)  # passage IDs of several indexes are alike


@dataclass(frozen=True)
class Absence:
    """A word of a query that no passage has.

    Attributes:
        word: as typed.
        near: a word of the index that differs by one letter; "" if there is none.
        is_identifier: True for a code, a name in source code, a path, ... (`search.ranking.identifiers`).
    """

    word: str
    near: str = ""
    is_identifier: bool = False

    @property
    def sentence(self) -> str:
        """Note on the word: "no passage has 'rentt'. Did you mean 'rent'?"."""
        question = f" Did you mean '{self.near}'?" if self.near else ""
        return f"no passage has '{self.word}'.{question}"

    def corrected(self, query: str) -> str:
        """Return a query with the word of the index instead; the query itself if there is none."""
        return re.sub(rf"\b{re.escape(self.word)}\b", self.near, query) if self.near else query


@dataclass(frozen=True)
class Coverage:
    """Passages that a query has looked at; the same for all hits of a list.

    In an index that is not complete, the scores of the hits are exact, but passages that are not encoded may be missing
    among them.

    Attributes:
        encoded: number of passages that are encoded, with those of this query.
        passages: number of passages in the index.
        for_query: number of passages that were encoded for this query.
        unread: number of files that the run in progress has not read yet.
        expected: estimated number of passages when these are read, too, if they have as many each as the others.
        complete: False if better passages may be missing.
    """

    encoded: int
    passages: int
    for_query: int = 0
    unread: int = 0
    expected: int = 0
    complete: bool = False

    def __add__(self, other: Coverage) -> Coverage:
        """Return what a query has looked at in two indexes."""
        return Coverage(
            self.encoded + other.encoded,
            self.passages + other.passages,
            self.for_query + other.for_query,
            self.unread + other.unread,
            (self.expected or self.passages) + (other.expected or other.passages),
            self.complete and other.complete,
        )

    @property
    def sentence(self) -> str:
        """Summary in one line."""
        before = self.encoded - self.for_query
        total = (
            f"about {_rounded(self.expected):,}"
            if self.unread and self.expected
            else f"{self.passages:,}"
        )
        parts = [f"meaning: {before:,} of {total} passages encoded"]
        if self.for_query:
            parts.append(f"{self.for_query:,} more for this question")
        if self.unread:
            parts.append(f"{self.unread:,} {'file is' if self.unread == 1 else 'files are'} not read yet")
        return "; ".join(parts)


def _rounded(estimate: int) -> int:
    """Round an estimate to two significant digits."""
    return round(estimate, 2 - len(str(estimate)))


@dataclass(frozen=True, repr=False, kw_only=True)
class Hit(StoredPassage, NotebookMixin):
    """One ranked passage of a query.

    Attributes:
        rank: 1 for the best.
        score: the value that hits are ranked by; higher is better.
        cosine: cosine similarity of query and passage embeddings, in [-1, 1]; None if the ranking does not use it.
        lexical: keyword score in [0, 1]: the passage's BM25 divided by the highest BM25 that the three rarest words of
            the query could reach, or by the index's highest BM25 if that is higher. None if the ranking does not use
            it.
        ranking: mode, weight and other settings that `score` was computed with.
        reranked: score by the reranker `ranking.rerank`. With "late", `score` is the mean of `reranked` and the score
            before reranking; with a cross-encoder, `score` is `reranked`.
        rank_before: rank before reranking.
        index: name or path of the index, if several are searched together, and over HTTP; else "".
        changed: status of the file since it was indexed. "": unchanged. "gone": deleted. "moved": changed, but it still
            contains the text, and the lines are the current ones. "changed": it no longer contains the text, or its
            format has no plain lines; the lines are those at indexing time.
        percentile: percentage, from 0 to 100, of random pairs of a query and a passage that have a lower score with the
            same mode and weight. None if the index has no sample of such pairs, or if words of the query are ignored.
        random_pairs: number of pairs that `percentile` is based on.
        copies: number of hidden duplicates: passages with the same text, or near-identical rows of its file. They are
            ranked only if all copies are requested.
        verdict: answerability verdict for the query, over the passages that pass the filter. None if it was not
            computed: for other rankings and models than the default, and for fewer than ten passages. Identifiers are
            counted in all of these cases.
        approximate: True if a server's approximate index retrieved the hit, so better passages may be missing; the
            score itself is exact.
        coverage: what the query has looked at, if the index is not complete; else None.
        explanation: explanation of the score, for a query with `explain=True`; else None.
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
    coverage: Coverage | None = None
    explanation: Explanation | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        location = f"page {self.page}" if self.page else f"{self.line_start}-{self.line_end}"
        return f"<Hit {self.rank}: {self.score:.3f} {self.document!r} {location} p{self.passage_id}>"

    @property
    def mode(self) -> Mode:
        """Mode of the ranking: "hybrid", "dense" or "lexical"; see `Ranking`."""
        return self.ranking.mode

    @property
    def weight(self) -> float:
        """Weight of the cosine in the score, in [0, 1]: 1 for "dense", 0 for "lexical"."""
        return self.ranking.weight

    @property
    def addends(self) -> dict[str, float]:
        """Addends of the score by name: "meaning", "words" and "rerank", if the ranking uses them."""
        first = self.ranking.first_share
        if not first:
            return {"rerank": self.score}
        addends = {
            "meaning": None if self.cosine is None else first * self.weight * self.cosine,
            "words": None if self.lexical is None else first * (1 - self.weight) * self.lexical,
            "rerank": None if self.reranked is None else (1 - first) * self.reranked,
        }
        return {name: value for name, value in addends.items() if value is not None}

    @property
    def uri(self) -> str:
        """Link to the lines: `file:///notes/keys.md#L3-L9`, or `#page=3` in a format with pages (RFC 8118).

        "" for a document from memory.
        """
        if not self.path:
            return ""
        location = f"page={self.page}" if self.page else f"L{self.line_start}-L{self.line_end}"
        return f"{Path(self.path).as_uri()}#{location}"


class Hits(list[Hit], NotebookMixin):
    """The hits of a query, best first: a list that a notebook shows as a table.

    Attributes:
        coverage: what the query has looked at, if the index is not complete; else None.
    """

    coverage: Coverage | None = None

    def covered(self, coverage: Coverage | None) -> Hits:
        """Return these hits with what the query has looked at."""
        hits = Hits(replace(hit, coverage=coverage) for hit in self)
        hits.coverage = coverage
        return hits

    def to_pandas(self) -> DataFrame:
        """Return a table with a row for each hit and a column for each field except the explanation.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()


@dataclass(frozen=True, kw_only=True)
class Copy(StoredPassage):
    """A passage of a cluster of near-duplicates.

    Attributes:
        cosine: cosine with the nearest other passage of the cluster, in [-1, 1].
        same_text_as: ID of an earlier passage of the cluster with exactly the same text; None if there is none.
    """

    cosine: float
    same_text_as: int | None


@dataclass(frozen=True)
class Cluster:
    """Near-duplicate passages, in the order of their IDs.

    Attributes:
        exact: True if all passages have exactly the same text.
        lowest: the lowest `cosine` of these passages.
    """

    passages: tuple[Copy, ...]
    exact: bool
    lowest: float


@dataclass(frozen=True)
class Surroundings:
    """Lines of the source file around a passage, in order.

    Attributes:
        lines_before, lines_after: lines of the source file before and after the passage, as (number from 1, text).
        start: text before the passage on its first line.
        note: reason why there are no lines; "" if there are.
    """

    lines_before: tuple[tuple[int, str], ...] = ()
    lines_after: tuple[tuple[int, str], ...] = ()
    note: str = ""
    start: str = ""
