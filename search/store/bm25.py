"""BM25 of the passages of blocks of words, as FTS5's function of that name has it.

Okapi BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009, section 3.4). It is a sum over terms; a term's
weight is log((N - n + 0.5) / (n + 0.5)) for n of N passages, and at least 1e-6. N, n and the mean length are of the
living passages of all blocks.

Scores are summed in one array of all passages of the blocks, by position: a term is added where it is, and nothing is
sorted.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.postings import Block
from search.store.terms import Stemmer, Term

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Ids: TypeAlias = NDArray[np.int64]
    Scores: TypeAlias = NDArray[np.float64]
    # What is `indexable` of passages, in the order of their ids.
    Texts: TypeAlias = Callable[[Ids], Iterable[str]]

_K1, _B, _LEAST_WEIGHT = 1.2, 0.75, 1e-6
CARRYING = 3  # terms; chosen with benchmarks/quality.py and benchmarks/folders.py
_AT_ONCE = 4096  # texts that are searched for a phrase
_MOST_FOUND = 256  # terms that are kept
_SOME = 16  # every so many-th passage tells how good the best are at least
_LEAST = np.nextafter(0.0, 1.0)


def weight(count: int, passages: int) -> float:
    """What a term counts that is in so many of the passages: its inverse document frequency, as FTS5 has it.

    Where an index says that it has fewer passages than the term is in, that is told elsewhere.
    """
    return max(_LEAST_WEIGHT, math.log((max(passages - count, 0) + 0.5) / (count + 0.5)))


def scale(best: float, counts: Iterable[int], passages: int) -> float:
    """The BM25 that is a word part of 1: what the three most telling terms could reach, or the best if that is more.

    A term adds at most its weight times k1 + 1, to a passage that says nothing else. So a word part means the same in
    every query, and where only poor matches exist none of them gets the whole. Few words carry a query: with all of
    them a long one would get next to nothing for its words (benchmarks/README.md).

    Args:
        best: the highest BM25 of all passages.
        counts: in how many passages each term is.
        passages: how many there are.
    """
    weights = (weight(n, passages) for n in counts)
    return max(best, (_K1 + 1) * sum(heapq.nlargest(CARRYING, weights)))


def telling(terms: Sequence[Term], counts: Sequence[int], passages: int) -> list[Term]:
    """Those of the terms that tell passages apart: found in some, and in no more than half of them.

    BM25 gives a term in more than half of all passages next to nothing. Where the query has no other, these are taken.
    """
    there = {term: count for term, count in zip(terms, counts, strict=True) if count}
    return [term for term, count in there.items() if count <= passages / 2] or list(there)


def norms(lengths: Scores, mean: float) -> Scores:
    """(n,) what is added to a term's frequency, by the lengths of passages, which are overwritten.

    Args:
        mean: of the lengths of all passages.
    """
    lengths *= _B  # in place: a million passages take 8 MB
    lengths /= mean or 1.0
    lengths += 1 - _B
    lengths *= _K1
    return lengths


def saturations(frequencies: Scores, norms: Scores) -> Scores:
    """What a term adds where it is so often, by its weight; below k1 + 1."""
    return frequencies * (_K1 + 1) / (frequencies + norms)


def frequencies(saturations: Scores, norms: Scores) -> Scores:
    """How often a term is there, as whole numbers, given what `saturations` makes of it, nearly."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.rint(saturations * norms / (_K1 + 1 - saturations))


@dataclass(frozen=True, eq=False)
class Found:
    """Where a term is.

    Attributes:
        places: block number -> rows in it, increasing, and how often each has the term; of deleted passages too.
        count: how many living passages have it.
    """

    places: dict[int, tuple[NDArray[Any], NDArray[Any]]]
    count: int


