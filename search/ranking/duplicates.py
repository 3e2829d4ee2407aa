"""Near-duplicate passages: all pairs with a cosine of at least a threshold, joined into clusters.

The result is exact, because every pair is compared. Passages with equal embeddings are merged first, so a text that
occurs in every file is compared once. Memory holds two copies of the embeddings, and pairs in blocks of a fixed size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from search.errors import InputError
from search.records.contents import StoredPassage
from search.records.hits import Cluster, Copy
from search.store.conditions import Where
from search.store.passages import existing
from search.store.snapshot import Store
from search.store.vectors import pairs_near

_BATCH_ROWS = 1024  # rows, or pairs of rows, in a block


def near_copies(store: Store, threshold: float, where: Where | None) -> list[Cluster]:
    """Return the clusters of an index, the largest first. See `Index.duplicates`."""
    if not 0 < threshold <= 1:
        raise InputError(
            f"the threshold is {threshold}; give a cosine above 0 and at most 1, for example 0.95."
        )
    with store.reading() as snapshot:
        snapshot.require_complete("the list of duplicates")
        blocks = list(snapshot.embedding_blocks(snapshot.passing(where)))
        if not blocks:
            return []
        ids, vectors = map(np.concatenate, zip(*blocks, strict=True))
        del blocks
        groups = clusters(vectors, threshold)
        stored = existing(snapshot, ids[np.concatenate(groups)].tolist() if groups else [])
    copies = [_cluster(ids[rows].tolist(), vectors[rows], stored) for rows in groups]
    return sorted(copies, key=lambda cluster: (-len(cluster.passages), cluster.passages[0].passage_id))


def clusters(vectors: NDArray[np.float32], threshold: float) -> list[NDArray[np.int64]]:
    """Group rows that are linked by pairs with a cosine of at least `threshold`; rows without such a pair are left out.

    The cosine of two rows of a cluster may be lower if a chain of other rows links them.

    Args:
        vectors: (n, d) float32, unit length.
        threshold: in (0, 1].

    Returns:
        The rows of each cluster, increasing; clusters are ordered by their first row.
    """
    number_of: dict[bytes, int] = {}  # embedding -> its row in `different`
    numbers = np.array(
        [number_of.setdefault(row.tobytes(), len(number_of)) for row in vectors], dtype=np.int64
    )
    _, first_rows = np.unique(numbers, return_index=True)
    different = vectors[first_rows]
    labels = np.arange(len(different))
    for left, right in pairs_near(different, threshold):
        apart = labels[left] != labels[right]
        labels = _joined(labels, *_exact(different, left[apart], right[apart], threshold))
    return _groups(labels[numbers])


def _exact(
    vectors: NDArray[np.float32], left: NDArray[np.int64], right: NDArray[np.int64], threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs whose cosine, summed in float64, reaches the threshold."""
    high = np.zeros(len(left), dtype=bool)
    for start in range(0, len(left), _BATCH_ROWS):
        block = slice(start, start + _BATCH_ROWS)
        addends = np.multiply(vectors[left[block]], vectors[right[block]], dtype=np.float64)
        high[block] = addends.sum(axis=1) >= threshold
    return left[high], right[high]


def _joined(
    labels: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give both rows of each pair, and all rows linked to them, the same label; return the labels."""
    if not len(left):
        return labels
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(labels)
    links = coo_array((np.ones(len(left), dtype=bool), (labels[left], labels[right])), shape=(n, n))
    _, component = connected_components(links, directed=False)
    return component[labels]


def _groups(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each label that occurs more than once."""
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    groups = [rows for rows in np.split(order, cuts) if len(rows) > 1]
    return sorted(groups, key=lambda rows: int(rows[0]))


def _cluster(ids: list[int], vectors: NDArray[np.float32], stored: dict[int, StoredPassage]) -> Cluster:
    nearest = _nearest(vectors)
    first_with: dict[str, int] = {}
    copies = []
    for id_, cosine in zip(ids, nearest, strict=True):
        passage = stored[id_]
        first = first_with.setdefault(passage.text, id_)
        copies.append(Copy(**vars(passage), cosine=cosine, same_text_as=None if first == id_ else first))
    return Cluster(tuple(copies), len(first_with) == 1, min(nearest))


def _nearest(vectors: NDArray[np.float32]) -> list[float]:
    """Return the cosine of each row with the nearest other row."""
    nearest: list[float] = []
    for start in range(0, len(vectors), _BATCH_ROWS):
        cosines = vectors[start : start + _BATCH_ROWS] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        nearest += np.minimum(cosines.max(axis=1), 1.0).tolist()
    return nearest
