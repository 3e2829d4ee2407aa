"""Check an index within a read transaction, and repair it.

SQLite checks index.db, which contains all data. FAISS files and postings are derived from it: their checksums are
compared, and `repair` rebuilds them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from search.errors import AccessDenied, IndexDamaged, ModelError, SearchError
from search.records.fingerprint import Fingerprint
from search.store.database import Connection, connect_to_read, meta_of, one_meta, translated
from search.store.files import DATABASE, delete_leftovers, is_being_written, leftovers, writer_lock
from search.store.segments import blocks_of_tail, named_files, read_segments, rebuild_segments, tombstones
from search.store.status import stored_files
from search.store.writer import writing

Check = Callable[[Connection, Path], Iterator[str]]


def run_check(index: Path, check: Check) -> tuple[list[str], str]:
    """Return the problems that a check finds, and the reason why the database cannot be read; "" if it can be read.

    Raises:
        AccessDenied, IndexNotFound, ModelError: problems other than damage to the index.
    """
    database = index / DATABASE
    try:
        with closing(connect_to_read(database)) as connection, translated(database):
            meta_of(connection, database)
            return list(check(connection, index)), ""
    except (SearchError, sqlite3.Error, ValueError, TypeError, KeyError) as error:
        if isinstance(error, AccessDenied | ModelError) or not database.is_file():
            raise
        return [], str(error)


def repair(index: Path, *, derived: bool) -> None:
    """Delete orphaned files; with `derived`, rebuild all segments from index.db.

    Raises:
        IndexLocked: another process is writing to the index.
    """
    with writer_lock(index), writing(index / DATABASE) as writer:
        if derived:
            rebuild_segments(writer, index, _dimension(writer.connection))
        delete_leftovers(index, named_files(writer.connection))


def database(connection: Connection, index: Path) -> Iterator[str]:
    for (message,) in connection.execute("PRAGMA quick_check(20)"):
        if message != "ok":
            yield message
    expected = one_meta(connection, "passages")
    for table in ("passages", "embeddings"):
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if count != expected:
            yield f"table {table} has {count:,} rows instead of {expected:,}"


def postings(connection: Connection, index: Path) -> Iterator[str]:
    blocks = blocks_of_tail(connection)
    for segment in read_segments(connection):
        try:
            blocks.append(segment.open_words(index))
        except IndexDamaged:
            yield segment.words
            return
    if sum(map(len, blocks)) - len(tombstones(connection)) != one_meta(connection, "passages"):
        yield "the postings do not cover all passages"


def vectors(connection: Connection, index: Path) -> Iterator[str]:
    dimension = _dimension(connection)
    for segment in read_segments(connection):
        try:
            segment.open_codes(index, dimension)
        except IndexDamaged:
            yield segment.faiss


def stray_files(connection: Connection, index: Path) -> Iterator[str]:
    if not is_being_written(index):
        for path in leftovers(index, named_files(connection)):
            yield path.relative_to(index).as_posix()


def interrupted_run(connection: Connection, index: Path) -> Iterator[str]:
    if is_being_written(index):
        return
    for path, state in stored_files(connection).items():
        if state.status == "partial":
            yield path
    if not one_meta(connection, "complete", False):
        yield "the run did not reach its end"


def _dimension(connection: Connection) -> int:
    return int(Fingerprint(**one_meta(connection, "fingerprint")).dimension)
