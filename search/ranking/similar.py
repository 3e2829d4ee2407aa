"""More like this: a passage or a document as a query."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from search.ranking.question import Example, passages_of, summed
from search.ranking.rank import Allowed
from search.ranking.ranking import Asked, Part
from search.ranking.selection import stored_vectors
from search.store.snapshot import one_passage
from search.store.stored_vectors import one_embedding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.vectors import LoadedVectors


def similar_to(loaded: LoadedVectors, what: Example) -> tuple[Asked, tuple[int, ...]]:
    """A passage, or the passages of a document in equal parts, as a query; and their ids."""
    ids = passages_of(loaded, what)
    with loaded.reader.reading() as connection:
        passages = [one_passage(connection, id_) for id_ in ids]
        vectors: NDArray[np.float32] = stored_vectors(connection, ids)
    parts = [
        Part(f"{passage.document} p{passage.id}", 1.0, vector, passage.text, passage.context, "document")
        for passage, vector in zip(passages, vectors, strict=True)
    ]
    return summed("\n".join(part.text for part in parts), parts), ids


def others_than(passages: Sequence[int], same_document: bool, allowed: Allowed | None) -> Allowed:
    """What tells which passages may be similar: not these, nor, unless it is asked for, others of their documents."""

    def found(connection: sqlite3.Connection) -> NDArray[np.int64]:
        if allowed:
            ids = allowed(connection)
        else:
            rows = connection.execute("SELECT id FROM passages ORDER BY id").fetchall()
            ids = np.array([row[0] for row in rows], dtype=np.int64)
        out = list(passages)
        if not same_document:
            rows = connection.execute(
                """SELECT id FROM passages WHERE document IN (
                       SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?)))""",
                (json.dumps(out),),
            ).fetchall()
            out = [row[0] for row in rows]
        return ids[~np.isin(ids, np.array(out, dtype=np.int64))]

    return found


def one_taken_apart(loaded: LoadedVectors, asked: Asked, passage: int) -> Asked:
    """A query of passages of which only the one that adds most to the cosine with a passage keeps its text."""
    with loaded.reader.reading() as connection:
        one_passage(connection, passage)
        vector = one_embedding(connection, passage)
    added = [part.factor * float(part.embedding @ vector) for part in asked.parts]
    most = int(np.argmax(added))
    parts = tuple(part if i == most else replace(part, text="") for i, part in enumerate(asked.parts))
    return replace(asked, text=asked.parts[most].text, parts=parts)
