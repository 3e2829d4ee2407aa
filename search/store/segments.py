"""Segments: what is derived of the passages, in immutable files that are quick to search.

A segment is of all passages between two ids, at most 65,536 of them: a FAISS file of 8-bit codes (codes.py) and a file
of their words (postings.py). The passages behind the last segment are the *tail*: their embeddings are read from
index.db, and their words from table `words`, in blocks of the same format. A tail of more than 4,096 passages, and one
where there is no segment yet, becomes a segment at the end of a run, together with those before it that are no larger
than what follows them; a block joins those before it in the same way. So a passage is written anew a few times, and
there are few segments (O'Neil and others 1996, "The log-structured merge-tree"). Passages that are deleted stay where
they are, noted in table `tombstones`, until that is made anew.

A file is written beside the others, forced to disk, renamed; then one transaction names it, and those that it replaces
are named no more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.store import codes
from search.store.files import VECTORS, content_of, damaged, require_no_link
from search.store.postings import Block

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 1 << 16  # passages of a segment
LONGEST_TAIL = 4096


@dataclass(frozen=True)
class Segment:
    """A row of table `segments`.

    Attributes:
        file: the name of its files, but for what they end with.
        first, last: the lowest and the highest id of its passages; all that there are between them are in it.
        count: how many passages were written.
        peak, error: of the codes, see `search.store.codes.Scale`.
        codes_crc: the `search.store.codes.checksum` of the FAISS file.
        words_size, words_crc: the size of the file of words in bytes, and its `search.store.codes.checksum`.
    """

    id: int
    file: str
    first: int
    last: int
    count: int
    peak: int
    error: int
    codes_crc: int
    words_size: int
    words_crc: int

    @property
    def faiss(self) -> str:
        """Where its FAISS file is, relative to the index."""
        return f"{VECTORS}/{self.file}.faiss"

    @property
    def words(self) -> str:
        """Where the file of its words is, relative to the index."""
        return f"{VECTORS}/{self.file}.words"

    @property
    def scale(self) -> codes.Scale:
        return codes.Scale(self.peak, self.error)


def read_segments(connection: sqlite3.Connection) -> list[Segment]:
    """The segments of an index, in the order of ids."""
    columns = ", ".join(f'"{field.name}"' for field in fields(Segment))
    return [Segment(*row) for row in connection.execute(f'SELECT {columns} FROM segments ORDER BY "first"')]


def named_files(connection: sqlite3.Connection) -> set[str]:
    """The files that an index names, relative to it."""
    return {name for segment in read_segments(connection) for name in (segment.faiss, segment.words)}


def after(segments: Sequence[Segment]) -> int:
    """The id behind which the tail begins."""
    return segments[-1].last if segments else 0


def is_whole(index: Path, segment: Segment, dimension: int) -> bool:
    """Whether the files of a segment exist with their sizes; their content is not read."""
    sizes = {segment.faiss: codes.size_of(segment.count, dimension), segment.words: segment.words_size}
    try:
        return all((index / name).stat().st_size == size for name, size in sizes.items())
    except OSError:
        return False


def open_codes(index: Path, segment: Segment, dimension: int) -> codes.Codes:
    """The FAISS file of a segment.

    Raises:
        IndexDamaged: it is not there, or not as it was written.
    """
    require_no_link(index / VECTORS)
    return codes.Codes(index / segment.faiss, segment.count, dimension, segment.scale, segment.codes_crc)


def open_words(index: Path, segment: Segment) -> Block:
    """The words of a segment.

    Raises:
        IndexDamaged: they are not there, or not as they were written.
    """
    require_no_link(index / VECTORS)
    content = content_of(index / segment.words, segment.words_size)
    if codes.checksum(content) != segment.words_crc:
        raise damaged(index / segment.words)
    return Block(content)


def tombstones(connection: sqlite3.Connection, first: int = 0, last: int = 2**62) -> NDArray[np.int64]:
    """The ids of passages that were deleted and are still in a segment, increasing."""
    rows = connection.execute(
        "SELECT passage FROM tombstones WHERE passage BETWEEN ? AND ? ORDER BY passage", (first, last)
    )
    return np.array([passage for (passage,) in rows], dtype=np.int64)


@dataclass(frozen=True)
class Part:
    """What a new segment, or a new block of the tail, is made of: an older one.

    Attributes:
        living, dead: how many of its passages are there, and how many are deleted.
        segment: None for a block of the tail.
        whole: its files are there.
    """

    first: int
    last: int
    living: int
    dead: int
    segment: Segment | None = None
    whole: bool = True


def blocks_of_tail(connection: sqlite3.Connection) -> list[Part]:
    """The blocks of table `words`, in the order of ids."""
    rows = connection.execute(
        """SELECT "first", "last", count, (SELECT count(*) FROM tombstones WHERE passage BETWEEN "first" AND "last")
           FROM words ORDER BY "first" """
    )
    return [Part(first, last, count - dead, dead) for first, last, count, dead in rows]


def joined(parts: Sequence[Part], new: int, largest: int) -> int:
    """Where those begin that are to be made one with what follows: the last `new` and each before that is no larger.

    Args:
        largest: as many passages as one may have.
    """
    start = len(parts) - new
    total = sum(part.living for part in parts[start:])
    while start and parts[start - 1].living <= total and parts[start - 1].living + total <= largest:
        start -= 1
        total += parts[start].living
    return start


def filled(parts: Sequence[Part], largest: int) -> list[list[Part]]:
    """Neighbours put together, as many as fit."""
    groups: list[list[Part]] = []
    for part in parts:
        if not groups or sum(one.living for one in groups[-1]) + part.living > largest:
            groups.append([])
        groups[-1].append(part)
    return groups
