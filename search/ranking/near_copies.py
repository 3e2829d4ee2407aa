"""The passages of an index that say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from search.ranking.duplicates import check_threshold, clusters
from search.records.hits import Cluster, Copy
from search.store.database import one_meta
from search.store.snapshot import StoredPassage, stored_passages
from search.store.stored_vectors import embeddings, embeddings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.ranking.rank import Allowed
    from search.store.vectors import LoadedVectors

_AT_ONCE = 256  # rows of a cluster that are compared with all its rows


def near_copies(loaded: LoadedVectors, threshold: float, allowed: Allowed | None = None) -> list[Cluster]:
    """See `Index.duplicates`."""
    check_threshold(threshold)
    with loaded.reader.reading() as connection:
        dimension = int(one_meta(connection, "fingerprint")["dimension"])
        if allowed:
            blocks = list(embeddings_of(connection, dimension, allowed(connection)))
        else:
            blocks = list(embeddings(connection, dimension))
    if not blocks:
        return []
    ids = np.concatenate([block for block, _ in blocks])
    vectors = np.concatenate([block for _, block in blocks])
    del blocks
    found = clusters(vectors, threshold)
    with loaded.reader.reading() as connection:
        stored = stored_passages(connection, ids[np.concatenate(found)].tolist() if found else [])
    made = [_cluster(ids[rows].tolist(), vectors[rows], stored) for rows in found]
    return sorted(
        (one for one in made if one), key=lambda one: (-len(one.passages), one.passages[0].passage_id)
    )


def _cluster(
    ids: list[int], vectors: NDArray[np.float32], stored: dict[int, StoredPassage]
) -> Cluster | None:
    """A cluster of the passages that are still there; None if that is only one."""
    there = [i for i, id_ in enumerate(ids) if id_ in stored]
    if len(there) < 2:
        return None
    nearest = _nearest(vectors[there])
    first_with: dict[str, int] = {}
    copies = []
    for place, cosine in zip(there, nearest, strict=True):
        one = stored[ids[place]]
        first = first_with.setdefault(one.text, one.id)
        copies.append(
            Copy(
                passage_id=one.id,
                path=one.path,
                document=one.document,
                title=one.title,
                heading=one.heading,
                text=one.text,
                start=one.start,
                end=one.end,
                line_start=one.line_start,
                line_end=one.line_end,
                page=one.page,
                cosine=cosine,
                same_text_as=None if first == one.id else first,
            )
        )
    return Cluster(tuple(copies), len(first_with) == 1, min(nearest))


def _nearest(vectors: NDArray[np.float32]) -> list[float]:
    """(n,) cosines of each row with the row that is nearest to it."""
    found: list[float] = []
    for start in range(0, len(vectors), _AT_ONCE):
        cosines = vectors[start : start + _AT_ONCE] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        found += np.minimum(cosines.max(axis=1), 1.0).tolist()
    return found
