"""Whether what is derived is what it should be: FAISS file, queries, words, token vectors, random pairs, own files."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store import lexicon
from search.store.calibration import read_baseline
from search.store.faiss_file import LoadedVectors
from search.store.files import FAISS_NAME, leftovers
from search.store.health.kinds import Tally
from search.store.health.rows import ROWS_AT_ONCE, settings, snapshot
from search.store.lock import is_being_written
from search.store.sqlite import SQLiteSnapshot, SQLiteStore
from search.store.vectors import Ann, read_ann

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HITS = 10
_ROUNDING = 1e-5  # two sums of the same products in another order differ by less


def examine_vectors(
    connection: sqlite3.Connection, dimension: int, loaded: LoadedVectors, tally: Tally
) -> None:
    """Compare the row `ann`, the FAISS file, the tombstones and the embeddings, in one transaction."""
    with snapshot(connection):
        (stored,) = connection.execute("SELECT count(*) FROM embeddings").fetchone()
        dead = {row[0] for row in connection.execute("SELECT passage FROM tombstones")}
        try:
            ann = read_ann(connection)
        except IndexDamaged:
            tally.add("vectors row", "its checksum is wrong")
            return
        if ann is None:
            if dead:
                tally.add("tombstones", f"{len(dead):,} of no FAISS file")
            elif stored:
                tally.add("no vectors")
            return
        if not FAISS_NAME.fullmatch(ann.file.removeprefix("ann/")):
            tally.add("vectors row", ann.file)
            return
        flat = loaded.get(ann, dimension)
        if flat is None:
            tally.add("vectors file", ann.file)
            return
        held = _held(flat, ann, dimension)
        if isinstance(held, str):
            tally.add("vectors row", held)
            return
        _compare(connection, ann, held, dead, tally)


def _held(flat: Any, ann: Ann, dimension: int) -> tuple[NDArray[np.int64], Any] | str:
    """Ids and vectors (n, d) of a FAISS index, or what is wrong with it as a whole."""
    import faiss

    inner = faiss.downcast_index(flat.index) if isinstance(flat, faiss.IndexIDMap) else None
    if not isinstance(inner, faiss.IndexFlatIP):
        return f"{ann.file} is no flat index with ids"
    if inner.d != dimension:
        return f"{ann.file} has {inner.d} dimensions, the index {dimension}"
    ids = faiss.vector_to_array(flat.id_map)
    if len(ids) != ann.count or inner.ntotal != ann.count:
        return f"{ann.file} holds {inner.ntotal:,} vectors, {ann.count:,} are recorded"
    if not len(ids) or int(ids.max()) != ann.watermark or len(np.unique(ids)) != len(ids):
        return f"{ann.file} ends at another passage than recorded, or holds one twice"
    return ids, faiss.rev_swig_ptr(inner.get_xb(), ann.count * dimension).reshape(ann.count, dimension)


def _compare(
    connection: sqlite3.Connection,
    ann: Ann,
    held: tuple[NDArray[np.int64], Any],
    dead: set[int],
    tally: Tally,
) -> None:
    """Every embedding up to the watermark is in the file, and all else in the file is a tombstone."""
    ids, vectors = held
    order = np.argsort(ids)
    ids = ids[order]
    alive = np.zeros(len(ids), dtype=bool)
    rows = connection.execute(
        "SELECT passage, vector FROM embeddings WHERE passage <= ? ORDER BY passage", (ann.watermark,)
    )
    while block := rows.fetchmany(ROWS_AT_ONCE):
        places = np.searchsorted(ids, [row[0] for row in block])
        for (id_, blob), place in zip(block, places, strict=True):
            if ids[min(place, len(ids) - 1)] != id_:
                tally.add("vectors differ", f"p{id_} is not in it")
                continue
            alive[place] = True
            if vectors[order[place]].tobytes() != blob:
                tally.add("vectors differ", f"p{id_}")
            if id_ in dead:
                tally.add("tombstones", f"p{id_} is there", id_)
    for id_ in ids[~alive].tolist():
        if id_ not in dead:
            tally.add("tombstones", f"p{id_} is not there", id_)
    for id_ in dead.difference(ids.tolist()):
        tally.add("tombstones", f"p{id_} is not in the FAISS file", id_)


def examine_queries(
    connection: sqlite3.Connection, store: SQLiteStore, dimension: int, how_many: int, tally: Tally
) -> int:
    """Ask for what is nearest to some stored embeddings, through FAISS and by brute force.

    Two rankings agree if their scores do, hit by hit, and each hit has the score that it is given: passages
    with equal scores may change places. Returns how many queries were made.
    """
    with snapshot(connection):
        ids = np.array([row[0] for row in connection.execute("SELECT passage FROM embeddings ORDER BY 1")])
        chosen = np.random.default_rng(0).permutation(len(ids))[:how_many]
        asked = [int(id_) for id_ in np.sort(ids[chosen])] if len(ids) else []
        vectors = {id_: _vector(connection, id_) for id_ in asked}
        if not asked:
            return 0
        matrix = np.stack(list(vectors.values()))
        best = _brute_force(connection, dimension, matrix)
        for (id_, query), expected in zip(vectors.items(), best, strict=True):
            try:
                found = SQLiteSnapshot(store, connection).nearest(query, _HITS)
            except IndexDamaged as error:
                tally.add("query", f"p{id_}: {error}")
                continue
            true = [float(_vector(connection, hit) @ query) for hit, _ in found]
            scores = [score for _, score in found]
            agree = len(scores) == len(expected) == len({hit for hit, _ in found})
            if not (agree and _near(scores, expected) and _near(scores, true)):
                tally.add("query", f"what is nearest to p{id_}")
    return len(asked)


def _near(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=0, atol=_ROUNDING))


def _vector(connection: sqlite3.Connection, id_: int) -> NDArray[np.float32]:
    row = connection.execute("SELECT vector FROM embeddings WHERE passage = ?", (id_,)).fetchone()
    return np.frombuffer(row[0], dtype="<f4") if row else np.zeros(0, dtype=np.float32)


def _brute_force(
    connection: sqlite3.Connection, dimension: int, queries: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The highest cosines of each query with all embeddings, (q, at most _HITS), best first."""
    best = np.empty((len(queries), 0), dtype=np.float32)
    rows = connection.execute("SELECT vector FROM embeddings")
    while block := rows.fetchmany(ROWS_AT_ONCE):
        vectors = np.frombuffer(b"".join(row[0] for row in block), dtype="<f4").reshape(-1, dimension)
        together = np.concatenate([best, queries @ vectors.T], axis=1)
        best = -np.sort(-together, axis=1)[:, :_HITS]
    return best


