"""Rank the passages of an index by how near they are to a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.errors import InputError
from search.index.snapshot import StoredPassage, nearest_passages
from search.index.vectors import LoadedVectors
from search.records import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_query(text: str, k: int = 1, per_document: int = 0) -> None:
    """Raise InputError for a question that cannot be asked."""
    if not text.strip():
        raise InputError("the query is empty. Say in your own words what you are looking for.")
    if k < 1:
        raise InputError(f"k is {k}, but at least 1 hit must be asked for.")
    if per_document < 0:
        raise InputError(f"per_document is {per_document}; use 0 for no limit.")


def dense(loaded: LoadedVectors, query: NDArray[np.float32], k: int, per_document: int = 0) -> list[Hit]:
    """The k passages with the highest cosine to a query's embedding, (d,), best first; exact.

    `per_document` is the most hits of one document, 0 for no limit; it gives way where k hits would not
    come back otherwise.
    """
    ranked = nearest_passages(loaded, query, k, per_document)
    return [as_hit(rank, passage, cosine) for rank, (passage, cosine) in enumerate(ranked, start=1)]


def as_hit(rank: int, passage: StoredPassage, cosine: float) -> Hit:
    """A stored passage with its cosine to a query, ranked by that alone."""
    return Hit(
        rank=rank,
        score=cosine,
        cosine=cosine,
        lexical=None,
        mode="dense",
        path=passage.path,
        document=passage.document,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        line_start=passage.line_start,
        line_end=passage.line_end,
        passage_id=passage.id,
        metadata=passage.metadata,
        context=passage.context,
        page=passage.page,
    )
