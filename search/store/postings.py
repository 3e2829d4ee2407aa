"""What FTS5 says of single terms, kept for as long as the words of an index stay as they are.

BM25 is a sum over terms, so a term that was asked for once need not be asked for again: a process that answers many
queries asks FTS5 only for what is new in each. Common terms, which cost the most, are soon all there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    _Ranked: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

_MOST = 2_000_000  # entries of 16 bytes
_EACH = 30  # entries that a term takes besides


@dataclass(frozen=True, eq=False)
class Postings:
    """The passages that have a term.

    Attributes:
        ids: (n,) increasing.
        scores: (n,) float64, what the term adds to the BM25 of each.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]

    def at(self, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) the scores of passages, in their order; 0 for those that do not have the term."""
        if not len(self.ids):
            return np.zeros(len(passages))
        places = np.minimum(np.searchsorted(self.ids, passages), len(self.ids) - 1)
        return np.where(self.ids[places] == passages, self.scores[places], 0.0)

    def among(self, passages: NDArray[np.int64]) -> Postings:
        """Those of some passages, by increasing ids."""
        kept = np.isin(self.ids, passages, assume_unique=True)
        return Postings(self.ids[kept], self.scores[kept])


def summed(terms: Sequence[Postings]) -> Postings:
    """The passages that have any of the terms, each with the sum of what these add, in their order."""
    if not terms:
        return Postings(np.empty(0, dtype=np.int64), np.empty(0))
    ids, places = np.unique(np.concatenate([term.ids for term in terms]), return_inverse=True)
    scores = np.bincount(places, np.concatenate([term.scores for term in terms]), len(ids))
    return Postings(ids, scores.astype(np.float64, copy=False))


class Matches:
    """The passages that have any of some terms; see `search.store.protocol.Matches`."""

    def __init__(self, terms: Sequence[Postings]) -> None:
        self._terms = terms
        self._sum = summed(terms)
        self.highest = float(self._sum.scores.max()) if len(self._sum.ids) else 1.0
        self._parts = self._sum.scores / self.highest

    def best(self, n: int, among: NDArray[np.int64] | None = None) -> _Ranked:
        ids, parts = self._chosen(-np.inf, among)
        first = np.lexsort((ids, -parts))[:n]
        return ids[first], parts[first]

    def at_least(self, part: float, among: NDArray[np.int64] | None = None) -> _Ranked:
        return self._chosen(part, among)

    def parts(self, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._sum.at(passages) / self.highest

    def addends(self, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        columns = [term.at(passages) for term in self._terms]
        return np.array(columns).reshape(len(columns), len(passages)).T / self.highest

    def _chosen(self, part: float, among: NDArray[np.int64] | None) -> _Ranked:
        chosen = self._parts >= part
        if among is not None:
            chosen[chosen] = np.isin(self._sum.ids[chosen], among)
        return self._sum.ids[chosen], self._parts[chosen]


@dataclass(eq=False)
class KeptTerms:
    """Postings and numbers of passages, by term, of one state of the words. Safe between threads.

    What was not asked for longest is dropped where there are more than `most` entries in all.
    """

    most: int = _MOST
    _state: Hashable = None
    _postings: OrderedDict[str, Postings] = field(default_factory=OrderedDict)
    _counts: dict[str, int] = field(default_factory=dict)
    _held: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def postings(self, state: Hashable, term: str) -> Postings | None:
        with self._lock:
            if state != self._state or term not in self._postings:
                return None
            self._postings.move_to_end(term)
            return self._postings[term]

    def count(self, state: Hashable, term: str) -> int | None:
        with self._lock:
            return self._counts.get(term) if state == self._state else None

    def keep(self, state: Hashable, term: str, found: Postings | int) -> None:
        with self._lock:
            if state != self._state:
                self._state, self._held = state, 0
                self._postings.clear()
                self._counts.clear()
            if isinstance(found, int):
                if len(self._counts) >= self.most // 16:
                    self._counts.clear()
                self._counts[term] = found
            elif term not in self._postings and len(found.ids) <= self.most:
                self._postings[term] = found
                self._held += len(found.ids) + _EACH
                while self._held > self.most:
                    _, dropped = self._postings.popitem(last=False)
                    self._held -= len(dropped.ids) + _EACH
