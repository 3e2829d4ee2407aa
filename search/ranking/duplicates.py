"""Passages that say the same: all pairs with a cosine above a threshold, joined to clusters.

Exact: every pair is looked at. Passages with equal embeddings are taken together first. Of the others, what two unit
vectors can have in common is bounded before it is computed: with P the projection to a few main directions and R what
is left of a vector,

    a . b  =  Pa . Pb + Ra . Rb  <=  Pa . Pb + |Ra| |Rb|

so one product of short vectors tells for most pairs that they are below the threshold (the inequality of Cauchy and
Schwarz). The rest are compared in full. Memory: the embeddings, and blocks of a fixed size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIRECTIONS = 64  # measured: of 32, 48, 64 and 96 the quickest with d = 384
_ROWS, _COLUMNS = 1024, 4096
_ROUNDING = 1e-5  # far more than sums of float32 in different orders differ by
_SAMPLE = 4096


def check_threshold(threshold: float) -> None:
    """
    Raises:
        InputError: it is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise InputError(
            f"the threshold is {threshold}; it must be a cosine above 0, and 1 at most: 0.95, for instance."
        )


def clusters(vectors: NDArray[np.float32], threshold: float) -> list[NDArray[np.int64]]:
    """Rows that are joined by pairs with a cosine of at least `threshold`, two rows or more in each cluster.

    Two rows of a cluster may be less alike than the threshold: there is then a chain of others between them.

    Args:
        vectors: (n, d) float32, unit length.
        threshold: in (0, 1].

    Returns:
        Increasing rows, the clusters by their first row.
    """
    check_threshold(threshold)
    if not len(vectors):
        return []
    different, equal_to = _different(vectors)
    labels = np.arange(len(different))
    few = vectors[different]
    for first, second in _pairs(few, threshold):
        apart = labels[first] != labels[second]
        close = _exact(few, first[apart], second[apart], threshold)
        labels = _joined(labels, *close)
    return _groups(labels[equal_to])


def _different(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each embedding, and for all rows which of these it equals."""
    rows: dict[bytes, int] = {}
    equal_to = np.array([rows.setdefault(vector.tobytes(), len(rows)) for vector in vectors], dtype=np.int64)
    _, first = np.unique(equal_to, return_index=True)
    return first.astype(np.int64), equal_to


def _pairs(
    vectors: NDArray[np.float32], threshold: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Blocks of (rows, other rows) of the pairs whose cosine may be as high as `threshold`, but for rounding."""
    bounds = _bounding(vectors)
    least = np.float32(threshold - _ROUNDING)
    for row in range(0, len(vectors), _ROWS):
        for column in range(row, len(vectors), _COLUMNS):
            possible = bounds[row : row + _ROWS] @ bounds[column : column + _COLUMNS].T >= least
            rows, columns = row + _where_any(possible, 1), column + _where_any(possible, 0)
            if not len(rows):
                continue
            first, second = np.nonzero(vectors[rows] @ vectors[columns].T >= least)
            first, second = rows[first], columns[second]
            later = first < second
            yield first[later], second[later]


def _where_any(possible: NDArray[np.bool_], axis: int) -> NDArray[np.int64]:
    return np.flatnonzero(possible.any(axis=axis))


def _exact(
    vectors: NDArray[np.float32], first: NDArray[np.int64], second: NDArray[np.int64], threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Those of the pairs whose cosine, added up in float64, is high enough."""
    kept = []
    for start in range(0, len(first), _ROWS):
        mine, other = first[start : start + _ROWS], second[start : start + _ROWS]
        kept.append(np.multiply(vectors[mine], vectors[other], dtype=np.float64).sum(axis=1) >= threshold)
    high = np.concatenate([np.empty(0, dtype=bool), *kept])
    return first[high], second[high]


def _bounding(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, m + 1) vectors whose products are at least those of the given ones."""
    if vectors.shape[1] <= 2 * _DIRECTIONS:
        return vectors
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    _, directions = np.linalg.eigh(sample.T @ sample)  # by increasing share
    main = directions[:, -_DIRECTIONS:].astype(np.float32)
    short = vectors @ main
    left = np.linalg.norm(vectors - short @ main.T, axis=1, keepdims=True)
    return np.hstack([short, left])


def _joined(
    labels: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Labels of rows, where those of each pair have become one: the lower one."""
    links = np.unique(np.column_stack([labels[first], labels[second]]), axis=0)
    links = links[links[:, 0] != links[:, 1]]
    if not len(links):
        return labels
    parent: dict[int, int] = {}

    def root(label: int) -> int:
        while parent.get(label, label) != label:
            parent[label] = parent.get(parent[label], parent[label])
            label = parent[label]
        return label

    for mine, other in links.tolist():
        low, high = sorted((root(mine), root(other)))
        parent[high] = low
    renamed = np.arange(len(labels))
    for label in list(parent):
        renamed[label] = root(label)
    return renamed[labels]


def _groups(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows of each label that more than one row has."""
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    found = [rows for rows in np.split(order, cuts) if len(rows) > 1]
    return sorted(found, key=lambda rows: int(rows[0]))
