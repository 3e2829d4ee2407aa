"""Embeddings as they lie in index.db, and exact search among vectors in memory, FAISS's or NumPy's.

Sums of float32 in different orders differ in the last digit: equal vectors at two places of a matrix may get two
products, and of passages that are equally near FAISS takes any. So FAISS and matrix products only choose whose
cosines are worth adding up one by one, in float64. Then equal vectors have equal cosines wherever they lie,
and equal cosines are ordered by passage id.

Token vectors of passages are kept for those who ask for them at index time, one byte a dimension; without them a rerank
by late interaction encodes its candidates anew. A token's vector is scaled to length 1 and kept as whole numbers from
-127 to 127 and one factor, so a row has n (4 + d) bytes for n tokens: with d = 384 about 390 bytes a token, where the
text has 5. Special tokens and the prompt are left out.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.records.shown import shown
from search.records.tokens import Token, TokenVectors
from search.store.checksums import covered, hidden_of, is_blob, require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.encoder import Encoder


# Far more than two sums of the same products differ by.
_ROUNDING = 1e-5

# Float64 takes twice the memory of the vectors, so there are never many of them.
_ROWS_AT_ONCE = 1024

# That one search for pairs may come back with: 400 MB.
_MOST_PAIRS = 1 << 25


# Bytes of address space that FAISS and its BLAS take when they are loaded, and for each core of the machine besides.
_FAISS_TAKES, _FAISS_TAKES_A_CORE = 300 << 20, 50 << 20


def load_faiss() -> Any:
    """The module `faiss`.

    Raises:
        MemoryError: there is not the room for it; it does not look, and would end the process.
    """
    if "faiss" not in sys.modules and os.name == "posix":
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            import psutil

            needed = _FAISS_TAKES + _FAISS_TAKES_A_CORE * (os.cpu_count() or 1)
            if psutil.Process().memory_info().vms + needed > most:
                raise MemoryError
    import faiss

    return faiss


def nearest_of(
    numbered: Any, query: NDArray[np.float32], k: int, only: NDArray[np.int64] | None = None
) -> list[tuple[int, float]]:
    """The k passages in a FAISS file with the highest cosine, best first, as (passage id, cosine).

    Args:
        numbered: an IndexIDMap over an IndexFlatIP, its ids increasing, as `search.store.faiss_file` writes it.
        query: (d,) unit length.
        k: at least 1.
        only: ids of the passages to choose from, increasing; None for all.

    Raises:
        IndexDamaged: one of `only` is not in the file.
    """
    import faiss

    library: Any = faiss  # its types lack what its Python layer adds
    vectors, ids = library.downcast_index(numbered.index), library.vector_to_array(numbered.id_map)
    places = np.arange(len(ids)) if only is None else _places(ids, only)
    if k < len(places):
        parameters = None
        if only is not None:
            chosen = np.zeros(len(ids), dtype=bool)
            chosen[places] = True
            selector = library.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))
            parameters = library.SearchParameters(sel=selector)
        # More and more, until what is left out is farther than rounding could hide.
        rows, wanted, n = query[None, :], k + 1, len(places)
        rough, places = vectors.search(rows, wanted, params=parameters)
        while wanted < n and rough[0, -1] >= rough[0, k - 1] - _ROUNDING:
            wanted = min(4 * wanted, n)
            rough, places = vectors.search(rows, wanted, params=parameters)
        places = np.sort(places[0])
    everything = library.rev_swig_ptr(vectors.get_xb(), vectors.ntotal * vectors.d).reshape(-1, vectors.d)
    return best(ids[places], everything, query, k, places)


def _places(ids: NDArray[np.int64], only: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where passages lie in the file."""
    places = np.searchsorted(ids, only)
    there = ids[np.minimum(places, len(ids) - 1)] == only
    if not there.all():
        raise IndexDamaged(
            f"the FAISS file lacks the embedding of passage {only[~there][0]}. Mend it with: seewhy repair"
        )
    return places


def best(
    ids: NDArray[np.int64],
    vectors: NDArray[np.float32],
    query: NDArray[np.float32],
    k: int,
    rows: NDArray[np.int64] | None = None,
) -> list[tuple[int, float]]:
    """The k passages with the highest cosine, best first, as (passage id, cosine).

    Args:
        ids: (n,) of passages.
        vectors: (n, d) their embeddings; or more than theirs, and `rows`, (n,), says which are.
        query: (d,) unit length.
    """
    if rows is None:
        rows = np.arange(len(ids))
        if len(ids) > k:
            rough = vectors @ query
            rows = np.flatnonzero(rough >= np.partition(rough, -k)[-k] - _ROUNDING)
            ids = ids[rows]
    cosines = [
        np.multiply(vectors[rows[start : start + _ROWS_AT_ONCE]], query, dtype=np.float64).sum(axis=1)
        for start in range(0, len(rows), _ROWS_AT_ONCE)
    ]
    rounded = np.concatenate([np.empty(0), *cosines]).astype(np.float32)
    first = np.lexsort((ids, -rounded))[:k]
    return list(zip(ids[first].tolist(), rounded[first].tolist(), strict=True))


