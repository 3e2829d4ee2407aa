"""Pending passages: stored and found by their words, but not encoded yet.

Table `pending` lists their IDs. It exists only while there are any, so a complete index is the same as one whose
passages were encoded before they were stored.

A process that may not write, because another one does or because the medium cannot be written, keeps the embeddings
that it computes for a question in memory (`OnDemand`), where its own snapshots find them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError, SearchError
from search.store.database import has_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

PENDING = "passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE"
"""Columns of table `pending`."""

_MAX_ON_DEMAND = 10_000  # embeddings in memory


class NotEncoded(SearchError):
    """An embedding is requested of passages that are pending; who catches it can encode them, and ask again.

    Attributes:
        passages: their IDs.
    """

    def __init__(self, passages: Ids) -> None:
        super().__init__(f"{len(passages):,} passages are not encoded yet.")
        self.passages: list[int] = passages.tolist()


def lacking(count: int, work: str, command: str) -> InputError:
    """Return the error for work that would leave out pending passages.

    Args:
        work: what would lack them.
        command: command that encodes them.
    """
    return InputError(
        f"{count:,} passages are not encoded yet, so {work} would lack them. Run first: {command}"
    )


def some_pending(connection: sqlite3.Connection, first: int = 0, last: int = 2**62) -> bool:
    """Return True if a passage from `first` to `last` is pending."""
    if not has_table(connection, "pending"):
        return False
    select = "SELECT 1 FROM pending WHERE passage BETWEEN ? AND ? LIMIT 1"
    return connection.execute(select, (first, last)).fetchone() is not None


def pending_among(connection: sqlite3.Connection, passages: Sequence[int]) -> set[int]:
    """Return those of some passages that are pending."""
    if not has_table(connection, "pending"):
        return set()
    select = "SELECT passage FROM pending WHERE passage IN (SELECT value FROM json_each(?))"
    return {passage for (passage,) in connection.execute(select, (json.dumps(list(passages)),))}


def pending_passages(connection: sqlite3.Connection, first: int = 0, last: int = 2**62) -> Ids:
    """Return the increasing IDs of the pending passages from `first` to `last`."""
    if not has_table(connection, "pending"):
        return np.empty(0, dtype=np.int64)
    select = "SELECT passage FROM pending WHERE passage BETWEEN ? AND ? ORDER BY passage"
    rows = connection.execute(select, (first, last))
    return np.fromiter((passage for (passage,) in rows), dtype=np.int64)


def count_pending(connection: sqlite3.Connection) -> int:
    """Return the number of pending passages."""
    if not has_table(connection, "pending"):
        return 0
    return int(connection.execute("SELECT count(*) FROM pending").fetchone()[0])


def pending_tokens(connection: sqlite3.Connection) -> int:
    """Return the number of tokens of the pending passages."""
    if not has_table(connection, "pending"):
        return 0
    select = "SELECT coalesce(sum(n_tokens), 0) FROM passages WHERE id IN (SELECT passage FROM pending)"
    return int(connection.execute(select).fetchone()[0])


class OnDemand:
    """Embeddings of pending passages in the memory of this process. Immutable.

    Attributes:
        ids: (n,) IDs of the passages, increasing.
        vectors: (n, d) their embeddings.
    """

    def __init__(self, ids: Ids, vectors: NDArray[np.float32]) -> None:
        self.ids, self.vectors = ids, vectors

    @classmethod
    def none(cls, dimension: int) -> OnDemand:
        """Return an empty collection of embeddings with this dimension."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, dimension), dtype=np.float32))

    def with_more(self, ids: Ids, vectors: NDArray[np.float32]) -> OnDemand:
        """Return a collection with more embeddings; if there are too many, only the new ones."""
        if len(self.ids) + len(ids) > _MAX_ON_DEMAND:
            merged, rows = ids, vectors
        else:
            merged, rows = np.concatenate([self.ids, ids]), np.concatenate([self.vectors, vectors])
        unique, first = np.unique(merged, return_index=True)
        return OnDemand(unique, rows[first])

    def without(self, passages: Ids) -> OnDemand:
        """Return a collection that lacks some passages."""
        left = ~np.isin(self.ids, passages)
        return OnDemand(self.ids[left], self.vectors[left])

    def among(self, passages: Ids) -> OnDemand:
        """Return the embeddings of some passages, given by increasing IDs."""
        if not len(self.ids) or not len(passages):
            return OnDemand(self.ids[:0], self.vectors[:0])
        chosen = np.isin(self.ids, passages)
        return OnDemand(self.ids[chosen], self.vectors[chosen])

    def rows(self, passages: Ids) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the row of each passage, and a mask: True if its embedding is here."""
        if not len(self.ids):
            return np.zeros(len(passages), dtype=np.intp), np.zeros(len(passages), dtype=bool)
        rows = np.minimum(np.searchsorted(self.ids, passages), len(self.ids) - 1)
        return rows, self.ids[rows] == passages
