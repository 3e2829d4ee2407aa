"""Token vectors of passages, for those who ask for them at index time, one byte a dimension.

Without them a rerank by late interaction encodes its candidates anew. A token's vector is scaled to length 1 and kept
as whole numbers from -127 to 127 and one factor, so a row has n (4 + d) bytes for n tokens: with d = 384 about 390
bytes a token, where the text has 5. Special tokens and the prompt are left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.records.shown import shown
from search.records.tokens import Token, TokenVectors
from search.store.passages import hidden_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.encoder import Encoder

_TEXTS_AT_ONCE = 128


def kept(tokens: Sequence[Token]) -> list[int]:
    """The positions of the tokens that have vectors: those of the text and its context."""
    return [i for i, token in enumerate(tokens) if token.part in ("text", "context")]


def unit_rows(vectors: TokenVectors) -> NDArray[np.float32]:
    """(n, d) last-layer vectors of the tokens of the text and its context, each of length 1."""
    rows = np.asarray(vectors.layers[max(vectors.layers)][kept(vectors.tokens)], dtype=np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def packed(rows: NDArray[np.float32]) -> bytes:
    """Unit rows, (n, d), as they are stored: n factors as little-endian float32, then n d signed bytes."""
    factors = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-12) / 127
    numbers = np.rint(rows / factors[:, None]).astype(np.int8)
    return factors.astype("<f4").tobytes() + numbers.tobytes()


def unpacked(blob: bytes, dimension: int) -> NDArray[np.float32]:
    """(n, d) rows, of length 1 again."""
    n = len(blob) // (4 + dimension)
    factors = np.frombuffer(blob, dtype="<f4", count=n)
    numbers = np.frombuffer(blob, dtype=np.int8, offset=4 * n).reshape(n, dimension)
    rows = numbers * factors[:, None]
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def token_vectors_of(
    connection: sqlite3.Connection, passages: Sequence[int], dimension: int
) -> dict[int, NDArray[np.float32]]:
    """The vectors of those passages that have them."""
    rows = connection.execute(
        "SELECT passage, vectors FROM token_vectors WHERE passage IN (SELECT value FROM json_each(?))",
        (json.dumps(list(passages)),),
    )
    return {id_: unpacked(blob, dimension) for id_, blob in rows}


def missing_token_vectors(
    connection: sqlite3.Connection, encoder: Encoder
) -> Iterator[tuple[list[tuple[int, bytes]], int, int]]:
    """Rows for the passages that have none, batch by batch, with how many are done, and of how many.

    They are encoded outside of any transaction.
    """
    lacking = connection.execute(
        """SELECT passages.id, context, text, hidden FROM passages LEFT JOIN token_vectors ON passage = passages.id
           WHERE passage IS NULL ORDER BY passages.id"""
    ).fetchall()
    for start in range(0, len(lacking), _TEXTS_AT_ONCE):
        batch = lacking[start : start + _TEXTS_AT_ONCE]
        found = encoder.tokens(
            [shown(text, hidden_of(hidden)) for _, _, text, hidden in batch],
            contexts=[context for _, context, _, _ in batch],
            role="document",
        )
        blobs = [packed(unit_rows(vectors)) for vectors in found]
        rows = [(id_, blob) for (id_, *_), blob in zip(batch, blobs, strict=True)]
        yield rows, start + len(batch), len(lacking)
