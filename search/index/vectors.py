"""The FAISS file: a cache of the embeddings in index.db, in a form that is quick to search.

It is immutable. A new one is written beside it, forced to disk, hashed, and only then named in index.db;
a reader checks the hash before FAISS parses a byte, because FAISS trusts what it is given.
Inner products of unit vectors are cosines, and a flat index is exact.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.index.checksums import covered, require
from search.index.database import Reader, one_meta
from search.index.layout import DATABASE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Ann:
    """The row of table `ann`: which FAISS file belongs to this state of the index.

    Attributes:
        watermark: the file holds the passages with ids up to this one, as they were then.
        count: how many it holds; `deleted` of them have been deleted since: those in table `tombstones`.
    """

    generation: int
    file: str
    sha256: str
    watermark: int
    count: int
    deleted: int


def read_ann(connection: sqlite3.Connection) -> Ann | None:
    row = connection.execute(f"SELECT {covered('ann')}, checksum FROM ann WHERE id = 1").fetchone()
    if row is None:
        return None
    generation, file, sha256, watermark, count, checksum = row
    require("ann", row[:-1], checksum)
    (deleted,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    return Ann(generation, file, sha256, watermark, count, deleted)


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
        for id_, vector, checksum in block:
            _require_whole(id_, vector, checksum, dimension)
        ids = np.array([row[0] for row in block], dtype=np.int64)
        yield ids, np.frombuffer(b"".join(row[1] for row in block), dtype="<f4").reshape(-1, dimension)


def one_embedding(connection: sqlite3.Connection, passage: int) -> NDArray[np.float32]:
    """The embedding of a passage that is there, (d,)."""
    vector, checksum = connection.execute(
        "SELECT vector, checksum FROM embeddings WHERE passage = ?", (passage,)
    ).fetchone()
    _require_whole(passage, vector, checksum, len(vector) // 4)
    return np.frombuffer(vector, dtype="<f4")


def _require_whole(passage: int, vector: bytes, checksum: int, dimension: int) -> None:
    if len(vector) != 4 * dimension or zlib.crc32(vector) != checksum:
        raise IndexDamaged(f"the embedding of passage {passage} is damaged. Mend it with: seewhy repair")


class LoadedVectors:
    """The FAISS file in memory, loaded again when index.db names another one. Safe between threads."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self.reader = Reader(index / DATABASE)
        self._lock = threading.Lock()
        self._sha256 = ""
        self._loaded: Any = None
        self.problem = ""

    def get(self, ann: Ann, dimension: int) -> Any | None:
        """The FAISS index that `ann` names; None, and `problem` says why, when it cannot be trusted."""
        with self._lock:
            if ann.sha256 != self._sha256:
                fits = self._fits(ann, dimension)
                self._loaded, self.problem = self._load(ann) if fits else _damaged(ann)
                self._sha256 = ann.sha256
            return self._loaded

    def _fits(self, ann: Ann, dimension: int) -> bool:
        from search.index.faiss_file import has_frame

        try:
            return has_frame(self._index / ann.file, ann.count, dimension)
        except (OSError, ValueError):  # the latter for a name with a NUL
            return False

    def _load(self, ann: Ann) -> tuple[Any, str]:
        try:
            data = (self._index / ann.file).read_bytes()
        except OSError:
            data = b""
        if hashlib.sha256(data).hexdigest() != ann.sha256:
            return _damaged(ann)
        import faiss

        return faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8)), ""


def _damaged(ann: Ann) -> tuple[None, str]:
    return None, (
        f"the file '{ann.file}' of the index is damaged or missing. Queries are exact without it, only "
        "slower. Mend it with: seewhy repair"
    )


def nearest(
    connection: sqlite3.Connection, loaded: LoadedVectors, query: NDArray[np.float32], k: int
) -> list[tuple[int, float]]:
    """The k passages with the highest cosine, best first, as (passage id, cosine). Exact.

    Args:
        query: (d,) unit length.
        k: at least 1; fewer come back only if the index holds fewer passages.

    Searches the FAISS file, asking for as many more as it holds deleted passages, and everything newer
    one by one. Equal cosines are ordered by passage id.

    Raises:
        IndexDamaged: not all passages that the index should hold were looked at.
    """
    found: list[tuple[int, float]] = []
    looked_at = 0
    ann = read_ann(connection)
    flat = loaded.get(ann, len(query)) if ann else None
    after = 0
    if ann and flat is not None:
        after = ann.watermark
        scores, ids = flat.search(query[None, :], min(k + ann.deleted, ann.count))
        found = list(zip(ids[0].tolist(), scores[0].tolist(), strict=True))
        if ann.deleted:
            deleted = _deleted(connection, [id_ for id_, _ in found])
            found = [(id_, score) for id_, score in found if id_ not in deleted]
        looked_at = ann.count - ann.deleted
    for ids, vectors in embeddings(connection, len(query), after):
        looked_at += len(ids)
        scores = vectors @ query
        best = np.argsort(-scores, kind="stable")[:k]
        found += zip(ids[best].tolist(), scores[best].tolist(), strict=True)
    if looked_at != (passages := one_meta(connection, "passages")):
        raise IndexDamaged(
            f"the index should hold {passages} passages, but {looked_at} were found. Mend it with: seewhy repair"
        )
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


def _deleted(connection: sqlite3.Connection, ids: list[int]) -> set[int]:
    """Those of the ids whose passages have been deleted."""
    rows = connection.execute(
        "SELECT passage FROM tombstones WHERE passage IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
    )
    return {row[0] for row in rows}
