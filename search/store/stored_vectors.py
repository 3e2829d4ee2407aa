"""Embeddings as they lie in index.db, and the row that names the FAISS file of them."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.store.checksums import covered, require
from search.store.flat import best

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Ann:
    """The row of table `ann`: which FAISS file belongs to this state of the index.

    Attributes:
        watermark: the file holds the passages with ids up to this one, as they were then.
        size: bytes in it. Its name is that of no other file, ever.
        count: how many it holds; `deleted` of them have been deleted since: those in table `tombstones`.
    """

    generation: int
    file: str
    size: int
    watermark: int
    count: int
    deleted: int


def read_ann(connection: sqlite3.Connection) -> Ann | None:
    row = connection.execute(f"SELECT {covered('ann')}, checksum FROM ann WHERE id = 1").fetchone()
    if row is None:
        return None
    generation, file, size, watermark, count, checksum = row
    require("ann", row[:-1], checksum)
    (deleted,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    return Ann(generation, file, size, watermark, count, deleted)


def embeddings(
    connection: sqlite3.Connection, dimension: int, after: int = 0
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Blocks of (passage ids, vectors (n, d)) with ids above `after`, in the order of ids.

    Raises:
        IndexDamaged: a vector is not the one that was written.
    """
    rows = connection.execute(
        "SELECT passage, vector, checksum FROM embeddings WHERE passage > ? ORDER BY passage", (after,)
    )
    while block := rows.fetchmany(_ROWS_AT_ONCE):
        yield _checked_block(block, dimension)


def embeddings_of(
    connection: sqlite3.Connection, dimension: int, passages: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """As `embeddings`, of those passages, given by increasing ids, that are there."""
    for start in range(0, len(passages), _ROWS_AT_ONCE):
        rows = connection.execute(
            """SELECT passage, vector, checksum FROM embeddings
               WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage""",
            (json.dumps(passages[start : start + _ROWS_AT_ONCE].tolist()),),
        )
        if block := rows.fetchall():
            yield _checked_block(block, dimension)


def _checked_block(
    rows: Sequence[tuple[int, bytes, int]], dimension: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    for id_, vector, checksum in rows:
        _require_whole(id_, vector, checksum, dimension)
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    return ids, np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(-1, dimension)


def _require_whole(passage: int, vector: bytes | None, checksum: int, dimension: int) -> None:
    if vector is None or len(vector) != 4 * dimension or zlib.crc32(vector) != checksum:
        raise IndexDamaged(f"the embedding of passage {passage} is damaged. Mend it with: seewhy repair")


def is_stored(
    connection: sqlite3.Connection, query: NDArray[np.float32], found: list[tuple[int, float]]
) -> bool:
    """Whether what was found in the FAISS file has the cosines that the embeddings in index.db give."""
    ids = np.array(sorted(id_ for id_, _ in found), dtype=np.int64)
    stored: list[tuple[int, float]] = []
    for block, vectors in embeddings_of(connection, len(query), ids):
        stored += best(block, vectors, query, len(block))
    return sorted(stored) == sorted(found)


def count_after(connection: sqlite3.Connection, after: int) -> int:
    """How many embeddings there are with ids above `after`."""
    # Without a condition SQLite counts the entries of an index, which is far smaller than the table.
    condition, values = (" WHERE passage > ?", (after,)) if after else ("", ())
    (found,) = connection.execute(f"SELECT count(*) FROM embeddings{condition}", values).fetchone()
    return int(found)


def without_deleted(connection: sqlite3.Connection, near: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """What was found in the FAISS file, less the passages that have been deleted since."""
    rows = connection.execute(
        "SELECT passage FROM tombstones WHERE passage IN (SELECT value FROM json_each(?))",
        (json.dumps([id_ for id_, _ in near]),),
    )
    deleted = {row[0] for row in rows}
    return [(id_, cosine) for id_, cosine in near if id_ not in deleted]
