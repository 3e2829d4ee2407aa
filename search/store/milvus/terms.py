"""The words of an index in a folder as a server is given them: terms with numbers, and a sparse vector of each passage.

A *term* here is a stem, called by its key (`key_of`). It gets a number when it is first published, and keeps it as long
as it is in a passage. A passage's sparse vector has, at the number of each of its terms, what BM25 makes of how often
it is there (bm25.saturations): with the mean length that all was first written with, the `reference`, as it could not
stay true with a mean that changes. From that number, the passage's length and the reference a reader gets back how
often a term is there (`frequencies_of`), and with it the very sums of the index in the folder.

What a publisher does, with `known` as it was after the last time (nothing under a new stamp):

    words = snapshot.indexed                            # of the SQLite snapshot that is published
    if not holds(words.mean, reference): ...            # all is written anew, under a new stamp
    terms = Terms(words, known)
    for passage, fields in terms.vectors(new_ids, reference): ...      # LENGTH, SPARSE, SPARSE_CHECKSUM, of its row
    client.put(view.collection("terms"), list(terms.rows(born)))
    ... set DIED of terms.dying() ...
    known |= terms.known(born)         # those that changed; those in 0 passages stay, for their numbers

Checksums: a passage's SPARSE_CHECKSUM is of its id, its length, and the number and frequency of each of its terms; a
term's CHECKSUM is of its key, number, count and BORN. A reader compares both whenever it uses such a row. So what is
wrong in a row is an error, but for a row that the server itself does not find.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from search.errors import IndexDamaged, SearchError
from search.store.bm25 import frequencies, norms, saturations
from search.store.checksums import row_checksum
from search.store.milvus.layout import (
    ALIVE,
    BORN,
    CHECKSUM,
    COUNT,
    DIED,
    KEY,
    LENGTH,
    NOTHING,
    NUMBER,
    PASSAGE,
    SPARSE,
    SPARSE_CHECKSUM,
    TERM,
    WAY_OUT,
)
from search.store.milvus.rows import key as row_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.bm25 import Ids, Words
    from search.store.postings import Block

_MOST_MOVED = 0.1  # the mean length, from the reference: sparse search gives bounds that far apart
_LONGEST_KEPT = 100  # bytes of a stem
_NO_WORD = {
    0: 1.0
}  # the vector of a passage without one: a server takes none that is empty, and no term has number 0
_MOST_OFTEN = 2**31
_NEARLY = 1e-6  # of a saturation: float32, whoever rounds it


class Known(NamedTuple):
    """What is published of a term: its number, in how many passages it is, and since which generation that is so."""

    number: int
    passages: int
    born: int

    @property
    def key(self) -> str:
        """Of its row."""
        return row_key(self.number, self.born)


def key_of(stem: bytes) -> str:
    """What a stem, in UTF-8, is called: hexadecimal digits; of one that is very long, those of its hash."""
    return stem.hex() if len(stem) <= _LONGEST_KEPT else f"#{hashlib.sha256(stem).hexdigest()}"


def holds(mean: float, reference: float) -> bool:
    """Whether sparse vectors that were made with a reference are still good enough for a mean length."""
    return abs(mean - reference) <= _MOST_MOVED * reference


class Terms:
    """The terms of one state of an index in a folder, numbered as a server has them.

    Attributes:
        counts: key -> in how many passages it is, of those that are in any.
        numbers: key -> number, of these and of all that were known.
    """

    def __init__(self, words: Words, known: Mapping[str, Known]) -> None:
        """
        Args:
            known: what is published, by key, of all terms.

        Raises:
            IndexDamaged: the words of the index are.
        """
        self._words, self._known = words, known
        self.counts: dict[str, int] = {}
        for block, alive in words.blocks():
            for key, count in _counted(block, alive):
                self.counts[key] = self.counts.get(key, 0) + count
        self.numbers = {key: term.number for key, term in known.items()}
        highest = max(self.numbers.values(), default=0)
        new = sorted(self.counts.keys() - self.numbers.keys())
        self.numbers |= {key: number for number, key in enumerate(new, highest + 1)}

    def known(self, born: int) -> dict[str, Known]:
        """Those that are not as they were published, as they are when this is; one that is gone is in 0 passages."""
        found = {key: Known(self.numbers[key], count, born) for key, count in self.counts.items()}
        found |= {
            key: term._replace(passages=0, born=born)
            for key, term in self._known.items()
            if key not in self.counts
        }
        nothing = Known(0, 0, 0)
        return {
            key: term
            for key, term in found.items()
            if self._known.get(key, nothing).passages != term.passages
        }

    def rows(self, born: int) -> Iterator[dict[str, Any]]:
        """The rows to be written: of those that are new, or in another number of passages than before."""
        return (term_row(key, term) for key, term in self.known(born).items() if term.passages)

    def dying(self) -> list[str]:
        """The keys of the rows that are of no use any more when those are written."""
        changed = self.known(0).keys() & self._known.keys()
        return sorted(self._known[key].key for key in changed if self._known[key].passages)

    def vectors(self, passages: Ids, reference: float) -> Iterator[tuple[int, dict[str, Any]]]:
        """Those fields of the rows of passages that are of words, by increasing ids; those that are there.

        Args:
            passages: increasing.
            reference: the mean length to make saturations with.

        Raises:
            IndexDamaged: the words of the index are.
        """
        for block, alive in self._words.blocks():
            ids = block.ids
            wanted = np.flatnonzero(alive & np.isin(ids, passages))
            if len(wanted):
                yield from self._vectors_of(block, ids, wanted, reference)

    def _vectors_of(
        self, block: Block, ids: Ids, wanted: NDArray[np.intp], reference: float
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        stems, counts, rows, often, *_ = block.postings()
        numbers = np.array([self.numbers.get(key_of(stem), 0) for stem in stems], dtype=np.uint32)
        order = np.argsort(rows, kind="stable")
        numbers, often = np.repeat(numbers, counts)[order], often[order]
        ends = np.cumsum(np.bincount(rows, minlength=len(ids)))
        lengths = block.lengths.astype(np.int64)
        for place in wanted.tolist():
            here = slice(ends[place - 1] if place else 0, ends[place])
            yield (
                int(ids[place]),
                word_fields(int(ids[place]), int(lengths[place]), numbers[here], often[here], reference),
            )


def _counted(block: Block, alive: NDArray[np.bool_]) -> Iterator[tuple[str, int]]:
    """In how many living passages of a block each of its terms is, of those that are in any."""
    stems, counts, rows, *_ = block.postings()
    if not alive.all():
        numbers = np.repeat(np.arange(len(stems)), counts)
        counts = np.bincount(numbers[alive[rows]], minlength=len(stems))
    return ((key_of(stem), count) for stem, count in zip(stems, counts.tolist(), strict=True) if count)


def word_fields(
    passage: int, length: int, numbers: NDArray[Any], often: NDArray[Any], reference: float
) -> dict[str, Any]:
    """LENGTH, SPARSE and SPARSE_CHECKSUM of the row of a passage.

    Args:
        numbers, often: of its terms, in any order, and how often each is there.

    Raises:
        SearchError: a term is there so often that it could not be told from its saturation.
    """
    order = np.argsort(numbers)
    numbers, often = numbers[order].astype(np.int64), often[order].astype(np.int64)
    its_norms = norms(np.full(len(numbers), float(length)), reference)
    values = saturations(often.astype(np.float64), its_norms).astype(np.float32)
    if (frequencies(values.astype(np.float64), its_norms) != often).any():
        raise SearchError(
            f"passage p{passage} cannot be put on a Milvus server: a word is in it {int(often.max()):,} times. Leave "
            "its file out with --exclude."
        )
    return {
        LENGTH: length,
        SPARSE: dict(zip(numbers.tolist(), values.tolist(), strict=True)) or dict(_NO_WORD),
        SPARSE_CHECKSUM: _checksum(passage, length, numbers, often),
    }


OF_WORDS = (PASSAGE, LENGTH, SPARSE, SPARSE_CHECKSUM)  # that `frequencies_of` needs


def frequencies_of(row: Mapping[str, Any], reference: float) -> dict[int, int]:
    """How often each term is in a passage, by number, given the fields OF_WORDS of its row.

    Raises:
        IndexDamaged: the row is not what was written.
    """
    sparse, length = row[SPARSE], row[LENGTH]
    numbers = np.array(sorted(sparse.keys() - _NO_WORD.keys()), dtype=np.int64)
    values = np.array([sparse[number] for number in numbers.tolist()], dtype=np.float64)
    its_norms = norms(np.full(len(numbers), float(length)), reference)
    often = np.clip(np.nan_to_num(frequencies(values, its_norms)), 0, _MOST_OFTEN)
    there = np.abs(saturations(often, its_norms) - values) <= _NEARLY * values
    if (
        not there.all()
        or _checksum(row[PASSAGE], length, numbers, often.astype(np.int64)) != row[SPARSE_CHECKSUM]
    ):
        raise damaged(f"the words of passage p{row[PASSAGE]}")
    return dict(zip(numbers.tolist(), often.astype(np.int64).tolist(), strict=True))


def term_row(key: str, term: Known) -> dict[str, Any]:
    """The row of a term."""
    return {
        KEY: term.key, BORN: term.born, DIED: ALIVE, TERM: key, NUMBER: term.number, COUNT: term.passages,
        CHECKSUM: row_checksum(key, *term), NOTHING: [0.0, 0.0],
    }  # fmt: skip


TERM_FIELDS = (BORN, TERM, NUMBER, COUNT, CHECKSUM)  # that `known_of` needs


def known_of(row: Mapping[str, Any]) -> tuple[str, Known]:
    """The key of a term and what is published of it, given its row.

    Raises:
        IndexDamaged: the row is not what was written.
    """
    term = Known(row[NUMBER], row[COUNT], row[BORN])
    if row_checksum(row[TERM], *term) != row[CHECKSUM]:
        raise damaged(f"the row of term {term.number}")
    return row[TERM], term


def damaged(what: str) -> IndexDamaged:
    return IndexDamaged(f"{what} on the Milvus server is not what was written. {WAY_OUT}")


def _checksum(passage: int, length: int, numbers: NDArray[np.int64], often: NDArray[np.int64]) -> int:
    return row_checksum(passage, length, numbers.astype("<i8").tobytes(), often.astype("<i8").tobytes())
