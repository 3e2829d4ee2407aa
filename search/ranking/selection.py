"""Which part of a ranking is shown, and in which order; the scores stay what they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError
from search.ranking.diversity import POOL, check_diversity, diverse_order
from search.ranking.grouping import by_document, within
from search.ranking.ranking import Scored
from search.store.database import one_meta
from search.store.stored_vectors import embeddings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Selection:
    """What of a ranking is wanted; make one with `Selection.of`.

    In this order: what scores less than `min_score` is left out; the best passages are put in another order for
    `diversity`; documents are limited, or grouped; `offset` hits are passed over and k are taken.

    Attributes:
        k: how many hits; with `group` how many documents.
        offset: how many hits (documents) to pass over. Ranks go on counting.
        per_document: most passages of one document, 0 for no limit. Without `group` it gives way where fewer than
            `offset + k` hits would come back: the others stand behind those within it, best first. So a rank
            means the same passage whatever k and the offset are; with a rerank, as long as `offset + k` is at most
            30, as it looks at more passages for more hits.
        group: passages of one document stand together, documents in the order of their best passages.
        min_score: least score of a hit; None for any.
        diversity: see `search.ranking.diversity`.
    """

    k: int = 10
    offset: int = 0
    per_document: int = 0
    group: bool = False
    min_score: float | None = None
    diversity: float = 0.0

    @classmethod
    def of(
        cls,
        k: int = 10,
        offset: int = 0,
        per_document: int = 0,
        group: bool = False,
        min_score: float | None = None,
        diversity: float = 0.0,
    ) -> Selection:
        """
        Raises:
            InputError: k < 1, offset or per_document below 0, or a diversity that is not in [0, 1].
        """
        if k < 1:
            raise InputError(f"k is {k}, but at least 1 hit must be asked for.")
        if offset < 0:
            raise InputError(f"offset is {offset}; use 0 to begin with the best hit.")
        if per_document < 0:
            raise InputError(f"per_document is {per_document}; use 0 for no limit.")
        if min_score is not None and min_score != min_score:
            raise InputError("min_score is no number.")
        check_diversity(diversity)
        return cls(k, offset, per_document, group, min_score, diversity)

    @property
    def last(self) -> int:
        """How many hits (documents) there are up to the last that is wanted."""
        return self.offset + self.k

    @property
    def depth(self) -> int:
        """How much of the ranking to look at first."""
        depth = 4 * self.last if self.per_document or self.group else self.last
        return max(depth, POOL) if self.diversity else depth


def selected(
    best: Sequence[Scored],
    whole: bool,
    wanted: Selection,
    document_of: Callable[[Sequence[int]], Mapping[int, object]],
    vectors_of: Callable[[Sequence[int]], NDArray[np.float32]],
) -> list[list[Scored]] | None:
    """What is wanted of a ranking, from its beginning on: hits, each alone, or those of a document together.

    Args:
        best: the beginning of the ranking; `whole` if there is no more.
        document_of, vectors_of: documents and embeddings of passages.

    Returns:
        At most `wanted.last`; None where more of the ranking has to be looked at.
    """
    worth = [item for item in best if wanted.min_score is None or item.score >= wanted.min_score]
    whole = whole or len(worth) < len(best)  # what is behind scores even less
    if wanted.diversity and worth:
        first = worth[:POOL]
        vectors = vectors_of([item.passage for item in first])
        order = diverse_order([item.score for item in first], vectors, wanted.diversity)
        worth[:POOL] = [first[i] for i in order]
    found = [[item] for item in worth]
    if wanted.group:
        found = by_document(worth, document_of([item.passage for item in worth]))
    elif wanted.per_document:
        documents = document_of([item.passage for item in worth])
        first, others = within(wanted.per_document, worth, documents)
        found = [[item] for item in (first + others if whole else first)]
    return found[: wanted.last] if whole or len(found) >= wanted.last else None


def numbered(found: Sequence[Sequence[Scored]], wanted: Selection) -> list[tuple[int, Scored]]:
    """The hits that are wanted, with their ranks, of what `selected` found."""
    most = wanted.per_document or None
    groups = [group[:most] for group in found]
    before = sum(map(len, groups[: wanted.offset]))
    return list(enumerate((item for group in groups[wanted.offset :] for item in group), before + 1))


def stored_vectors(connection: sqlite3.Connection, passages: Sequence[int]) -> NDArray[np.float32]:
    """(n, d) the embeddings of passages that are there, in their order."""
    dimension = int(one_meta(connection, "fingerprint")["dimension"])
    wanted = np.array(passages, dtype=np.int64)
    ids = np.unique(wanted)
    blocks = [vectors for _, vectors in embeddings_of(connection, dimension, ids)]
    found = np.concatenate([np.empty((0, dimension), dtype=np.float32), *blocks])
    return found[np.searchsorted(ids, wanted)]
