"""Embeddings in index.db: their cosines with a query, and pairs of similar embeddings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store.settings import UNREADABLE, unreadable

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Far more than the rounding difference between two sums of the same products.
_ROUNDING = 1e-5

# Difference of the squared length of an embedding from 1; rounding to float32 gives less than 1e-6.
_MAX_LENGTH_ERROR = 1e-5

# Rows that are read, or converted to float64, at a time.
_BATCH_ROWS = 1024

MAX_ID = 2**62

_VECTORS = "SELECT passage, vector FROM embeddings WHERE passage"

# Results of one search for pairs: 400 MB.
_MAX_PAIRS = 1 << 25


def load_faiss() -> Any:
    """Import `faiss`."""
    import faiss

    return faiss


def search_by_faiss(
    index: Any, query: NDArray[np.float32], k: int, alive: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of a FAISS index with the k highest products, best first, and their products.

    Args:
        query: (d,) vector.
        k: number of rows; fewer are returned only if there are fewer.
        alive: (n,) mask of the rows to choose from; None for all.
    """
    faiss = load_faiss()
    parameters = None
    if alive is not None:
        bits = np.packbits(alive, bitorder="little")
        parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
    # FAISS divides queries among threads, not vectors: with one query a second thread would only wait.
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        products, rows = index.search(query[None, :], min(k, index.ntotal), params=parameters)
    finally:
        faiss.omp_set_num_threads(threads)
    is_row = rows[0] >= 0
    return rows[0][is_row], products[0][is_row]


def vector_of(
    connection: sqlite3.Connection, content: bytes, *, before_format_10: bool = False
) -> bytes | None:
    """Return the stored embedding of a content by its key; None if it was not encoded before.

    Args:
        before_format_10: the key is a column of table `embeddings`, not of `passages`.
    """
    tables = "embeddings" if before_format_10 else "passages JOIN embeddings ON passage = id"
    row = connection.execute(f"SELECT vector FROM {tables} WHERE content = ? LIMIT 1", (content,))
    return next((vector for (vector,) in row), None)


def is_embedding(blob: bytes, dimension: int) -> bool:
    """Return True if a stored vector has `dimension` finite numbers and unit length."""
    if len(blob) != 4 * dimension:
        return False
    vector = np.frombuffer(blob, dtype="<f4").astype(np.float64)
    return bool(abs(vector @ vector - 1) < _MAX_LENGTH_ERROR)


def exact_cosines(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (n,) inner products of (n, d) vectors with a (d,) query, summed in float64 and rounded to float32.

    float32 sums in different orders differ in the last digit, so equal vectors at different places of a matrix could
    get different products. Here, equal vectors always have equal cosines.
    """
    return np.multiply(vectors, query, dtype=np.float64).sum(axis=1).astype(np.float32)


def cosines_of(
    connection: sqlite3.Connection, query: NDArray[np.float32], passages: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the (n,) cosines of passages with increasing IDs; summed in float64 and rounded to float32.

    Raises:
        IndexDamaged: a passage has no embedding.
    """
    cosines, done = np.empty(len(passages), dtype=np.float32), 0
    for ids, vectors in embeddings(connection, len(query), among=passages):
        cosines[done : done + len(ids)] = exact_cosines(vectors, query)
        done += len(ids)
    if done != len(passages):
        raise IndexDamaged(
            f"{len(passages) - done} embeddings are missing from the index. {IndexDamaged.CHECK}"
        )
    return cosines


def pairs_near(
    vectors: NDArray[np.float32], threshold: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the pairs of rows with a cosine of at least `threshold`, as blocks of (lower rows, higher rows).

    Args:
        vectors: (n, d) float32, unit length.
    """
    index = load_faiss().IndexFlatIP(vectors.shape[1])
    batch_rows = max(32, min(_BATCH_ROWS, _MAX_PAIRS // max(1, len(vectors))))
    for start in range(0, len(vectors), batch_rows):
        block = vectors[start : start + batch_rows]
        index.add(block)
        ends, _, earlier = index.range_search(block, threshold - _ROUNDING)
        later = start + np.repeat(np.arange(len(block)), np.diff(ends.astype(np.int64)))
        is_pair = earlier < later
        yield earlier[is_pair], later[is_pair]


def embeddings(
    connection: sqlite3.Connection,
    dimension: int,
    after: int = 0,
    upto: int = MAX_ID,
    among: NDArray[np.int64] | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield blocks of (passage ids, vectors (n, d)), in the order of ids.

    Args:
        after, upto: only passages with ids above `after`, up to `upto`.
        among: only these passages, by increasing ids; missing ones are skipped.

    Raises:
        IndexDamaged: a vector has another dimension.
    """
    if among is None:
        rows = connection.execute(f"{_VECTORS} > ? AND passage <= ? ORDER BY passage", (after, upto))
        blocks = iter(partial(rows.fetchmany, _BATCH_ROWS), [])
    else:
        blocks = map(partial(_rows, connection, among), range(0, len(among), _BATCH_ROWS))
    for block in filter(None, blocks):
        ids, blobs = zip(*block, strict=True)
        try:
            vectors = np.frombuffer(b"".join(blobs), dtype="<f4")
        except UNREADABLE as error:
            raise unreadable("the embeddings of the index", error) from error
        if vectors.size != len(ids) * dimension:
            raise IndexDamaged(f"embeddings in the index have the wrong size. {IndexDamaged.CHECK}")
        yield np.array(ids, dtype=np.int64), vectors.reshape(-1, dimension)


def _rows(
    connection: sqlite3.Connection, among: NDArray[np.int64], start: int
) -> list[tuple[int, bytes]]:
    ids = json.dumps(among[start : start + _BATCH_ROWS].tolist())
    query = f"{_VECTORS} IN (SELECT value FROM json_each(?)) ORDER BY passage"
    return connection.execute(query, (ids,)).fetchall()
