"""Combine meaning and keywords into one exact ranking of passages.

The hybrid score is a weighted sum of cosine and keyword score. The n best sums are found with the bound of the
threshold algorithm (Fagin, Lotem and Naor 2003, section 4): the best passages by meaning get both scores, and so does
every other passage whose keywords could lift it into the n best. No hit is missed because it ranks high in only one of
the two, and no score is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError, WordMissing
from search.store.bm25 import discriminative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.ranking.question import EncodedQuery
    from search.records.option_tools import Ranking
    from search.store.bm25 import KeywordScores
    from search.store.snapshot import Ids, Snapshot
    from search.store.terms import IndexTerm

# Extra passages by meaning. Larger values shorten the second step, which scores passages with high keyword scores.
_EXTRA = 100
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Scored:
    """A passage with its score; the fields are those of a `Hit`, `before` is `rank_before`."""

    passage: int
    score: float
    cosine: float | None
    lexical: float | None
    reranked: float | None = None
    before: int | None = None


class Fusion:
    """The ranking of a query in one snapshot.

    Attributes:
        typed: words of the query.
        counts: number of passages with each of these words.
        counted: discriminative terms among these words.
        terms: discriminative terms that are not ignored.

    Raises:
        WordMissing: a word to ignore is not a discriminative term.
    """

    def __init__(
        self, snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, among: Ids | None = None
    ) -> None:
        self._snapshot, self._ranking, self._among = snapshot, ranking, among
        self._embedding = query.embedding
        self.typed = snapshot.terms(query.text) if ranking.weight < 1 else []
        self.counts = snapshot.counts(self.typed) if self.typed else []
        self.counted = discriminative(self.typed, self.counts, snapshot.facts.passages)
        self._ignored: set[IndexTerm] = set()
        self.terms = self.counted
        if ranking.without and ranking.weight < 1:
            self._ignored = {self._term_of(word) for word in ranking.without}
            self.terms = [term for term in self.counted if term not in self._ignored]

    def _term_of(self, word: str) -> IndexTerm:
        """Return the discriminative term for a word or phrase, in any of its forms."""
        forms = {term.stems for term in self._snapshot.terms(f'"{word.replace(chr(34), " ")}"')}
        for term in self.counted:
            if term.stems in forms:
                return term
        raise WordMissing(word, [term.text for term in self.counted])

    @cached_property
    def keyword_scores(self) -> KeywordScores:
        """Keyword scores of the passages that contain at least one of the terms."""
        return self._snapshot.keyword_scores(self.counted, self._ignored)

    def top(self, n: int, among: Ids | None = None) -> list[Scored]:
        """Return the n best passages (all if there are fewer), best first; equal scores in the order of IDs.

        Args:
            among: IDs of the passages to rank; None for all that the ranking includes.
        """
        among = self._among if among is None else among
        if not self._ranking.weight:
            ids, lexical = self.keyword_scores.best(n, among)
            return self._best(n, ids, None, lexical)
        assert self._embedding is not None
        extra = _EXTRA if self._ranking.weight < 1 else 0
        nearest = self._snapshot.nearest(self._embedding, n + extra, among, self.counted)
        ids = np.array([id_ for id_, _ in nearest], dtype=np.int64)
        cosine = np.array([cosine for _, cosine in nearest], dtype=np.float64)
        if not extra:
            return self._best(n, ids, cosine, None)
        lexical = self.keyword_scores.of(ids)
        if len(nearest) == n + _EXTRA:  # else there are no others
            # All others have at most the last cosine, so only a high keyword score can lift them into the n best.
            weight = self._ranking.weight
            least = np.partition(weight * cosine + (1 - weight) * lexical, -n)[-n] - _ROUNDING
            needed = float((least - weight * cosine[-1]) / (1 - weight))
            others, lexical_of_others = self.keyword_scores.at_least(needed, among)
            new = ~np.isin(others, ids)
            if len(self._snapshot.pending):
                new &= ~np.isin(others, self._snapshot.pending)
            others, lexical_of_others = others[new], lexical_of_others[new]
            least_cosines = (least - (1 - weight) * lexical_of_others) / weight
            ids = np.concatenate([ids, others])
            cosines_of_others = self._snapshot.cosines(self._embedding, others, least_cosines)
            cosine = np.concatenate([cosine, cosines_of_others])
            lexical = np.concatenate([lexical, lexical_of_others])
        return self._best(n, ids, cosine, lexical)

    def among(self, passages: Ids) -> list[Scored]:
        """Rank the given passages, best first; passages that the ranking excludes are left out."""
        among = np.unique(passages) if self._among is None else np.intersect1d(passages, self._among)
        return self.top(len(among), among) if len(among) else []

    def score(self, passage: int) -> Scored:
        """Score one passage, whatever its rank.

        Raises:
            IdMissing: the index has no passage of that id.
        """
        self._snapshot.passage(passage)
        ids = np.array([passage], dtype=np.int64)
        lexical = self.keyword_scores.of(ids) if self._ranking.weight < 1 else None
        cosine = None
        if self._ranking.weight:
            assert self._embedding is not None
            cosine = self._snapshot.cosines(self._embedding, ids)
        return self._best(1, ids, cosine, lexical)[0]

    def positions(self, passages: Iterable[int]) -> dict[int, tuple[int, Scored]]:
        """Return the exact rank and score of passages among all passages.

        Passages that are not in the index are left out. In a keyword ranking, passages without any word of the query
        rank last.
        """
        if self._snapshot.approximate:
            raise InputError(
                "an index on a server cannot compute exact ranks. Use an index on this machine."
            )
        ids = frozenset(passages)
        ranked = self.top(max(1, self._snapshot.facts.passages))
        positions = {
            item.passage: (rank, item) for rank, item in enumerate(ranked, start=1) if item.passage in ids
        }
        for id_ in sorted(self._snapshot.documents(sorted(ids - positions.keys()))):
            positions[id_] = len(ranked) + 1, self.score(id_)
        return positions

    def _best(
        self,
        n: int,
        ids: Ids,
        cosine: NDArray[np.float64] | None,
        lexical: NDArray[np.float64] | None,
    ) -> list[Scored]:
        """Return the n best of some passages, from their cosines and keyword scores; ties in the order of IDs."""
        scores = np.zeros(len(ids))
        if cosine is not None:
            scores += self._ranking.weight * cosine
        if lexical is not None:
            scores += (1 - self._ranking.weight) * lexical
        first = np.lexsort((ids, -scores))[:n]
        missing = [None] * len(first)
        cosines = missing if cosine is None else cosine[first].tolist()
        keywords = missing if lexical is None else lexical[first].tolist()
        return list(map(Scored, ids[first].tolist(), scores[first].tolist(), cosines, keywords))


def in_order(scored: Iterable[Scored]) -> list[Scored]:
    """Sort passages, best first; equal scores in the order of IDs."""
    return sorted(scored, key=lambda item: (-item.score, item.passage))