class Words:
    """The words of one state of an index. Safe between threads.

    Attributes:
        passages: how many there are.
        ids: (n,) increasing, of all passages in the blocks, deleted ones too.
    """

    def __init__(
        self, stemmer: Stemmer, blocks: Sequence[Block], alive: Sequence[NDArray[np.bool_] | None]
    ) -> None:
        """
        Args:
            blocks: their ids follow each other.
            alive: (n,) of each block, which of its passages are there; None for all.
        """
        self._stemmer, self._blocks, self._alive = stemmer, blocks, alive
        self._starts = np.cumsum([0, *(len(block) for block in blocks)])
        self.ids: Ids = np.empty(self._starts[-1], dtype=np.int64)
        for number, block in enumerate(blocks):
            self.ids[self._in(number)] = block.ids
        gone = [
            start + np.flatnonzero(~there)
            for start, there in zip(self._starts.tolist(), alive, strict=False)
            if there is not None
        ]
        self._gone = np.concatenate([np.empty(0, dtype=np.int64), *gone])
        self.passages = len(self.ids) - len(self._gone)
        self._kept: dict[tuple[str, ...], Found] = {}

    def counts(self, terms: Iterable[Term], texts: Texts) -> list[int]:
        """In how many passages each term is."""
        return [self._found(term, texts).count for term in terms]

    def telling(self, terms: Iterable[Term], texts: Texts) -> list[Term]:
        """As `telling`, of these passages."""
        found = list(terms)
        return telling(found, self.counts(found, texts), self.passages)

    def matches(self, terms: Sequence[Term], texts: Texts, without: Collection[Term] = ()) -> Matches:
        """The passages that have any of the terms but those that are left out.

        Raises:
            IndexDamaged: a block is damaged where it is asked.
        """
        found = {term: self._found(term, texts) for term in terms}
        return Matches(self, list(found.values()), [found[term] for term in terms if term not in without])

    def scores(self, terms: Sequence[Found]) -> Scores:
        """(n,) the BM25 of all passages, in the order of their ids; 0 for those that are deleted or have no term."""
        sums = np.zeros(len(self.ids))
        for term in terms:
            for number, (rows, frequencies) in term.places.items():
                places, here = rows.astype(np.intp), self._in(number)
                sums[here][places] += self._addends(term, frequencies, self._norms[here][places])
        sums[self._gone] = 0
        return sums

    def addends(self, term: Found, places: Ids) -> Scores:
        """(m,) what a term adds at some positions among the ids."""
        found = np.zeros(len(places))
        numbers = np.searchsorted(self._starts, places, side="right") - 1
        for number, (rows, frequencies) in term.places.items():
            here = np.flatnonzero(numbers == number)
            if not len(here):
                continue
            wanted = (places[here] - self._starts[number]).astype(
                np.uint16
            )  # as the rows: else these are copied
            at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
            there = rows[at] == wanted
            here, at = here[there], at[there]
            found[here] = self._addends(term, frequencies[at], self._norms[places[here]])
        return found

    def _addends(self, term: Found, frequencies: NDArray[Any], norms: Scores) -> Scores:
        return weight(term.count, self.passages) * saturations(frequencies.astype(np.float64), norms)

    def _in(self, number: int) -> slice:
        """Where the passages of a block are among the ids."""
        return slice(self._starts[number], self._starts[number + 1])

    @cached_property
    def _norms(self) -> Scores:
        return norms(self._lengths(), self.mean)

    @cached_property
    def mean(self) -> float:
        """How long passages are on average, in tokens."""
        lengths = self._lengths()
        return float((lengths.sum() - lengths[self._gone].sum()) / max(1, self.passages))

    def _lengths(self) -> Scores:
        """(n,) of all passages in the blocks."""
        return np.concatenate([np.empty(0), *(block.lengths for block in self._blocks)])

    def blocks(self) -> Iterator[tuple[Block, NDArray[np.bool_]]]:
        """The blocks, each with which of its passages are there."""
        for block, there in zip(self._blocks, self._alive, strict=True):
            yield block, np.ones(len(block), dtype=bool) if there is None else there

    def _found(self, term: Term, texts: Texts) -> Found:
        """As `_sought`, kept for a while."""
        found = self._kept.get(term.stems)
        if found is None:
            found = self._sought(term, texts)
            if len(self._kept) >= _MOST_FOUND:
                self._kept = {}
            self._kept[term.stems] = found
        return found

    def _sought(self, term: Term, texts: Texts) -> Found:
        count, places = 0, {}
        for number, (block, alive) in enumerate(zip(self._blocks, self._alive, strict=True)):
            each = [block.find(stem) for stem in dict.fromkeys(term.stems)]
            here = [found for found in each if found is not None]
            if len(here) < max(1, len(each)):
                continue
            found = here[0]
            if len(term.stems) > 1:
                rows = reduce(np.intersect1d, (rows for rows, _ in here))
                rows = rows if alive is None else rows[alive[rows]]
                found = self._in_a_row(block, rows, term.stems, texts)
            if len(found[0]):
                places[number] = found
            count += len(found[0]) if alive is None else int(np.count_nonzero(alive[found[0]]))
        return Found(places, count)

    def _in_a_row(
        self, block: Block, rows: NDArray[Any], stems: Sequence[str], texts: Texts
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Those rows of a block in whose texts stems follow each other, and how often."""
        times = np.zeros(len(rows), dtype=np.int64)
        for start, end in pairwise([*range(0, len(rows), _AT_ONCE), len(rows)]):
            found = self._stemmer.in_a_row(texts(block.ids[rows[start:end]]), stems)
            times[[start + number for number in found]] = list(found.values())
        return rows[times > 0], times[times > 0]


class Matches:
    """The passages that have any of some terms; see `search.store.protocol.Matches`."""

    def __init__(self, words: Words, every: Sequence[Found], terms: Sequence[Found]) -> None:
        """
        Args:
            every: all terms, of which the scale is.
            terms: those of them that are not left out.
        """
        self._words, self._terms = words, terms
        sums = words.scores(every)
        best = float(sums.max()) if len(sums) else 0.0
        self.scale = scale(best, (term.count for term in every), words.passages) if every else 1.0
        if len(terms) < len(every):
            sums = words.scores(terms)
        sums /= self.scale
        self._parts = sums

    def best(self, n: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        part, some = _LEAST, self._parts[::_SOME]
        if among is None and n <= len(some):
            part = max(part, np.partition(some, -n)[-n])  # the n best have at least this
        places = self._chosen(part, among)
        parts = self._parts[places]
        if len(places) > n:
            enough = parts >= np.partition(parts, -n)[-n]
            places, parts = places[enough], parts[enough]
        first = np.lexsort((places, -parts))[:n]
        return self._words.ids[places[first]], parts[first]

    def at_least(self, part: float, among: Ids | None = None) -> tuple[Ids, Scores]:
        places = self._chosen(max(part, _LEAST), among)
        return self._words.ids[places], self._parts[places]

    def parts(self, passages: Ids) -> Scores:
        places, there = self._places(passages)
        found = np.zeros(len(passages))
        found[there] = self._parts[places]
        return found

    def addends(self, passages: Ids) -> Scores:
        places, there = self._places(passages)
        found = np.zeros((len(passages), len(self._terms)))
        for number, term in enumerate(self._terms):
            found[there, number] = self._words.addends(term, places)
        return found

    def _chosen(self, part: float, among: Ids | None) -> NDArray[np.intp]:
        """The positions of those that have at least this part, increasing."""
        places = np.flatnonzero(self._parts >= part)
        return places if among is None else places[np.isin(self._words.ids[places], among)]

    def _places(self, passages: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        """The positions of those of some passages that have a term, and which these are."""
        ids = self._words.ids
        if not len(ids):
            return np.empty(0, dtype=np.int64), np.zeros(len(passages), dtype=bool)
        places = np.minimum(np.searchsorted(ids, passages), len(ids) - 1)
        there = (ids[places] == passages) & (self._parts[places] > 0)
        return places[there], there
