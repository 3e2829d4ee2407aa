"""BM25 on a Milvus server: the sums of an index in a folder, to their digits.

Sparse search orders passages by saturations that were made with the `reference` (terms.py), so what it says of a
passage is a bound: with the mean length of this state its sum is between that and that times mean by reference, as no
saturation changes by more than its passage's length does. Passages that can be meant by these bounds are fetched, and
their sums are made here, of how often they have each term. Terms of several stems, which stand in no vector, are looked
for in the texts of the passages that have all of them, and scored here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from search.store.bm25 import CARRYING, scale, telling
from search.store.milvus.layout import PASSAGE, TERM
from search.store.milvus.rows import OF_PASSAGE, stored_passage
from search.store.milvus.sums import Found, Sums, ranked, rows_of
from search.store.milvus.terms import OF_WORDS, TERM_FIELDS, Known, damaged, frequencies_of, key_of, known_of
from search.store.terms import Stemmer, Term, indexable

if TYPE_CHECKING:
    from search.store.bm25 import Ids, Scores
    from search.store.milvus.generation import View

_MOST_FOUND = 1024  # terms that are kept
_AT_ONCE = 1000  # terms that are asked for by name
_TEXTS_AT_ONCE = 200


class Words:
    """The words of one state of an index on a server; as `search.store.bm25.Words`. Safe between threads."""

    def __init__(self, view: View, stemmer: Stemmer) -> None:
        self._view, self._stemmer = view, stemmer
        self._kept: dict[tuple[str, ...], Found] = {}

    def counts(self, terms: Sequence[Term]) -> list[int]:
        """In how many passages each term is."""
        return [found.count for found in self._found(terms)]

    def telling(self, terms: Sequence[Term]) -> list[Term]:
        """Those of the terms that tell passages apart."""
        return telling(terms, self.counts(terms), self._view.generation.passages)

    def matches(self, terms: Sequence[Term], without: Collection[Term] = ()) -> Matches:
        """The passages that have any of the terms but those that are left out.

        Raises:
            IndexDamaged: a row that is needed is not what was written.
        """
        every = dict(zip(terms, self._found(terms), strict=True))
        return Matches(
            self._view, list(every.values()), [every[term] for term in terms if term not in without]
        )

    def _found(self, terms: Sequence[Term]) -> list[Found]:
        wanted = dict.fromkeys(term.stems for term in terms)
        kept = self._kept if len(self._kept) + len(wanted) <= _MOST_FOUND else {}
        if new := [stems for stems in wanted if stems not in kept]:
            known = dict(_known(self._view, {stem for stems in new for stem in stems}))
            each = ([known.get(stem) for stem in dict.fromkeys(stems)] for stems in new)
            kept = kept | {stems: self._sought(stems, terms) for stems, terms in zip(new, each, strict=True)}
            self._kept = kept
        return [kept[term.stems] for term in terms]

    def _sought(self, stems: tuple[str, ...], known: Sequence[Known | None]) -> Found:
        terms = [term for term in known if term]
        if len(terms) < max(1, len(known)):
            return Found()
        if len(stems) == 1:
            return Found(terms[0].passages, terms[0].number)
        often = self._in_a_row(stems, terms)
        return Found(len(often), 0, often)

    def _in_a_row(self, stems: Sequence[str], terms: Sequence[Known]) -> dict[int, int]:
        """Passage -> how often stems follow each other in it, of those where they do."""
        rarest = min(terms, key=lambda term: term.passages)
        hits = ranked(self._view, {rarest.number: 1.0})
        if len(hits) != rarest.passages:
            raise damaged(f"the number of passages with term {rarest.number}")
        numbers, reference = {term.number for term in terms}, self._view.generation.reference
        having = [
            row[PASSAGE]
            for row in rows_of(self._view, list(hits), OF_WORDS)
            if frequencies_of(row, reference).keys() >= numbers
        ]
        found: dict[int, int] = {}
        for start in range(0, len(having), _TEXTS_AT_ONCE):
            rows = list(rows_of(self._view, having[start : start + _TEXTS_AT_ONCE], OF_PASSAGE))
            passages = [stored_passage(row, self._view.generation.root) for row in rows]
            texts = (indexable(passage.context, passage.shown) for passage in passages)
            times = self._stemmer.in_a_row(texts, stems)
            found |= {passages[number].id: often for number, often in times.items()}
        return found


class Matches:
    """The passages that have any of some terms; see `search.store.protocol.Matches`."""

    def __init__(self, view: View, every: Sequence[Found], terms: Sequence[Found]) -> None:
        """
        Args:
            every: all terms, of which the scale is.
            terms: those of them that are not left out.
        """
        self._passages, self._every = view.generation.passages, Sums(view, every)
        self._sums = self._every if len(terms) == len(every) else Sums(view, terms)

    @cached_property
    def scale(self) -> float:
        counts = [term.count for term in self._every.terms]
        if not counts:
            return 1.0
        # What that many terms say is below what they could say.
        highest = _best(self._every, 1)[1].tolist() if len(counts) > CARRYING else [0.0]
        return scale(max(highest, default=0.0), counts, self._passages)

    def best(self, n: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        return _best(self._sums, n, self.scale, among)

    def at_least(self, part: float, among: Ids | None = None) -> tuple[Ids, Scores]:
        ids = _array(self._sums.candidates(max(part, 0.0) * self.scale, among))
        parts = self.parts(ids)
        enough = (parts >= part) & (parts > 0)
        return ids[enough], parts[enough]

    def parts(self, passages: Ids) -> Scores:
        return self._sums.sums(passages) / self.scale

    def addends(self, passages: Ids) -> Scores:
        return self._sums.addends(passages)


def _best(sums: Sums, n: int, scale: float = 1.0, among: Ids | None = None) -> tuple[Ids, Scores]:
    """Ids and parts of the n best, best first; equal ones in the order of ids."""
    ids = _array(sums.first(n, among))
    parts = sums.sums(ids) / scale
    least = float(np.partition(parts, -n)[-n]) if len(ids) >= n else 0.0
    ids = _array(sums.candidates(least * scale, among))
    parts = sums.sums(ids) / scale
    first = np.lexsort((ids, -parts))[:n]
    first = first[parts[first] > 0]
    return ids[first], parts[first]


def _known(view: View, stems: Iterable[str]) -> Iterator[tuple[str, Known]]:
    """What is published of stems, of those that are in any passage."""
    keys = {key_of(stem.encode("utf-8", "surrogatepass")): stem for stem in stems}
    asked = sorted(keys)
    for start in range(0, len(asked), _AT_ONCE):
        chunk = ", ".join(f'"{key}"' for key in asked[start : start + _AT_ONCE])
        where = view.there(f"{TERM} in [{chunk}]")
        rows = view.client.query(view.collection("terms"), where, TERM_FIELDS)
        found = dict(map(known_of, rows))
        if len(found) < len(rows) or not found.keys() <= keys.keys():
            raise damaged("what is said of a term")
        yield from ((keys[key], term) for key, term in found.items())


def _array(passages: Sequence[int]) -> Ids:
    return np.array(passages, dtype=np.int64)
