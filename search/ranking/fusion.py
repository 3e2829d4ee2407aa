"""Meaning and words -> one ranking of passages, exactly.

The hybrid score is a sum of two parts that each have a ranked list. The best n of the sum are found with the bound
of the threshold algorithm (Fagin, Lotem and Naor 2003, section 4): the head of the list by meaning is scored on both
sides, and of all others only those whose words could lift them into the best n. So no hit is missed because it was
in one list only, and no score is made up for a side that was not looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from search.ranking.ranking import RRF_K, Asked, Ranking, Scored
from search.store.database import one_meta
from search.store.postings import summed
from search.store.vectors import LoadedVectors, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MORE = 100  # than asked for by meaning: the more, the fewer others can still be among the best


class Fusion:
    """The ranking of a query, within one read transaction.

    Attributes:
        terms: the words of the query that count.
        highest: the highest BM25 in the index, by which the word part is divided; 1 where no word is found.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        loaded: LoadedVectors,
        asked: Asked,
        ranking: Ranking,
        only: NDArray[np.int64] | None = None,
    ) -> None:
        self._connection, self._loaded, self._asked, self._ranking = connection, loaded, asked, ranking
        self._only = only
        lexicon = loaded.lexicon
        typed = lexicon.terms(asked.text, phrases=ranking.phrases) if ranking.by_words else []
        self.terms = lexicon.telling(connection, typed)
        self._postings = lexicon.postings(connection, self.terms)
        found = summed(self._postings)
        self.highest = float(found.scores.max()) if len(found.scores) else 1.0
        self._lexical_ids, self._lexical = found.ids, found.scores / self.highest

    def top(self, n: int) -> list[Scored]:
        """The n best passages, best first; equal scores in the order of ids. Fewer if there are no more."""
        if self._ranking.mode == "rrf":
            return self._by_ranks[:n]
        if not self._ranking.by_meaning:
            ids, lexical = self._matches
            return self._best(n, ids, None, lexical)
        if not self._ranking.by_words:
            found = self._nearest(n)
            return [Scored(id_, cosine, cosine, None) for id_, cosine in found]
        return self._by_both(n)

    def among(self, passages: NDArray[np.int64]) -> list[Scored]:
        """Those of some passages, by increasing ids, that rank at all, best first, with the scores that they have."""
        if self._ranking.mode == "rrf":  # ranks are those among all
            wanted = set(passages.tolist())
            return [item for item in self._by_ranks if item.passage in wanted]
        only = passages if self._only is None else np.intersect1d(passages, self._only)
        fusion = Fusion(self._connection, self._loaded, self._asked, self._ranking, only)
        return fusion.top(len(only)) if len(only) else []

    def score(self, passage: int) -> Scored:
        """Of one passage that is in the index, whatever its rank."""
        ids = np.array([passage], dtype=np.int64)
        if self._ranking.mode == "rrf":
            found = (item for item in self._by_ranks if item.passage == passage)
            return next(found, Scored(passage, 0.0, None, None, (None, None)))
        cosine = self._cosines(ids) if self._ranking.by_meaning else None
        lexical = self._lexical_of(ids) if self._ranking.by_words else None
        return self._best(1, ids, cosine, lexical)[0]

    def lexical(self, passage: int) -> float:
        """The word part of a passage."""
        return float(self._lexical_of(np.array([passage], dtype=np.int64))[0])

    def word_addends(self, passages: Sequence[int]) -> NDArray[np.float64]:
        """(passages, terms) what each term adds to the word part of a passage; their sum is that part."""
        wanted, rows = np.unique(np.array(passages, dtype=np.int64), return_inverse=True)
        found = np.zeros((len(wanted), len(self.terms)))
        for column, term in enumerate(self._postings):
            there = term.among(wanted)
            found[np.searchsorted(wanted, there.ids), column] = there.scores / self.highest
        return found[rows]

    @staticmethod
    def rank_addend(rank: int) -> float:
        """What a rank adds to a score by ranks."""
        return 1 / (RRF_K + rank)

    def _by_both(self, n: int) -> list[Scored]:
        weight = self._ranking.weight
        near = self._nearest(n + _MORE)
        ids = np.array([id_ for id_, _ in near], dtype=np.int64)
        cosine = np.array([cosine for _, cosine in near])
        lexical = self._lexical_of(ids)
        if len(near) == n + _MORE:  # else these are all
            # All others have at most this cosine. So without a word they are behind the first n of these, and with
            # words they can only be before them where the sum is high enough.
            least = np.partition(weight * cosine + (1 - weight) * lexical, -n)[-n]
            matching, words = self._matches
            promising = weight * cosine[-1] + (1 - weight) * words >= least
            promising[promising] = ~np.isin(matching[promising], ids)
            others = matching[promising]
            ids = np.concatenate([ids, others])
            cosine = np.concatenate([cosine, self._cosines(others)])
            lexical = np.concatenate([lexical, words[promising]])
        return self._best(n, ids, cosine, lexical)

    @cached_property
    def _by_ranks(self) -> list[Scored]:
        """By the ranks among all passages, so that a filter changes no score."""
        assert self._asked.embedding is not None
        total = max(1, one_meta(self._connection, "passages"))
        everything = nearest(self._connection, self._loaded, self._asked.embedding, total)
        near = {id_: (rank, cosine) for rank, (id_, cosine) in enumerate(everything, 1)}
        ids, lexical = self._lexical_ids, self._lexical
        best = np.lexsort((ids, -lexical))
        worded = {int(ids[place]): (rank, float(lexical[place])) for rank, place in enumerate(best, 1)}
        found = []
        allowed = near.keys() if self._only is None else near.keys() & set(self._only.tolist())
        for id_ in allowed:
            meaning, cosine = near[id_]
            word, value = worded.get(id_, (None, None))
            score = sum(self.rank_addend(rank) for rank in (meaning, word) if rank is not None)
            found.append(Scored(id_, score, cosine, value, (meaning, word)))
        return in_order(found)

    def _nearest(self, n: int) -> list[tuple[int, float]]:
        assert self._asked.embedding is not None
        most = max(1, one_meta(self._connection, "passages"))
        return nearest(self._connection, self._loaded, self._asked.embedding, min(n, most), self._only)

    def _cosines(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of passages that are there, in their order."""
        assert self._asked.embedding is not None
        if not len(ids):
            return np.empty(0)
        found = nearest(self._connection, self._loaded, self._asked.embedding, len(ids), np.sort(ids))
        cosine_of = dict(found)
        return np.array([cosine_of[id_] for id_ in ids.tolist()])

    def _lexical_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The word part of passages; 0 for those that have none of the words."""
        if not len(self._lexical_ids):
            return np.zeros(len(ids))
        places = np.minimum(np.searchsorted(self._lexical_ids, ids), len(self._lexical_ids) - 1)
        return np.where(self._lexical_ids[places] == ids, self._lexical[places], 0.0)

    @cached_property
    def _matches(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Ids and word parts of the passages that have a word of the query, of those that may be hits."""
        if self._only is None:
            return self._lexical_ids, self._lexical
        kept = np.isin(self._lexical_ids, self._only)
        return self._lexical_ids[kept], self._lexical[kept]

    def _best(
        self,
        n: int,
        ids: NDArray[np.int64],
        cosine: NDArray[np.float64] | None,
        lexical: NDArray[np.float64] | None,
    ) -> list[Scored]:
        """The n best of some passages, given by their parts, best first; equal scores in the order of ids."""
        weight, none = self._ranking.weight, np.zeros(len(ids))
        scores = weight * (none if cosine is None else cosine)
        scores += (1 - weight) * (none if lexical is None else lexical)
        first = np.lexsort((ids, -scores))[:n]

        def column(values: NDArray[np.float64] | None) -> list[float] | list[None]:
            return [None] * len(first) if values is None else values[first].tolist()

        columns = ids[first].tolist(), scores[first].tolist(), column(cosine), column(lexical)
        return [Scored(*row) for row in zip(*columns, strict=True)]


def in_order(found: Iterable[Scored]) -> list[Scored]:
    """Best first; equal scores in the order of ids."""
    return sorted(found, key=lambda item: (-item.score, item.passage))
