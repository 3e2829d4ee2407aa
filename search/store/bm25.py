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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.postings import PostingsBlock, build_block
from search.store.terms import IndexTerm, Stemmer
from search.store.word_forms import WordForm

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Ids: TypeAlias = NDArray[np.int64]
    Scores: TypeAlias = NDArray[np.float64]
    # Returns the `indexable` texts of passages, in the order of their IDs.
    Texts: TypeAlias = Callable[[Ids], Iterable[str]]

_K1, _B, _MAX_LENGTH_RATIO = 1.2, 0.75, 1.5
# Rarest terms that define `scale`; chosen with benchmarks/quality.py and folders.py.
SCALE_TERMS = 3
_PHRASE_BATCH = 4096  # texts that are searched for a phrase at a time
_MAX_CACHED_TERMS = 256
_USES_OF_A_QUERY = 2  # by the command `query`, for the ranking and for the words that it prints
# One passage in so many is sampled for a lower bound of the n best scores.
_SAMPLE_STEP = 16
_MIN_SCORE = np.nextafter(0.0, 1.0)
_NO_POSTINGS: tuple[Any, Any] = (np.empty(0, dtype=np.uint16), np.empty(0, dtype=np.uint8))


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
    return max(best, (_K1 + 1) * sum(heapq.nlargest(SCALE_TERMS, weights)))


def discriminative(terms: Sequence[IndexTerm], counts: Sequence[int], passages: int) -> list[IndexTerm]:
    """Return the discriminative terms: those in at least one and at most half of the passages.

    BM25 gives a term in more than half of all passages almost no weight; such terms are used only if there
    are no others.
    """
    counted = list(zip(terms, counts, strict=True))
    rare = [term for term, count in counted if 0 < count <= passages / 2]
    return rare or [term for term, count in counted if count]


