"""Whether what is derived of the rows is what it should be: words, FAISS file, random pairs, files; see health.py.

Each function yields the names of what is wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from search.errors import IndexDamaged
from search.store import lexicon
from search.store.calibration import read_baseline
from search.store.checksums import name_of
from search.store.database import one_meta
from search.store.faiss_file import LoadedVectors
from search.store.files import is_being_written, leftovers
from search.store.vectors import read_ann

_ROWS_AT_ONCE = 2048
_HELD = (
    "SELECT block FROM lexicon_data WHERE id = 1",
    "SELECT * FROM lexicon_docsize ORDER BY id",
    "SELECT term, doc, offset FROM places",
)


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One short read transaction."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def vectors(connection: sqlite3.Connection, index: Path, dimension: int) -> Iterator[str]:
    """The row `ann`, the FAISS file, the tombstones and the embeddings, compared in one transaction.

    Every embedding up to the watermark is in the file, and all else in the file is a tombstone.
    """
    with snapshot(connection):
        dead = {id_ for (id_,) in connection.execute("SELECT passage FROM tombstones")}
        try:
            ann = read_ann(connection)
        except IndexDamaged:
            yield "what is recorded of it"
            return
        if ann is None:
            if dead:
                yield f"{len(dead):,} passages are deleted from no file"
            return
        loaded = LoadedVectors(index).get(ann, dimension)
        if loaded is None:
            yield ann.file
            return
        import faiss

        library: Any = faiss  # its types lack what its Python layer adds
        ids = library.vector_to_array(loaded.id_map)
        if ids[-1] != ann.watermark or (np.diff(ids) <= 0).any():
            yield f"{ann.file} holds other passages than recorded"
            return
        flat = library.rev_swig_ptr(library.downcast_index(loaded.index).get_xb(), ann.count * dimension)
        held, alive = flat.reshape(ann.count, dimension), np.zeros(ann.count, dtype=bool)
        rows = connection.execute(
            "SELECT passage, vector FROM embeddings WHERE passage <= ? ORDER BY passage", (ann.watermark,)
        )
        while block := rows.fetchmany(_ROWS_AT_ONCE):
            places = np.searchsorted(ids, [id_ for id_, _ in block])
            for (id_, blob), place in zip(block, places, strict=True):
                if ids[place] != id_:
                    yield f"p{id_} is not in it"
                    continue
                alive[place] = True
                if held[place].tobytes() != blob:
                    yield f"p{id_} differs"
        for id_ in sorted(dead ^ set(ids[~alive].tolist())):
            yield f"p{id_} is wrongly taken for {'deleted' if id_ in dead else 'there'}"


def words(connection: sqlite3.Connection) -> Iterator[str]:
    """The table, compared with one that is made anew: every token's places, every passage's length.

    As FTS5 goes through it, as FTS5 looks single words up in it, and as it would be after the next merge.
    """
    with snapshot(connection):
        if not lexicon.is_sealed(connection):
            yield "it was not finished, or made by other rules"
            return
        with closing(_empty_table()) as anew, closing(_empty_table()) as copy:
            try:
                lexicon.fill(connection, anew)
                anew.execute("COMMIT")  # FTS5 holds things back until then
                _copy(connection, copy)
            except IndexDamaged:  # a passage is damaged, which is found elsewhere
                return
            except sqlite3.DatabaseError as error:
                yield str(error)
                return
            if not (_same(anew, copy, _HELD) and _is_found(connection) and _stays(anew, copy)):
                yield "it does not hold the words of the passages"


def _empty_table() -> sqlite3.Connection:
    """A table of words in a temporary file, which SQLite deletes by itself."""
    connection = sqlite3.connect("", isolation_level=None)
    lexicon.create(connection)
    connection.execute("CREATE VIRTUAL TABLE places USING fts5vocab (lexicon, instance)")
    connection.execute("BEGIN")
    return connection


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy all that FTS5 keeps, and let FTS5 look through it."""
    for table, marks in (("data", "?, ?"), ("idx", "?, ?, ?"), ("docsize", "?, ?"), ("config", "?, ?")):
        target.execute(f"DELETE FROM lexicon_{table}")
        target.executemany(
            f"INSERT INTO lexicon_{table} VALUES ({marks})", source.execute(f"SELECT * FROM lexicon_{table}")
        )
    target.execute("INSERT INTO lexicon (lexicon) VALUES ('integrity-check')")


def _same(one: sqlite3.Connection, other: sqlite3.Connection, queries: Iterable[str]) -> bool:
    """Whether two tables of words give the same answers."""
    for query in queries:
        try:
            if any(a != b for a, b in zip_longest(one.execute(query), other.execute(query))):
                return False
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return False
    return True


def _is_found(connection: sqlite3.Connection) -> bool:
    """Whether each word, looked up as a query does, has as many passages as where all words are gone through."""
    lost = """SELECT 1 FROM lexicon_terms AS each WHERE
              (SELECT doc FROM lexicon_terms AS one WHERE one.term = each.term) IS NOT each.doc"""
    try:
        return connection.execute(lost).fetchone() is None
    except sqlite3.DatabaseError:
        return False


def _stays(anew: sqlite3.Connection, copy: sqlite3.Connection) -> bool:
    """Whether a copy keeps its words where FTS5 merges its parts, as it does while an index is written."""
    try:
        copy.execute("INSERT INTO lexicon (lexicon) VALUES ('optimize')")
    except sqlite3.DatabaseError:
        return False
    return _same(anew, copy, ["SELECT term, doc, cnt FROM lexicon_terms"])


def baseline(connection: sqlite3.Connection) -> Iterator[str]:
    """The sample, read as a query does. That there is none is no damage: the next run takes one."""
    with snapshot(connection):
        try:
            read_baseline(connection)
        except IndexDamaged:
            yield "its row"


def lying_about(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    """Files that no run needs. While a run is under way nothing can be said of them."""
    busy, before = is_being_written(index), named_file(connection)
    there = leftovers(index, before)
    if not (busy or is_being_written(index)) and named_file(connection) == before:
        for path in there:
            yield path.relative_to(index).as_posix()


def named_file(connection: sqlite3.Connection) -> str:
    """The FAISS file that index.db names, "" for none."""
    row = connection.execute("SELECT file FROM ann WHERE id = 1").fetchone()
    return str(row[0]) if row else ""


def unfinished(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    """What the last run left undone. One that is under way is no fault."""
    if list(_undone(connection)) and not is_being_written(index):
        yield from _undone(connection)  # once more: it may have come to its end since


def _undone(connection: sqlite3.Connection) -> Iterator[str]:
    with snapshot(connection):
        rows = connection.execute("SELECT path FROM files WHERE status = 'partial' ORDER BY path").fetchall()
        yield from (name_of(path) for (path,) in rows)
        if not named_file(connection):
            yield "no FAISS file was written"
        try:
            if not one_meta(connection, "complete"):
                yield "its end"
        except IndexDamaged:  # which is found elsewhere
            return