def examine_words(connection: sqlite3.Connection, tally: Tally) -> None:
    """Compare the table with one that is made anew in memory: every token's counts, every passage's length."""
    with snapshot(connection):
        if not lexicon.is_sealed(connection):
            tally.add("words", "it was not finished, or made by other rules")
            return
        with closing(_empty_table()) as anew, closing(_empty_table()) as copy:
            try:
                lexicon.fill(connection, anew)
                anew.execute("COMMIT")  # FTS5 holds things back until then
                _copy(connection, copy)
            except IndexDamaged:  # a passage is damaged, which is found elsewhere
                return
            except sqlite3.DatabaseError as error:
                tally.add("words", str(error))
                return
            if not _same(anew, copy):
                tally.add("words", "it does not hold the words of the passages")


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


def _same(one: sqlite3.Connection, other: sqlite3.Connection) -> bool:
    """Whether two tables hold the same words at the same places, and passages of the same lengths."""
    for query in (
        "SELECT block FROM lexicon_data WHERE id = 1",
        "SELECT * FROM lexicon_docsize ORDER BY id",
        "SELECT term, doc, offset FROM places",
    ):
        try:
            if any(a != b for a, b in zip_longest(one.execute(query), other.execute(query))):
                return False
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return False
    return True


def examine_token_vectors(
    connection: sqlite3.Connection, dimension: int, tally: Tally, tick: Callable[[int], None]
) -> None:
    """Every row of token vectors against its checksum, and what the passage's row says of its tokens."""
    with snapshot(connection):
        rows = connection.execute(
            """SELECT passage, vectors, token_vectors.checksum, n_tokens
               FROM token_vectors LEFT JOIN passages ON id = passage"""
        )
        for id_, blob, checksum, n_tokens in rows:
            n, rest = divmod(len(blob), 4 + dimension)
            if zlib.crc32(blob) != checksum or rest or n_tokens is None or n > n_tokens:
                tally.add("token vectors", f"p{id_}", id_)
            tick(1)


def examine_baseline(connection: sqlite3.Connection, tally: Tally) -> None:
    """Read the row as a query does. That there is none is no damage: the next run takes a sample."""
    with snapshot(connection):
        try:
            read_baseline(connection)
        except IndexDamaged:
            tally.add("baseline")


def examine_leftovers(index: Path, connection: sqlite3.Connection, tally: Tally) -> None:
    """Files that no run needs. While a run is under way nothing can be said of them."""
    busy, before = is_being_written(index), named_file(connection)
    found = leftovers(index, before)
    if busy or not found or is_being_written(index) or named_file(connection) != before:
        return
    for path in found:
        tally.add("leftover", path.relative_to(index).as_posix())


def named_file(connection: sqlite3.Connection) -> str:
    """The FAISS file that index.db names, "" for none."""
    row = connection.execute("SELECT file FROM ann WHERE id = 1").fetchone()
    return str(row[0]) if row else ""


def examine_run(index: Path, connection: sqlite3.Connection, tally: Tally) -> bool:
    """Whether the last run came to its end. Returns whether one is under way, which is no fault."""
    if _unfinished(connection) is None:
        return is_being_written(index)
    if is_being_written(index):
        return True
    name = _unfinished(connection)  # once more: it may have come to its end since
    if name is not None:
        tally.add("unfinished", name)
    return False


def _unfinished(connection: sqlite3.Connection) -> str | None:
    """A file that was not finished, "" if only the end of the run is missing, None if nothing is."""
    with snapshot(connection):
        row = connection.execute("SELECT path FROM files WHERE status = 'partial' ORDER BY path").fetchone()
        good, doubtful = settings(connection)
    if row:
        return os.fsdecode(row[0])
    return None if (doubtful | good).get("complete", True) else ""