def norms(lengths: Scores, mean: float) -> Scores:
    """Return the (n,) length norms of passages: BM25's denominator is a term's frequency plus the norm.

    Args:
        lengths: (n,) lengths of the passages in tokens; overwritten.
        mean: mean length of all passages.
    """
    lengths /= mean or 1.0  # in place: a million passages take 8 MB
    np.minimum(lengths, _MAX_LENGTH_RATIO, out=lengths)
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
        postings: block number -> the rows of the block that contain the term, increasing, and the term's frequency in
            each. Deleted passages are included.
        count: number of passages with the term that are not deleted.
        weight: inverse document frequency of the term.
    """

    postings: dict[int, tuple[NDArray[Any], NDArray[Any]]]
    count: int
    weight: float


class KeywordIndex:
    """Postings of all passages in one state of an index. Thread-safe.

    Attributes:
        passages: number of passages that are not deleted.
        ids: (n,) IDs of all passages in the blocks, increasing; deleted ones are included.
        uses: number of `KeywordScores` that were computed.
        stays_mapped: False for the first ones; until then, the memory of mapped files is returned to the system after
            each use, as for `Codes`.
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
        masks = zip(self._starts, alive, strict=False)
        deleted = [start + np.flatnonzero(~living) for start, living in masks if living is not None]
        self._deleted = np.concatenate([np.empty(0, dtype=np.int64), *deleted])
        self.passages = len(self.ids) - len(self._deleted)
        self._cache: dict[tuple[tuple[str, ...], tuple[WordForm, ...]], TermHits] = {}
        self.uses, self.stays_mapped = 0, False

    def release(self) -> None:
        """Return the memory of mapped files to the system."""
        for block in self._blocks:
            block.release()

    def hits(self, term: IndexTerm, texts: Texts) -> TermHits:
        """Return the passages that contain a term; the result is cached.

        Raises:
            IndexDamaged: a block is damaged.
        """
        key = term.stems, term.forms
        hits = self._cache.get(key)
        if hits is None:
            hits = self._search(term, texts)
            if len(self._cache) >= _MAX_CACHED_TERMS:
                self._cache = {}
            self._cache[key] = hits
        return hits

    def sums(self, terms: Iterable[TermHits]) -> Scores:
        """Return the (n,) BM25 scores of all passages, in the order of `ids`.

        The score is 0 for deleted passages and for passages without any of the terms.
        """
        sums = np.zeros(len(self.ids))
        for term in terms:
            for number, (rows, frequencies) in term.postings.items():
                block, rows = slice(*self._starts[number : number + 2]), rows.astype(np.intp)
                added = saturations(frequencies.astype(np.float64), self._norms[block][rows])
                sums[block][rows] += term.weight * added
            if not self.stays_mapped:
                self.release()
        sums[self._deleted] = 0
        return sums

    def weighted_sums(self, weights: Mapping[bytes, float], passages: Ids) -> Scores:
        """Return the (n,) sums like BM25 of passages, with weights of one's own for some stems.

        Args:
            passages: (n,) passages, all of them in `ids`.
        """
        terms = []
        for stem, weight_of_stem in weights.items():
            entries = {number: block.find(stem) for number, block in enumerate(self._blocks)}
            postings = {number: entry for number, entry in entries.items() if entry is not None}
            terms.append(TermHits(postings, 0, weight_of_stem))
        return self.sums(terms)[np.searchsorted(self.ids, passages)]

    def count_of(self, stem: bytes) -> int:
        """Return the number of passages with a stem; deleted ones are included."""
        entries = (block.find(stem) for block in self._blocks)
        return sum(len(entry[0]) for entry in entries if entry is not None)

    def has(self, stem: str) -> bool:
        """Return True if a passage has a stem; deleted ones are included."""
        return any(block.find(stem) is not None for block in self._blocks)

    def containing(self, part: str) -> list[str]:
        """Return the stems that contain a text, without duplicates, in order."""
        sought = part.encode("utf-8", "surrogatepass")
        stems = {stem for block in self._blocks for stem in block.containing(sought)}
        return [stem.decode("utf-8", "replace") for stem in sorted(stems)]

    def living(self, hits: TermHits) -> Ids:
        """Return the increasing IDs of the undeleted passages that contain a term."""
        positions = (
            self._starts[number] + rows.astype(np.intp) for number, (rows, _) in hits.postings.items()
        )
        return self.ids[np.setdiff1d(np.concatenate([np.empty(0, np.intp), *positions]), self._deleted)]

    def addends(self, term: TermHits, positions: Ids) -> Scores:
        """Return a term's (m,) addends to the BM25 of the passages at m positions in `ids`."""
        values = np.zeros(len(positions))
        numbers = np.searchsorted(self._starts, positions, side="right") - 1
        for number, (rows, frequencies) in term.postings.items():
            in_block = np.flatnonzero(numbers == number)
            # The type of the rows; with another type they would be copied.
            targets = (positions[in_block] - self._starts[number]).astype(np.uint16)
            entries = np.minimum(np.searchsorted(rows, targets), len(rows) - 1)
            present = rows[entries] == targets
            in_block, entries = in_block[present], entries[present]
            norms_in_block = self._norms[positions[in_block]]
            added = saturations(frequencies[entries].astype(np.float64), norms_in_block)
            values[in_block] = term.weight * added
        return values

    def sums_of_texts(self, terms: Mapping[IndexTerm, TermHits], texts: Sequence[str]) -> Scores:
        """Return the (n,) BM25 scores of `indexable` texts that are not in the index, with the index's statistics.

        Args:
            terms: the terms, with their hits in this index, whose weights count.
        """
        block = PostingsBlock(build_block(self._stemmer, list(enumerate(texts))))
        apart = KeywordIndex(self._stemmer, [block], [None])
        norms_of_texts = norms(block.lengths.astype(np.float64), self._mean_length)
        sums = np.zeros(len(texts))
        for term, hits in terms.items():
            hits_in_texts = apart.hits(term, lambda ids: (texts[id_] for id_ in ids.tolist()))
            for rows, frequencies in hits_in_texts.postings.values():
                added = saturations(frequencies.astype(np.float64), norms_of_texts[rows])
                sums[rows] += hits.weight * added
        return sums

    @cached_property
    def _mean_length(self) -> float:
        """Mean length of the passages that are not deleted."""
        lengths = np.concatenate([np.empty(0), *(block.lengths for block in self._blocks)])
        return float((lengths.sum() - lengths[self._deleted].sum()) / max(1, self.passages))

    @cached_property
    def _norms(self) -> Scores:
        lengths = np.concatenate([np.empty(0), *(block.lengths for block in self._blocks)])
        return norms(lengths, self._mean_length)

    def _search(self, term: IndexTerm, texts: Texts) -> TermHits:
        count, postings = 0, {}
        for number, (block, alive) in enumerate(zip(self._blocks, self._alive, strict=True)):
            by_stem = [block.find(stem) for stem in dict.fromkeys(term.stems)]
            present = [entry for entry in by_stem if entry is not None]
            is_present = len(present) == max(1, len(by_stem))
            if not is_present and not term.forms:
                continue
            entry = present[0] if is_present else _NO_POSTINGS
            if is_present and len(term.stems) > 1:
                rows = reduce(np.intersect1d, (rows for rows, _ in present))
                rows = rows if alive is None else rows[alive[rows]]
                entry = self._in_a_row(block, rows, term.stems, texts)
            entry = _with_forms(entry, block, term.forms)
            if len(entry[0]):
                postings[number] = entry
            count += len(entry[0]) if alive is None else int(np.count_nonzero(alive[entry[0]]))
        return TermHits(postings, count, weight(count, self.passages))

    def _in_a_row(
        self, block: PostingsBlock, rows: NDArray[Any], stems: Sequence[str], texts: Texts
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the `rows` whose texts contain the stems one after another, and how often each row contains them."""
        frequencies = np.zeros(len(rows), dtype=np.int64)
        for start, end in pairwise([*range(0, len(rows), _PHRASE_BATCH), len(rows)]):
            counts = self._stemmer.in_a_row(texts(block.ids[rows[start:end]]), stems)
            frequencies[[start + number for number in counts]] = list(counts.values())
        return rows[frequencies > 0], frequencies[frequencies > 0]


def _with_forms(
    entry: tuple[NDArray[Any], NDArray[Any]], block: PostingsBlock, forms: Sequence[WordForm]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add the passages of a block that contain forms of a term.

    The frequency of a term in a passage is the highest of the term as typed and of its inflected forms, which may be
    the same words, plus the frequencies of compounds times their shares.
    """
    postings_of = [(form, block.find(form.stem)) for form in forms]
    entries = [(form, *postings) for form, postings in postings_of if postings is not None]
    if not entries:
        return entry
    rows = reduce(np.union1d, (rows for _, rows, _ in entries), entry[0]).astype(np.uint16)
    frequencies = np.zeros(len(rows))
    frequencies[np.searchsorted(rows, entry[0])] = entry[1]
    for form, rows_of_form, times in sorted(entries, key=lambda item: -item[0].share):
        at = np.searchsorted(rows, rows_of_form)
        if form.share == 1:
            frequencies[at] = np.maximum(frequencies[at], times)
        else:
            frequencies[at] += form.share * times
    return rows, frequencies


class KeywordScores:
    """Keyword scores of the passages that contain any of the query's terms.

    The keyword score of a passage is its BM25 divided by `scale`, in [0, 1].

    Attributes:
        scale: the BM25 score that counts as a keyword score of 1, see the function `scale`. It is computed from all
            terms, also the ignored ones, and from all passages, also those that a filter excludes. 1 if there are no
            terms.
    """

    scale: float

    def __init__(
        self, index: KeywordIndex, all_terms: Sequence[TermHits], terms: Sequence[TermHits]
    ) -> None:
        """
        Args:
            all_terms: all terms; they define the scale.
            terms: the terms that are not ignored.
        """
        self._index, self._terms = index, terms
        scores = index.sums(all_terms)
        weights = [term.weight for term in all_terms]
        self.scale = scale(float(scores.max(initial=0.0)), weights) if all_terms else 1.0
        if len(terms) < len(all_terms):
            scores = index.sums(terms)
        scores /= self.scale
        self._scores = scores
        index.uses += 1
        index.stays_mapped = index.uses >= _USES_OF_A_QUERY

    def best(self, n: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Return IDs and scores of the n best passages, best first; equal scores in the order of IDs."""
        bound, sample = _MIN_SCORE, self._scores[::_SAMPLE_STEP]
        if among is None and n <= len(sample):
            bound = max(bound, np.partition(sample, -n)[-n])  # lower bound of the n best scores
        ids, scores = self.at_least(bound, among)
        if len(ids) > n:
            enough = scores >= np.partition(scores, -n)[-n]
            ids, scores = ids[enough], scores[enough]
        first = np.lexsort((ids, -scores))[:n]
        return ids[first], scores[first]

    def at_least(self, score: float, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Return the increasing IDs and the scores of all passages with at least this score."""
        positions = np.flatnonzero(self._scores >= max(score, _MIN_SCORE))
        if among is not None:
            positions = positions[np.isin(self._index.ids[positions], among)]
        return self._index.ids[positions], self._scores[positions]

    def of(self, passages: Ids) -> Scores:
        """Return the (n,) scores of passages, in their order; 0 for a passage without any of the terms."""
        positions, present = self._positions(passages)
        if not present.any():
            return np.zeros(len(passages))
        return np.where(present, self._scores[positions], 0.0)

    def addends(self, passages: Ids) -> Scores:
        """Return the (n, terms) addends of the terms that are not ignored.

        The sum of a row divided by `scale` is the passage's score.
        """
        positions, present = self._positions(passages)
        values = np.zeros((len(passages), len(self._terms)))
        for number, term in enumerate(self._terms):
            values[present, number] = self._index.addends(term, positions[present])
        return values

    def _positions(self, passages: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        """Return each passage's position in `ids`, and a mask: True if it is in `ids` and contains a term."""
        ids = self._index.ids
        if not len(ids):
            return np.zeros(len(passages), dtype=np.int64), np.zeros(len(passages), dtype=bool)
        positions = np.minimum(np.searchsorted(ids, passages), len(ids) - 1)
        return positions, (ids[positions] == passages) & (self._scores[positions] > 0)
