"""BM25 scores of passages, computed from blocks of postings.

Okapi BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009, section 3.4). It is a sum over terms;
the weight of a term that occurs in n of N passages is log(1 + (N - n + 0.5) / (n + 0.5)), as in Lucene.
N, n and the mean length count only passages that are not deleted. A passage counts as at most 1.5 times
as long as the mean. Without this limit, the many short rows of a table would reduce the mean so much
that ordinary texts would have keyword scores near 0.

Scores are added up in one array over all passages of the blocks; nothing is sorted.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.postings import PostingsBlock
from search.store.terms import IndexTerm, Stemmer

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Ids: TypeAlias = NDArray[np.int64]
    Scores: TypeAlias = NDArray[np.float64]
    # Returns the `indexable` texts of passages, in the order of their IDs.
    Texts: TypeAlias = Callable[[Ids], Iterable[str]]

_K1, _B, _LONGEST = 1.2, 0.75, 1.5
# Rarest terms that define `scale`; chosen with benchmarks/quality.py and folders.py.
CARRYING = 3
_AT_ONCE = 4096  # texts that are searched for a phrase
_MOST_KEPT = 256  # cached terms
# One passage in so many is sampled for a lower bound of the n best scores.
_SOME = 16
_LEAST = np.nextafter(0.0, 1.0)


def weight(count: int, passages: int) -> float:
    """Inverse document frequency of a term that occurs in `count` passages, as in Lucene; above 0.

    A `count` above `passages`, which occurs only in a damaged index, is accepted.
    """
    return math.log1p((max(passages - count, 0) + 0.5) / (count + 0.5))


def scale(best: float, weights: Iterable[float]) -> float:
    """Return the BM25 score that counts as a keyword score of 1.

    It is the highest possible BM25 for the three rarest terms, or the best actual BM25 if that is
    higher. A term adds at most its weight times k1 + 1. Such a bound makes keyword scores comparable
    between queries, and poor matches never get 1. It is limited to three terms, because otherwise the
    passages for a long query would have keyword scores near 0 (benchmarks/README.md).

    Args:
        best: the highest BM25 of all passages.
        weights: weights of the query's terms, as from `weight`.
    """
    return max(best, (_K1 + 1) * sum(heapq.nlargest(CARRYING, weights)))


def discriminative(terms: Sequence[IndexTerm], counts: Sequence[int], passages: int) -> list[IndexTerm]:
    """Return the discriminative terms: those in at least one and at most half of the passages.

    BM25 gives a term in more than half of all passages almost no weight; such terms are used only if there
    are no others.
    """
    each = list(zip(terms, counts, strict=True))
    rare = [term for term, count in each if 0 < count <= passages / 2]
    return rare or [term for term, count in each if count]


def norms(lengths: Scores, mean: float) -> Scores:
    """Return the (n,) length norms of passages: BM25's denominator is a term's frequency plus the norm.

    Args:
        lengths: (n,) lengths of the passages in tokens; overwritten.
        mean: mean length of all passages.
    """
    lengths /= mean or 1.0  # in place: a million passages take 8 MB
    np.minimum(lengths, _LONGEST, out=lengths)
    lengths *= _B
    lengths += 1 - _B
    lengths *= _K1
    return lengths


def saturations(frequencies: Scores, norms: Scores) -> Scores:
    """Return a term's (n,) addends to BM25, not yet multiplied by its weight; each is below k1 + 1.

    Args:
        frequencies: (n,) frequency of the term in each passage.
        norms: (n,) length norms of the passages, from the function `norms`.
    """
    return frequencies * (_K1 + 1) / (frequencies + norms)


@dataclass(frozen=True, eq=False)
class TermHits:
    """Passages that contain a term, and the frequency of the term in each.

    Attributes:
        places: block number -> the rows of the block that contain the term, increasing, and the term's frequency in
            each. Deleted passages are included.
        count: number of passages with the term that are not deleted.
        weight: inverse document frequency of the term.
    """

    places: dict[int, tuple[NDArray[Any], NDArray[Any]]]
    count: int
    weight: float


class Words:
    """The keyword index of one state of an index. Thread-safe.

    Attributes:
        passages: number of passages that are not deleted.
        ids: (n,) IDs of all passages in the blocks, increasing; deleted ones are included.
    """

    def __init__(
        self,
        stemmer: Stemmer,
        blocks: Sequence[PostingsBlock],
        alive: Sequence[NDArray[np.bool_] | None],
    ) -> None:
        """
        Args:
            blocks: blocks of postings, in the order of IDs.
            alive: for each block, an (n,) mask of the passages that are not deleted; None if none is deleted.
        """
        self._stemmer, self._blocks, self._alive = stemmer, blocks, alive
        self._starts = np.cumsum([0, *map(len, blocks)]).tolist()
        self.ids: Ids = np.concatenate([np.empty(0, dtype=np.int64), *(block.ids for block in blocks)])
        each = zip(self._starts, alive, strict=False)
        gone = [start + np.flatnonzero(~living) for start, living in each if living is not None]
        self._gone = np.concatenate([np.empty(0, dtype=np.int64), *gone])
        self.passages = len(self.ids) - len(self._gone)
        self._kept: dict[tuple[str, ...], TermHits] = {}

    def hits(self, term: IndexTerm, texts: Texts) -> TermHits:
        """Return the passages that contain a term; the result is cached.

        Raises:
            IndexDamaged: a block is damaged.
        """
        hits = self._kept.get(term.stems)
        if hits is None:
            hits = self._look_up(term, texts)
            if len(self._kept) >= _MOST_KEPT:
                self._kept = {}
            self._kept[term.stems] = hits
        return hits

    def sums(self, terms: Iterable[TermHits]) -> Scores:
        """Return the (n,) BM25 scores of all passages, in the order of `ids`.

        The score is 0 for deleted passages and for passages without any of the terms.
        """
        sums = np.zeros(len(self.ids))
        for term in terms:
            for number, (rows, often) in term.places.items():
                here, places = slice(*self._starts[number : number + 2]), rows.astype(np.intp)
                added = saturations(often.astype(np.float64), self._norms[here][places])
                sums[here][places] += term.weight * added
        sums[self._gone] = 0
        return sums

    def living(self, hits: TermHits) -> Ids:
        """Return the increasing IDs of the undeleted passages that contain a term."""
        rows = (self._starts[number] + rows.astype(np.intp) for number, (rows, _) in hits.places.items())
        return self.ids[np.setdiff1d(np.concatenate([np.empty(0, np.intp), *rows]), self._gone)]

    def addends(self, term: TermHits, places: Ids) -> Scores:
        """Return a term's (m,) addends to the BM25 of the passages at m positions in `ids`."""
        values = np.zeros(len(places))
        numbers = np.searchsorted(self._starts, places, side="right") - 1
        for number, (rows, often) in term.places.items():
            here = np.flatnonzero(numbers == number)
            # The type of the rows; with another type they would be copied.
            targets = (places[here] - self._starts[number]).astype(np.uint16)
            at = np.minimum(np.searchsorted(rows, targets), len(rows) - 1)
            present = rows[at] == targets
            here, at = here[present], at[present]
            added = saturations(often[at].astype(np.float64), self._norms[places[here]])
            values[here] = term.weight * added
        return values

    @cached_property
    def _norms(self) -> Scores:
        lengths = np.concatenate([np.empty(0), *(block.lengths for block in self._blocks)])
        mean = float((lengths.sum() - lengths[self._gone].sum()) / max(1, self.passages))
        return norms(lengths, mean)

    def _look_up(self, term: IndexTerm, texts: Texts) -> TermHits:
        count, places = 0, {}
        for number, (block, alive) in enumerate(zip(self._blocks, self._alive, strict=True)):
            each = [block.find(stem) for stem in dict.fromkeys(term.stems)]
            here = [entry for entry in each if entry is not None]
            if len(here) < max(1, len(each)):
                continue
            entry = here[0]
            if len(term.stems) > 1:
                rows = reduce(np.intersect1d, (rows for rows, _ in here))
                rows = rows if alive is None else rows[alive[rows]]
                entry = self._in_a_row(block, rows, term.stems, texts)
            if len(entry[0]):
                places[number] = entry
            count += len(entry[0]) if alive is None else int(np.count_nonzero(alive[entry[0]]))
        return TermHits(places, count, weight(count, self.passages))

    def _in_a_row(
        self, block: PostingsBlock, rows: NDArray[Any], stems: Sequence[str], texts: Texts
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the `rows` whose texts contain the stems one after another, and how often each row contains them."""
        times = np.zeros(len(rows), dtype=np.int64)
        for start, end in pairwise([*range(0, len(rows), _AT_ONCE), len(rows)]):
            counts = self._stemmer.in_a_row(texts(block.ids[rows[start:end]]), stems)
            times[[start + number for number in counts]] = list(counts.values())
        return rows[times > 0], times[times > 0]


class Matches:
    """The passages that contain any of the query's terms, ranked by BM25.

    A *part* is a passage's keyword score: its BM25 divided by `scale`, from 0 to 1.

    Attributes:
        scale: the BM25 score that counts as a part of 1, see the function `scale`. It is computed from all terms, also
            the ignored ones, and from all passages, also those that a filter excludes. 1 if there are no terms.
    """

    scale: float

    def __init__(self, words: Words, every: Sequence[TermHits], terms: Sequence[TermHits]) -> None:
        """
        Args:
            every: all terms; they define the scale.
            terms: the terms that are not ignored.
        """
        self._words, self._terms = words, terms
        sums = words.sums(every)
        weights = map(attrgetter("weight"), every)
        self.scale = scale(float(sums.max(initial=0.0)), weights) if every else 1.0
        if len(terms) < len(every):
            sums = words.sums(terms)
        sums /= self.scale
        self._parts = sums

    def best(self, n: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Return IDs and parts of the n best passages, best first; equal parts in the order of IDs."""
        part, some = _LEAST, self._parts[::_SOME]
        if among is None and n <= len(some):
            part = max(part, np.partition(some, -n)[-n])  # lower bound of the n best parts
        ids, parts = self.at_least(part, among)
        if len(ids) > n:
            enough = parts >= np.partition(parts, -n)[-n]
            ids, parts = ids[enough], parts[enough]
        first = np.lexsort((ids, -parts))[:n]
        return ids[first], parts[first]

    def at_least(self, part: float, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Return the increasing IDs and the parts of all passages whose part is at least `part`."""
        places = np.flatnonzero(self._parts >= max(part, _LEAST))
        if among is not None:
            places = places[np.isin(self._words.ids[places], among)]
        return self._words.ids[places], self._parts[places]

    def parts(self, passages: Ids) -> Scores:
        """Return the (n,) parts of passages, in their order; 0 for a passage without any of the terms."""
        places, present = self._places(passages)
        return np.where(present, self._parts[places], 0.0) if present.any() else np.zeros(len(passages))

    def addends(self, passages: Ids) -> Scores:
        """Return the (n, terms) addends of the terms that are not ignored.

        The sum of a row divided by `scale` is the passage's part.
        """
        places, present = self._places(passages)
        values = np.zeros((len(passages), len(self._terms)))
        for number, term in enumerate(self._terms):
            values[present, number] = self._words.addends(term, places[present])
        return values

    def _places(self, passages: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        """Return each passage's position in `ids`, and a mask: True if it is in `ids` and contains a term."""
        ids = self._words.ids
        if not len(ids):
            return np.zeros(len(passages), dtype=np.int64), np.zeros(len(passages), dtype=bool)
        places = np.minimum(np.searchsorted(ids, passages), len(ids) - 1)
        return places, (ids[places] == passages) & (self._parts[places] > 0)
