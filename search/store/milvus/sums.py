"""What a server says of the sums of words, and the sums themselves, of the passages that matter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store.bm25 import norms, saturations, weight
from search.store.milvus import layout, ranges
from search.store.milvus.layout import LENGTH, PASSAGE, SPARSE
from search.store.milvus.terms import OF_WORDS, damaged, frequencies_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.bm25 import Ids, Scores
    from search.store.milvus.generation import View

_AT_ONCE = 1000  # rows that are asked for by name
_FIRST = 256  # hits of the first search, which come with their words
_MORE = 8  # times as many each time
_ROUNDING = 2.0**-23  # of each product and each sum of a server


@dataclass(frozen=True, eq=False)
class Found:
    """Where a term is.

    Attributes:
        count: how many passages have it.
        number: its place in sparse vectors; 0 for several stems, and for what is nowhere.
        often: of several stems, how often each passage that has them in a row has them.
    """

    count: int = 0
    number: int = 0
    often: dict[int, int] = field(default_factory=dict)


class Sums:
    """The BM25 of passages by some terms, as far as they were asked for."""

    def __init__(self, view: View, terms: Sequence[Found]) -> None:
        self._view, self.terms = view, terms
        state = view.generation
        self._weights = np.array([weight(term.count, state.passages) for term in terms])
        self._vector = defaultdict[int, float](float)
        for term, its_weight in zip(terms, self._weights.tolist(), strict=True):
            if term.number:
                self._vector[term.number] += its_weight
        self._slack = (len(terms) + 8) * _ROUNDING
        # What a sum is at most, of what a server says.
        self._above = max(1.0, state.mean / (state.reference or 1.0)) * (1 + self._slack)
        self._phrases = sorted(set().union(*(term.often for term in terms)))
        self._known: dict[int, NDArray[np.float64]] = {}
        self._everything = False
        self._hits: dict[str, tuple[dict[int, float], float]] = {}

    def addends(self, passages: Ids) -> NDArray[np.float64]:
        """(n, terms) what each adds to passages; 0 to those that are not there."""
        wanted = passages.tolist()
        missing = [passage for passage in dict.fromkeys(wanted) if passage not in self._known]
        if len(missing) > sum(term.count for term in self.terms) and not self._everything:
            self._load(self.candidates(0.0))
            self._everything = True
        if not self._everything:
            self._load(missing)
        nothing = np.zeros(len(self.terms))
        found = [self._known.get(passage, nothing) for passage in wanted]
        return np.array(found).reshape(len(wanted), len(self.terms))

    def sums(self, passages: Ids) -> Scores:
        """(n,) added up in the order of the terms."""
        found = np.zeros(len(passages))
        for column in self.addends(passages).T:
            found += column
        return found

    def candidates(self, least: float, among: Ids | None = None) -> list[int]:
        """Passages, increasing, of which are all those with a sum of nearly at least this; 0 for all with a term.

        Args:
            among: to choose from.
        """
        if isinstance(among, np.ndarray):
            return [int(passage) for passage in among]
        hits = self._down_to(least / self._above, _where(among))
        return sorted({*hits, *self._chosen(self._phrases, among)})

    def first(self, n: int, among: Ids | None = None) -> list[int]:
        """Some passages that are good enough to be among the n best, at least n of them if there are as many."""
        if isinstance(among, np.ndarray):
            return [int(passage) for passage in among]
        hits, _ = self._some(max(n, _FIRST), _where(among))
        return sorted({*hits, *self._chosen(self._phrases, among)})

    def _down_to(self, least: float, where: str) -> Collection[int]:
        """The passages to which a server gives at least this."""
        limit = _FIRST
        while self._vector and limit <= layout.MOST_HITS:
            hits, below = self._some(limit, where)
            if below < least or not below:
                return hits
            limit *= _MORE
        if not self._vector:
            return ()
        hits = ranked(self._view, self._vector, least, where)
        self._hits[where] = hits, max(0.0, float(np.nextafter(least, -1.0)))
        return hits

    def _some(self, limit: int, where: str) -> tuple[dict[int, float], float]:
        """Passage -> what a server gives it, of those to which it gives the most; and what it gives others at most, 0
        where there are no others.

        Args:
            limit: how many; they may be more that were asked for before, or fewer as a request has a limit.
        """
        limit = min(limit, layout.MOST_HITS)
        hits, below = self._hits.get(where, ({}, np.inf))
        if not self._vector:
            return {}, 0.0
        if below and len(hits) < limit:
            found = _search(self._view, self._vector, limit, where, words=limit <= _FIRST)
            if limit <= _FIRST:
                self._require(found)
                self._take(hit["entity"] for hit in found)
            hits = {hit["entity"][PASSAGE]: hit["distance"] for hit in found}
            below = found[-1]["distance"] if len(found) == limit else 0.0
            self._hits[where] = hits, below
        return hits, below

    def _require(self, hits: Iterable[dict[str, Any]]) -> None:
        """Raise IndexDamaged if a server's inner products are none of what it holds: then they would bound nothing."""
        for hit in hits:
            has = hit["entity"][SPARSE]
            product = sum(its * has.get(number, 0.0) for number, its in self._vector.items())
            if not abs(hit["distance"] - product) <= self._slack * product:
                raise IndexDamaged(
                    f"the server's inner product for the words of passage {hit['entity'][PASSAGE]} is wrong. Is it "
                    f"Milvus 2.6, or milvus-lite 3.2.2, or newer? Else: {layout.WAY_OUT}"
                )

    def _chosen(self, passages: Sequence[int], among: Ids | None) -> Sequence[int]:
        """Those of some passages that are among others, which are given by an expression."""
        where = _where(among)
        return (
            [row[PASSAGE] for row in rows_of(self._view, passages, [PASSAGE], where)] if where else passages
        )

    def _load(self, passages: Iterable[int]) -> None:
        missing = [passage for passage in passages if passage not in self._known]
        self._take(rows_of(self._view, missing, OF_WORDS))

    def _take(self, rows: Iterable[dict[str, Any]]) -> None:
        """Make the addends of passages, of their words."""
        state = self._view.generation
        for row in rows:
            here, passage = frequencies_of(row, state.reference), row[PASSAGE]
            often = [term.often.get(passage, 0) or here.get(term.number, 0) for term in self.terms]
            its_norms = norms(np.full(len(often), float(row[LENGTH])), state.mean)
            self._known[passage] = self._weights * saturations(np.array(often, dtype=np.float64), its_norms)


