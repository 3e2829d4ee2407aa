"""Token vectors in index.db: which are stored, and their encoding in bytes.

They are stored only on request; without them, reranking by late interaction encodes its candidates again. A token's
vector is scaled to length 1 and stored as integers from -127 to 127 with one factor, so a row takes n (4 + d) bytes for
n tokens: with d = 384 about 390 bytes per token, compared to 5 bytes of text. Special tokens and the prompt are left
out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.records.tokens import Token, TokenVectors
from search.records.visible_text import visible
from search.store.passages import hidden_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class EncodedText:
    """Visible text and context of a passage, which are encoded."""

    id: int
    document: int
    context: str
    text: str


def stored_positions(tokens: Sequence[Token]) -> list[int]:
    """Return the positions of the tokens whose vectors are stored: those in the text and in its context."""
    return [i for i, token in enumerate(tokens) if token.part in ("text", "context")]


def unit_rows(vectors: TokenVectors) -> NDArray[np.float32]:
    """Return the (n, d) last-layer vectors of the tokens of the text and its context, each scaled to length 1."""
    rows = np.asarray(vectors.vectors[stored_positions(vectors.tokens)], dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def packed(rows: NDArray[np.float32]) -> bytes:
    """Serialise (n, d) rows of unit length: n factors as little-endian float32, then n * d signed bytes."""
    factors = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-12) / 127
    numbers = np.rint(rows / factors[:, None]).astype(np.int8)
    return factors.astype("<f4").tobytes() + numbers.tobytes()


def unpacked(blob: bytes, dimension: int) -> NDArray[np.float32]:
    """Decode the result of `packed` to (n, d) rows, scaled to length 1."""
    n = len(blob) // (4 + dimension)
    factors = np.frombuffer(blob, dtype="<f4", count=n)
    numbers = np.frombuffer(blob, dtype=np.int8, offset=4 * n).reshape(n, dimension)
    rows = numbers * factors[:, None]
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def token_vectors_of(
    connection: sqlite3.Connection, passages: Sequence[int], dimension: int
) -> dict[int, NDArray[np.float32]]:
    """Return passage ID -> (tokens, d) vectors of unit length, for the passages that have them."""
    rows = connection.execute(
        "SELECT passage, vectors FROM token_vectors WHERE passage IN (SELECT value FROM json_each(?))",
        (json.dumps(list(passages)),),
    )
    return {id_: unpacked(blob, dimension) for id_, blob in rows}


def without_token_vectors(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Return (ID, context, visible text) of the passages that lack token vectors, in the order of ids."""
    rows = connection.execute(
        """SELECT passages.id, context, text, hidden FROM passages LEFT JOIN token_vectors ON passage = passages.id
           WHERE passage IS NULL ORDER BY passages.id"""
    )
    return [(id_, context, visible(text, hidden_of(hidden))) for id_, context, text, hidden in rows]


def count_without_token_vectors(connection: sqlite3.Connection) -> int:
    """Return the number of passages that lack token vectors."""
    (count,) = connection.execute(
        "SELECT count(*) FROM passages LEFT JOIN token_vectors ON passage = passages.id WHERE passage IS NULL"
    ).fetchone()
    return int(count)


def passage_texts(connection: sqlite3.Connection, size: int) -> Iterator[list[EncodedText]]:
    """Yield the texts of all passages in blocks of at most `size`, in the order of ids."""
    after = 0
    while True:
        rows = connection.execute(
            "SELECT id, document, context, text, hidden FROM passages WHERE id > ? ORDER BY id LIMIT ?",
            (after, size),
        ).fetchall()
        if not rows:
            return
        yield [
            EncodedText(id_, document, context, visible(text, hidden_of(hidden)))
            for id_, document, context, text, hidden in rows
        ]
        after = rows[-1][0]
