"""Exact search among vectors in memory, FAISS's or NumPy's, with one order for equal vectors.

Sums of float32 in different orders differ in the last digit: equal vectors at two places of a matrix may get two
products, and of passages that are equally near FAISS takes any. So FAISS and matrix products only choose whose
cosines are worth adding up one by one, in float64. Then equal vectors have equal cosines wherever they lie,
and equal cosines are ordered by passage id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Far more than two sums of the same products differ by.
_ROUNDING = 1e-5

# Float64 takes twice the memory of the vectors, so there are never many of them.
_ROWS_AT_ONCE = 1024

# That one search for pairs may come back with: 400 MB.
_MOST_PAIRS = 1 << 25


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
    import faiss

    index: Any = faiss.IndexFlatIP(vectors.shape[1])
    rows_at_once = max(32, min(_ROWS_AT_ONCE, _MOST_PAIRS // max(1, len(vectors))))
    for start in range(0, len(vectors), rows_at_once):
        block = vectors[start : start + rows_at_once]
        index.add(block)
        ends, _, earlier = index.range_search(block, threshold - _ROUNDING)
        later = start + np.repeat(np.arange(len(block)), np.diff(ends.astype(np.int64)))
        is_pair = earlier < later
        yield earlier[is_pair], later[is_pair]