def pairs_near(
    vectors: NDArray[np.float32], threshold: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Blocks of (rows, later rows) of the pairs whose cosine may be as high as `threshold`, but for rounding.

    Args:
        vectors: (n, d) float32, unit length.
    """
    index = load_faiss().IndexFlatIP(vectors.shape[1])
    rows_at_once = max(32, min(_ROWS_AT_ONCE, _MOST_PAIRS // max(1, len(vectors))))
    for start in range(0, len(vectors), rows_at_once):
        block = vectors[start : start + rows_at_once]
        index.add(block)
        ends, _, earlier = index.range_search(block, threshold - _ROUNDING)
        later = start + np.repeat(np.arange(len(block)), np.diff(ends.astype(np.int64)))
        is_pair = earlier < later
        yield earlier[is_pair], later[is_pair]


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
    connection: sqlite3.Connection, dimension: int, after: int = 0, among: NDArray[np.int64] | None = None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Blocks of (passage ids, vectors (n, d)), in the order of ids.

    Args:
        after: only passages with ids above it.
        among: only those of these passages, given by increasing ids, that are there.

    Raises:
        IndexDamaged: a vector is not the one that was written, or belongs elsewhere.
    """
    for rows in _blocks(connection, after, among):
        for id_, vector, checksum in rows:
            if not is_blob(vector, checksum) or len(vector) != 4 * dimension:
                raise IndexDamaged(f"the embedding of passage {id_} is damaged. Mend it with: seewhy repair")
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        if (np.diff(ids, prepend=after) <= 0).any():  # a page of the table that is a copy of another
            raise IndexDamaged(
                "embeddings of the index stand where others belong. Make the index again with: seewhy index FOLDER "
                "--rebuild"
            )
        after = int(ids[-1])
        yield ids, np.frombuffer(b"".join(row[1] or b"" for row in rows), dtype="<f4").reshape(-1, dimension)


def _blocks(
    connection: sqlite3.Connection, after: int, among: NDArray[np.int64] | None
) -> Iterator[list[tuple[int, bytes | None, int]]]:
    columns = "SELECT passage, vector, checksum FROM embeddings WHERE passage"
    if among is None:
        rows = connection.execute(f"{columns} > ? ORDER BY passage", (after,))
        yield from iter(lambda: rows.fetchmany(_ROWS_AT_ONCE), [])
        return
    for start in range(0, len(among), _ROWS_AT_ONCE):
        wanted = json.dumps(among[start : start + _ROWS_AT_ONCE].tolist())
        those = f"{columns} IN (SELECT value FROM json_each(?)) ORDER BY passage"
        if block := connection.execute(those, (wanted,)).fetchall():
            yield block


def is_stored(
    connection: sqlite3.Connection, query: NDArray[np.float32], found: list[tuple[int, float]]
) -> bool:
    """Whether what was found in the FAISS file has the cosines that the embeddings in index.db give."""
    ids = np.array(sorted(id_ for id_, _ in found), dtype=np.int64)
    stored: list[tuple[int, float]] = []
    for block, vectors in embeddings(connection, len(query), among=ids):
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


_TEXTS_AT_ONCE = 128


def kept(tokens: Sequence[Token]) -> list[int]:
    """The positions of the tokens that have vectors: those of the text and its context."""
    return [i for i, token in enumerate(tokens) if token.part in ("text", "context")]


def unit_rows(vectors: TokenVectors) -> NDArray[np.float32]:
    """(n, d) last-layer vectors of the tokens of the text and its context, each of length 1."""
    rows = np.asarray(vectors.layers[max(vectors.layers)][kept(vectors.tokens)], dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def packed(rows: NDArray[np.float32]) -> bytes:
    """Unit rows, (n, d), as they are stored: n factors as little-endian float32, then n d signed bytes."""
    factors = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-12) / 127
    numbers = np.rint(rows / factors[:, None]).astype(np.int8)
    return factors.astype("<f4").tobytes() + numbers.tobytes()


def unpacked(blob: bytes, dimension: int) -> NDArray[np.float32]:
    """(n, d) rows, of length 1 again."""
    n = len(blob) // (4 + dimension)
    factors = np.frombuffer(blob, dtype="<f4", count=n)
    numbers = np.frombuffer(blob, dtype=np.int8, offset=4 * n).reshape(n, dimension)
    rows = numbers * factors[:, None]
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def token_vectors_of(
    connection: sqlite3.Connection, passages: Sequence[int], dimension: int
) -> dict[int, NDArray[np.float32]]:
    """The vectors of those of the passages that have them, whole; what is damaged is left out."""
    rows = connection.execute(
        """SELECT passage, vectors, checksum FROM token_vectors
           WHERE passage IN (SELECT value FROM json_each(?))""",
        (json.dumps(list(passages)),),
    )
    return {
        id_: unpacked(blob, dimension)
        for id_, blob, checksum in rows
        if is_blob(blob, checksum) and len(blob) % (4 + dimension) == 0
    }


def missing_token_vectors(
    connection: sqlite3.Connection, encoder: Encoder
) -> Iterator[tuple[list[tuple[int, bytes, int]], int, int]]:
    """Rows for the passages that have none, batch by batch, with how many are done, and of how many.

    They are encoded outside of any transaction.
    """
    lacking = connection.execute(
        """SELECT passages.id, context, text, hidden FROM passages LEFT JOIN token_vectors ON passage = passages.id
           WHERE passage IS NULL ORDER BY passages.id"""
    ).fetchall()
    for start in range(0, len(lacking), _TEXTS_AT_ONCE):
        batch = lacking[start : start + _TEXTS_AT_ONCE]
        found = encoder.tokens(
            [shown(text, hidden_of(hidden, text)) for _, _, text, hidden in batch],
            contexts=[context for _, context, _, _ in batch],
            role="document",
        )
        blobs = [packed(unit_rows(vectors)) for vectors in found]
        rows = [(id_, blob, zlib.crc32(blob)) for (id_, *_), blob in zip(batch, blobs, strict=True)]
        yield rows, start + len(batch), len(lacking)
