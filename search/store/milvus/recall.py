"""How much an approximate index of embeddings on a server finds, of what is nearest by the index in the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.store.calibration import questions
from search.store.milvus.nearest import nearest

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.store.milvus.generation import View
    from search.store.sqlite import SQLiteSnapshot

_MOST = 200
_NEAREST = 10


def measured(view: View, snapshot: SQLiteSnapshot, encoder: Encoder) -> tuple[float | None, int]:
    """The share of the ten nearest passages that a server finds, over sentences of passages, and how many those were.

    None where the index has no sentence to ask with.
    """
    texts = questions(snapshot, _MOST)
    found = wanted = 0
    for query in encoder.encode(texts, role="query", truncate=True) if texts else ():
        exact = {id_ for id_, _ in snapshot.nearest(query, _NEAREST)}
        there = nearest(view, query, _NEAREST, "", snapshot.passage_count)
        found += len(exact & {id_ for id_, _ in there})
        wanted += len(exact)
    return (found / wanted if wanted else None), len(texts)
