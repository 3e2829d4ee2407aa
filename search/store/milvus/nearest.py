"""The passages of an index on Milvus that are nearest to a query, and their embeddings.

The server orders candidates by inner products in float32; the cosines are added up here from their embeddings, as of an
index in a folder (`exact_cosines`), so they are the same numbers. Enough candidates are asked for that none can be
missed: the last one's product is so far below the k-th best cosine that no other can reach it, whatever the rounding.
With an index of the server that only approximates there is no such proof, and what it does not find is missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store.milvus.layout import DENSE, MOST_HITS, PASSAGE, WAY_OUT
from search.store.milvus.ranges import MOST_BYTES, Rows, both, in_parts
from search.store.milvus.rows import OF_EMBEDDING, embedding_in
from search.store.vectors import best, exact_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.milvus.generation import View
    from search.store.protocol import Ids

_ROUNDING = 1e-5  # far more than two sums of the same products differ by
_MORE = 16  # candidates than twice as many as asked for
_AT_ONCE = 1000  # ids in one expression
_BLOCK = 1024


def nearest(
    view: View, query: NDArray[np.float32], k: int, where: str, count: int, most: int = MOST_HITS
) -> list[tuple[int, float]]:
    """The k passages with the highest cosine, best first, as (passage id, cosine); equal ones in the order of ids.

    Args:
        query: (d,) unit length.
        where: the expression of the passages to choose from, "" for all; `count`, how many these are.
        most: rows of one request.

    Raises:
        IndexDamaged: not all of them were looked at, or the server's products are not those of its embeddings.
    """
    most = min(most, _rows_at_once(len(query)))
    if 2 * k >= count:
        return _read_through(view, query, k, where, count)
    search = _Search(view, query, k, where, min(most, 2 * k + _MORE))
    while search.unsure(rows := search.ask("")):
        if search.limit == most:
            for _ in in_parts(search.ask, PASSAGE, search.unsure, _ids):
                pass
            break
        search.limit = min(most, 2 * search.limit)
    if len(rows) < search.limit < count:  # it gave fewer than there are
        return _read_through(view, query, k, where, count)
    return search.best


class _Search:
    """Requests for what is nearest, and what they have found.

    Attributes:
        limit: how many candidates a request is to give.
        known: passage id -> cosine.
    """

    def __init__(self, view: View, query: NDArray[np.float32], k: int, where: str, limit: int) -> None:
        self._view, self._query, self._k, self._where = view, query, k, where
        self.limit, self.known = limit, dict[int, float]()
        self._slack = slack(len(query))

    def ask(self, part: str) -> Rows:
        """Candidates of a range of ids, best first; their cosines are known then."""
        view = self._view
        rows = view.client.search(
            view.collection("passages"), DENSE, self._query, self.limit,
            filter=view.there(both(self._where, part)), output_fields=list(OF_EMBEDDING),
            params=parameters(view.generation.dense, self.limit),
        )  # fmt: skip
        cosines = exact_cosines(_vectors(_entities(rows), len(self._query)), self._query).tolist()
        for row, cosine in zip(rows, cosines, strict=True):
            if view.generation.exact and abs(row["distance"] - cosine) > self._slack:
                raise IndexDamaged(
                    f"the server's inner product of passage {_id(row)} is not that of its embedding. Is it Milvus 2.6, "
                    f"or milvus-lite 3.2.2, or newer? Else: {WAY_OUT}"
                )
            self.known[_id(row)] = cosine
        return rows

    def unsure(self, rows: Rows) -> bool:
        """Whether others than these can be among the best k."""
        if len(rows) < self.limit or not self._view.generation.exact:
            return False
        if len(self.known) < self._k:
            return True
        kth = np.partition(np.fromiter(self.known.values(), np.float64), -self._k)[-self._k]
        return bool(rows[-1]["distance"] + self._slack >= kth)

    @property
    def best(self) -> list[tuple[int, float]]:
        return _first(list(self.known.items()), self._k)


def parameters(dense: dict[str, Any], limit: int) -> dict[str, Any]:
    """What a search is asked with, by the kind of the server's index: how hard it looks, at least for so many hits."""
    kind = dense["kind"]
    if kind.startswith("HNSW"):
        return {"ef": max(int(dense.get("ef", 128)), limit)}
    if kind.startswith("IVF"):
        return {"nprobe": int(dense.get("nprobe", 32))}
    if kind == "DISKANN":
        return {"search_list": max(int(dense.get("search_list", 128)), limit)}
    return {}