def ranked(view: View, vector: Mapping[int, float], least: float = 0.0, where: str = "") -> dict[int, float]:
    """Passage -> what a server gives it, of all to which it gives at least this."""

    def ask(part: str) -> list[dict[str, Any]]:
        return _search(view, vector, layout.MOST_HITS, ranges.both(where, part))

    def is_cut(hits: list[dict[str, Any]]) -> bool:
        return len(hits) == layout.MOST_HITS and hits[-1]["distance"] >= least

    def ids_of(hits: list[dict[str, Any]]) -> list[int]:
        return [hit["entity"][PASSAGE] for hit in hits]

    parts = ranges.in_parts(ask, PASSAGE, is_cut, ids_of)
    return {hit["entity"][PASSAGE]: hit["distance"] for part in parts for hit in part}


def _search(
    view: View, vector: Mapping[int, float], limit: int, where: str = "", *, words: bool = False
) -> list[dict[str, Any]]:
    return view.client.search(
        view.collection("passages"), SPARSE, dict(vector), limit, filter=view.there(where),
        output_fields=list(OF_WORDS if words else (PASSAGE,)), params={"drop_ratio_search": 0.0},
    )  # fmt: skip


def rows_of(
    view: View, passages: Sequence[int], fields: Sequence[str], where: str = ""
) -> Iterator[dict[str, Any]]:
    """The rows of those of some passages that are there, in no order."""
    most = min(_AT_ONCE, layout.MOST_HITS)
    for start in range(0, len(passages), most):
        chunk = ranges.both(f"{PASSAGE} in {list(passages[start : start + most])}", where)
        rows = view.client.query(view.collection("passages"), view.there(chunk), fields)
        if len({row[PASSAGE] for row in rows}) < len(rows):
            raise damaged("a passage, which has two versions in one state,")
        yield from rows


def _where(among: Ids | None) -> str:
    """The expression of what a filter passes; "" for no filter."""
    return "" if among is None else str(among.expression)  # type: ignore[attr-defined]
