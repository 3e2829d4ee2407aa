"""The passages that are nearest to a query: exact, of few embeddings.

Codes (codes.py) choose whose cosines are worth adding up. With each segment's slack, a passage's cosine is at most its
rough cosine and the slack. So the k best are known when the k-th best cosine so far, added up from the embeddings in
index.db, is above the highest that any other passage can have. Else more are looked at. This is the bound of the
threshold algorithm (Fagin, Lotem and Naor 2003) with one list.

Equal cosines are ordered by passage id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.store.codes import Codes, RoughQuery
from search.store.vectors import embeddings, exact_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_FIRST = 3  # times as many as asked for
_MORE = 4  # times as many as before
_FEWEST = 16


class Piece:
    """What of a segment is looked at in one search.

    Args:
        chosen: (n,) which of its passages; None for all.
        sparing: give the memory of the codes back at once, as who asks once does not need them again.

    Attributes:
        wanted, ids, rough: how many were looked for at last, and what was found; `slack`, how far rough cosines may be
            off; `rest`, the highest cosine that any other passage can have.
    """

    def __init__(
        self, codes: Codes, chosen: NDArray[np.bool_] | None = None, *, sparing: bool = False
    ) -> None:
        self.codes, self._chosen, self._sparing = codes, chosen, sparing
        self.count = len(codes.ids) if chosen is None else int(np.count_nonzero(chosen))

    @property
    def passages(self) -> NDArray[np.int64]:
        """The ids of all that it is of, increasing."""
        return self.codes.ids if self._chosen is None else self.codes.ids[self._chosen]

    def look(self, query: RoughQuery, wanted: int) -> None:
        """Look for so many, or for all if that is not far from it."""
        self.wanted = wanted if 2 * wanted < self.count else self.count
        rows, self.rough = self.codes.nearest(query, self.wanted, self._chosen)
        self.ids = self.codes.ids[rows]
        if self._sparing:
            self.codes.give_back()
        self.slack = query.slack(self.codes.scale)
        self.rest = float(self.rough[-1]) + self.slack if self.wanted < self.count else -np.inf


def nearest_of(
    connection: sqlite3.Connection,
    pieces: Sequence[Piece],
    query: NDArray[np.float32],
    k: int,
    known: dict[int, float],
) -> list[tuple[int, float]]:
    """The k passages with the highest cosine, best first, as (passage id, cosine).

    Args:
        pieces: where to look; no two have a passage in common.
        query: (d,) unit length.
        known: passage id -> cosine of what is in no piece; what is found is added.
    """
    pieces = [piece for piece in pieces if piece.count]
    rough_query = RoughQuery(query)
    for piece in pieces:
        piece.look(rough_query, _AT_FIRST * k // len(pieces) + _FEWEST)
    while pieces:
        found = _Found(pieces)
        found.add(connection, query, found.best(k), known)
        found.add(connection, query, found.at_least(_kth(known, k)), known)
        least = _kth(known, k)
        unsure = [piece for piece in pieces if piece.wanted < piece.count and piece.rest >= least]
        if not unsure:
            break
        for piece in unsure:
            piece.look(rough_query, _MORE * piece.wanted)
    return sorted(known.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def _kth(known: dict[int, float], k: int) -> float:
    """The k-th highest cosine; below all where there are fewer."""
    if len(known) < k:
        return -np.inf
    return float(np.partition(np.fromiter(known.values(), np.float64, len(known)), -k)[-k])


class _Found:
    """What was found in all pieces."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._ids = np.concatenate([piece.ids for piece in pieces])
        self._rough = np.concatenate([piece.rough for piece in pieces])
        self._of = np.repeat(np.arange(len(pieces)), [len(piece.ids) for piece in pieces])
        self._slack = np.array([piece.slack for piece in pieces])[self._of]

    def best(self, k: int) -> NDArray[np.intp]:
        """The k that seem to be the best."""
        return np.argsort(-self._rough)[:k]

    def at_least(self, cosine: float) -> NDArray[np.intp]:
        """Those whose cosine may be as high."""
        return np.flatnonzero(self._rough + self._slack >= cosine)

    def add(
        self,
        connection: sqlite3.Connection,
        query: NDArray[np.float32],
        places: NDArray[np.intp],
        known: dict[int, float],
    ) -> None:
        """Add up the cosines of those of them that are not known yet."""
        new = np.array([place for place in places if int(self._ids[place]) not in known], dtype=np.intp)
        ids = np.sort(self._ids[new])
        known.update(zip(ids.tolist(), cosines_of(connection, query, ids).tolist(), strict=True))


def cosines_of(
    connection: sqlite3.Connection, query: NDArray[np.float32], passages: NDArray[np.int64]
) -> NDArray[np.float32]:
    """(n,) the cosines of passages, given by increasing ids: added up in float64, rounded to float32.

    Raises:
        IndexDamaged: one has no embedding.
    """
    ids, found = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.float32)]
    for block, vectors in embeddings(connection, len(query), among=passages):
        ids.append(block)
        found.append(exact_cosines(vectors, query))
    there = np.concatenate(ids)
    if len(there) != len(passages):
        missing = np.setdiff1d(passages, there)[0]
        raise IndexDamaged(
            f"the embedding of passage {missing} is missing. To fix this, run: seewhy check --repair"
        )
    return np.concatenate(found)
