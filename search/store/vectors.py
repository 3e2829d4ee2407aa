"""The FAISS file: a cache of the embeddings in index.db, in a form that is quick to search.

It is immutable. A new one is written beside it, forced to disk, and only then named in index.db. A reader checks its
size and its headers before FAISS parses a byte, because FAISS trusts what it is given, and compares the passages that
a search finds with index.db; only `seewhy check` looks at the whole file. Inner products of unit vectors are cosines,
and a flat index is exact.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.faiss_file import is_whole
from search.store.flat import best
from search.store.stored_vectors import Ann, embeddings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class LoadedVectors:
    """The FAISS file in memory, loaded again when index.db names another one. Safe between threads."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._file: str | None = None
        self._loaded: Any = None
        self.problem = ""

    def holds(self, ann: Ann) -> bool:
        """Whether the FAISS file that `ann` names is in memory."""
        with self._lock:
            return self._loaded is not None and ann.file == self._file

    def get(self, ann: Ann, dimension: int) -> Any | None:
        """The FAISS index that `ann` names; None, and `problem` says why, when it cannot be trusted."""
        with self._lock:
            if ann.file != self._file:
                self._loaded, self.problem = self._load(ann, dimension)
                self._file = ann.file
            return self._loaded

    def distrust(self, ann: Ann) -> None:
        """Let nobody use the file that `ann` names: it does not hold what index.db holds."""
        with self._lock:
            self._loaded, self.problem = _damaged(ann)
            self._file = ann.file

    def _load(self, ann: Ann, dimension: int) -> tuple[Any, str]:
        if not is_whole(self._index, ann, dimension):
            return _damaged(ann)
        import faiss

        try:
            return faiss.read_index(str(self._index / ann.file)), ""
        except RuntimeError:  # what FAISS raises, also when it cannot read on
            return _damaged(ann)


def _damaged(ann: Ann) -> tuple[None, str]:
    return None, (
        f"the file '{ann.file}' of the index is damaged or missing. Queries are exact without it, only "
        "slower. Mend it with: seewhy repair"
    )


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
