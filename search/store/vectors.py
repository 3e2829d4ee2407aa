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

from search.errors import IndexDamaged
from search.store.baseline import LoadedBaseline
from search.store.database import Reader, one_meta
from search.store.faiss_file import is_whole
from search.store.flat import best, nearest_of
from search.store.layout import DATABASE
from search.store.lexicon import Lexicon
from search.store.stored_vectors import Ann, embeddings, embeddings_of, read_ann

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Passages whose embeddings are read from index.db rather than loading the FAISS file for them.
_READ_DIRECTLY = 2000


class LoadedVectors:
    """The FAISS file in memory, loaded again when index.db names another one. Safe between threads."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self.reader = Reader(index / DATABASE)
        self.lexicon = Lexicon()
        self.baseline = LoadedBaseline()
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


def nearest(
    connection: sqlite3.Connection,
    loaded: LoadedVectors,
    query: NDArray[np.float32],
    k: int,
    only: NDArray[np.int64] | None = None,
) -> list[tuple[int, float]]:
    """The k passages with the highest cosine, best first, as (passage id, cosine). Exact.

    Args:
        query: (d,) unit length.
        k: at least 1; fewer come back only if there are fewer passages.
        only: ids of the passages to choose from, increasing, from the same transaction; None for all.

    Searches the FAISS file and everything newer than it. Equal vectors have equal cosines, wherever they lie,
    and equal cosines are ordered by passage id.

    With `only`, FAISS looks at those passages alone. Of 20,000 passages with d = 384 that took 0.1 ms for 100,
    0.2 ms for 1,000 and 1.1 ms for 10,000; reading their vectors from index.db took 0.2, 3 and 22 ms, and was quicker
    only up to some 20. But to load the file took 100 ms: as long as it is not in memory, up to 2,000 vectors are
    read from index.db.

    Raises:
        IndexDamaged: not all passages that the index should hold, or that `only` names, were looked at.
    """
    ann = read_ann(connection)
    directly = only is not None and len(only) <= _READ_DIRECTLY and not (ann and loaded.holds(ann))
    flat = loaded.get(ann, len(query)) if ann and not directly else None
    found: list[tuple[int, float]] = []
    after = passages = looked_at = 0
    if ann and flat is not None:
        after, passages = ann.watermark, ann.count - ann.deleted
        if only is None:
            found, looked_at = _nearest_of_all(connection, flat, query, k, ann.deleted), passages
        else:
            older = only[only <= after]
            found, looked_at = nearest_of(flat, query, k, older), len(older)
        if not _is_stored(connection, query, found[:_READ_DIRECTLY]):
            loaded.distrust(ann)
            return nearest(connection, loaded, query, k, only)
    if only is None:
        newer = embeddings(connection, len(query), after)
    else:
        newer = embeddings_of(connection, len(query), only[only > after])
        passages += _count_after(connection, after)
    for ids, vectors in newer:
        looked_at += len(ids)
        found += best(ids, vectors, query, k)
    _require_all(connection, looked_at if only is None else passages)
    if only is not None and looked_at != len(only):
        raise IndexDamaged(
            f"{len(only)} passages pass the filter, but the embeddings of {looked_at} were found. "
            "Mend the index with: seewhy repair"
        )
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


def _is_stored(
    connection: sqlite3.Connection, query: NDArray[np.float32], found: list[tuple[int, float]]
) -> bool:
    """Whether what was found in the FAISS file has the cosines that the embeddings in index.db give."""
    ids = np.array(sorted(id_ for id_, _ in found), dtype=np.int64)
    stored: list[tuple[int, float]] = []
    for block, vectors in embeddings_of(connection, len(query), ids):
        stored += best(block, vectors, query, len(block))
    return sorted(stored) == sorted(found)


def _nearest_of_all(
    connection: sqlite3.Connection, flat: Any, query: NDArray[np.float32], k: int, deleted: int
) -> list[tuple[int, float]]:
    """The k best in the FAISS file that have not been deleted since."""
    found = nearest_of(flat, query, k + deleted)
    if deleted:
        gone = _deleted(connection, [id_ for id_, _ in found])
        found = [(id_, cosine) for id_, cosine in found if id_ not in gone]
    return found[:k]


def _count_after(connection: sqlite3.Connection, after: int) -> int:
    # Without a condition SQLite counts the entries of an index, which is far smaller than the table.
    condition, values = (" WHERE passage > ?", (after,)) if after else ("", ())
    (found,) = connection.execute(f"SELECT count(*) FROM embeddings{condition}", values).fetchone()
    return int(found)


def _require_all(connection: sqlite3.Connection, found: int) -> None:
    if found != (passages := one_meta(connection, "passages")):
        raise IndexDamaged(
            f"the index should hold {passages} passages, but {found} were found. Mend it with: seewhy repair"
        )


def _deleted(connection: sqlite3.Connection, ids: list[int]) -> set[int]:
    """Those of the ids whose passages have been deleted."""
    rows = connection.execute(
        "SELECT passage FROM tombstones WHERE passage IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
    )
    return {row[0] for row in rows}
