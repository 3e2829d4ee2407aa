"""Whether what is derived of the rows is what it should be: words, FAISS files, random pairs, files; see health.py.

Each function yields the names of what is wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.store import words
from search.store.calibration import read_baseline
from search.store.checksums import name_of
from search.store.composing import merged
from search.store.database import counted, one_meta
from search.store.files import is_being_written, leftovers
from search.store.postings import Block
from search.store.segments import (
    Segment,
    after,
    open_codes,
    open_words,
    read_segments,
    recorded_files,
    tombstones,
)
from search.store.vectors import embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.codes import Codes


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One short read transaction."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def vectors(connection: sqlite3.Connection, index: Path, dimension: int, *, anew: bool) -> Iterator[str]:
    """The FAISS files of segments: their bytes, and that they hold the embeddings before the tail.

    Args:
        anew: compare codes with embeddings, too.
    """
    with snapshot(connection):
        try:
            segments, dead = read_segments(connection), tombstones(connection)
        except IndexDamaged:
            yield "what is recorded of the segments, or of what is deleted"
            return
        found = [np.empty(0, dtype=np.int64)]
        for segment in segments:
            try:
                codes = open_codes(index, segment, dimension)
                if not codes.is_whole:
                    raise IndexDamaged(segment.faiss)
            except IndexDamaged:
                yield segment.faiss
                continue
            found.append(codes.ids)
            yield from _lacking(connection, segment.faiss, codes.ids, dead, segment.first, segment.last)
            if anew:
                yield from _coded_otherwise(connection, segment, codes, dimension)
        tail = ids_between(connection, after(segments) + 1)
        yield from _deleted_from_nothing(connection, dead, np.concatenate([*found, tail]))


def _coded_otherwise(
    connection: sqlite3.Connection, segment: Segment, codes: Codes, dimension: int
) -> Iterator[str]:
    """Passages whose codes are not those of their embeddings."""
    for ids, rows in embeddings(connection, dimension, segment.first - 1, upto=segment.last):
        held = codes.numbers(np.searchsorted(codes.ids, ids))
        for id_ in ids[(segment.scale.codes(rows) != held).any(axis=1)].tolist():
            yield f"p{id_} differs"


def of_words(connection: sqlite3.Connection, index: Path, *, anew: bool) -> Iterator[str]:
    """The words of segments and of the tail: their bytes, and that they hold every passage.

    Args:
        anew: compare them with the words of the passages, too.
    """
    with snapshot(connection):
        if not words.hold(connection):
            yield "they were not finished, or made by other rules"
            return
        try:
            segments, dead = read_segments(connection), tombstones(connection)
        except IndexDamaged:
            return  # which is found with the vectors
        found = list[Block]()
        for segment in segments:
            try:
                block = open_words(index, segment)
                if block.crc != segment.words_crc:
                    raise IndexDamaged(segment.words)
                found.append(block)
            except IndexDamaged:
                yield segment.words
        try:
            found += words.tail(connection)
        except IndexDamaged:
            yield "those of the newest passages"
            return
        for block in found:
            first, last = int(block.ids[0]), int(block.ids[-1])
            yield from _lacking(connection, block.name, block.ids, dead, first, last)
            if anew:
                living = ~np.isin(block.ids, dead)
                if merged([block], [living]) != words.written_anew(connection, block.ids[living]):
                    yield f"{block.name} holds other words"
        held = sum(len(block.ids) for block in found) - len(dead)
        if len(found) >= len(segments) and held != counted(connection)[0]:
            yield f"they are of {held:,} passages"


def _lacking(
    connection: sqlite3.Connection,
    name: str,
    ids: NDArray[np.int64],
    dead: NDArray[np.int64],
    first: int,
    last: int,
) -> Iterator[str]:
    """What a file does not hold that it should, and what else it does."""
    there = ids_between(connection, first, last)
    for id_ in np.setxor1d(ids[~np.isin(ids, dead)], there).tolist():
        yield f"{name}: p{id_}"


def _deleted_from_nothing(
    connection: sqlite3.Connection, dead: NDArray[np.int64], held: NDArray[np.int64]
) -> Iterator[str]:
    """Tombstones of passages that are in no segment, and in no block of the tail."""
    rows = connection.execute(
        """SELECT passage FROM tombstones WHERE NOT EXISTS (
               SELECT 1 FROM words WHERE passage BETWEEN "first" AND "last") ORDER BY passage"""
    )
    lost = np.setdiff1d(np.array([row[0] for row in rows], dtype=np.int64), held)
    if len(lost):
        yield f"{len(lost):,} passages are deleted from no file"


def ids_between(connection: sqlite3.Connection, first: int, last: int = 2**62) -> NDArray[np.int64]:
    rows = connection.execute(
        "SELECT passage FROM embeddings WHERE passage BETWEEN ? AND ? ORDER BY passage", (first, last)
    )
    return np.array([row[0] for row in rows], dtype=np.int64)


def baseline(connection: sqlite3.Connection) -> Iterator[str]:
    """The sample, read as a query does. That there is none is no damage: the next run takes one."""
    with snapshot(connection):
        try:
            read_baseline(connection)
        except IndexDamaged:
            yield "its row"


def lying_about(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    """Files that no run needs. While a run is under way nothing can be said of them."""
    busy, before = is_being_written(index), recorded_files(connection)
    there = leftovers(index, before)
    if not (busy or is_being_written(index)) and recorded_files(connection) == before:
        for path in there:
            yield path.relative_to(index).as_posix()


def unfinished(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    """What the last run left undone. One that is under way is no fault."""
    if list(_undone(connection)) and not is_being_written(index):
        yield from _undone(connection)  # once more: it may have come to its end since


def _undone(connection: sqlite3.Connection) -> Iterator[str]:
    with snapshot(connection):
        rows = connection.execute("SELECT path FROM files WHERE status = 'partial' ORDER BY path").fetchall()
        yield from (name_of(path) for (path,) in rows)
        if not recorded_files(connection):
            yield "no segment was written"
        try:
            if not one_meta(connection, "complete"):
                yield "its end"
        except IndexDamaged:  # which is found elsewhere
            return