def slack(dimension: int) -> float:
    """How far the server's inner products of unit vectors may be off. Higham 2002, section 3.1."""
    return float(max(_ROUNDING, 2 * dimension * 2.0**-24))


def cosines(view: View, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
    """(n,) the cosines of passages that are there, in their order."""
    ids, places = np.unique(passages, return_inverse=True)
    found = [exact_cosines(vectors, query) for _, vectors in blocks_of(view, ids)]
    return np.concatenate([np.empty(0, dtype=np.float32), *found]).astype(np.float64)[places]


def highest(view: View, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
    """(n,) what the cosines of passages, given by increasing ids, are at most: the server's products and some more.

    Infinity where the server gives none, as one that approximates may not.
    """
    found = np.full(len(passages), np.inf)
    for ids in _chunks(passages):
        rows = view.client.search(
            view.collection("passages"), DENSE, query, len(ids), filter=view.there(_among(ids)),
            output_fields=[PASSAGE], params=parameters(view.generation.dense, len(ids)),
        )  # fmt: skip
        places = np.searchsorted(passages, [_id(row) for row in rows])
        found[places] = [row["distance"] for row in rows]
    return found + slack(len(query))


def blocks_of(view: View, ids: Ids) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
    """The embeddings of passages, given by increasing ids, as blocks of (ids, (n, d)).

    Raises:
        IndexDamaged: one is missing, or not what was written.
    """
    for chunk in _chunks(ids):
        yield from _blocks(view, _among(chunk), len(chunk))


def blocks(view: View, where: str, count: int) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
    """All embeddings that pass an expression, by increasing ids, as blocks of (ids, (n, d)).

    Args:
        count: how many these are.

    Raises:
        IndexDamaged: there are others, or one is not what was written.
    """
    return _blocks(view, where, count)


def _blocks(view: View, where: str, count: int) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
    dimension = int(view.generation.made.dimension)
    rows = view.client.each(
        view.collection("passages"), view.there(where), OF_EMBEDDING, PASSAGE, _rows_at_once(dimension)
    )
    found, last = 0, 0
    while block := list(islice(rows, _BLOCK)):
        ids = np.array([row[PASSAGE] for row in block], dtype=np.int64)
        found += len(ids)
        if (np.diff(ids, prepend=last) <= 0).any():
            break
        last = int(ids[-1])
        yield ids, _vectors(block, dimension)
    if found != count:
        raise IndexDamaged(
            f"{count} embeddings of the index were asked for, and the server has {found}. {WAY_OUT}"
        )


def _read_through(
    view: View, query: NDArray[np.float32], k: int, where: str, count: int
) -> list[tuple[int, float]]:
    """The nearest, of all embeddings."""
    return _first(
        [pair for ids, vectors in blocks(view, where, count) for pair in best(ids, vectors, query, k)], k
    )


def _first(pairs: list[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]


def _vectors(rows: Rows, dimension: int) -> NDArray[np.float32]:
    return np.array([embedding_in(row, dimension) for row in rows], dtype=np.float32).reshape(-1, dimension)


def _entities(rows: Rows) -> Rows:
    return [row["entity"] for row in rows]


def _id(row: dict[str, Any]) -> int:
    return int(row["entity"][PASSAGE])


def _ids(rows: Rows) -> list[int]:
    return [_id(row) for row in rows]


def _chunks(ids: Ids) -> Iterator[Ids]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))


def _among(ids: Sequence[int] | Ids) -> str:
    """The expression of some passages."""
    return f"{PASSAGE} in {[int(id_) for id_ in ids]}"


def _rows_at_once(dimension: int) -> int:
    return max(1, min(MOST_HITS, MOST_BYTES // (4 * dimension)))
