"""The words of passages as index.db holds them: blocks of the tail (segments.py), and by which rules they were made.

Words are derived from the rows of passages. A reader uses them only if they were made by the rules of this version.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.records.shown import shown
from search.store.checksums import hidden_of
from search.store.composing import merged, written
from search.store.database import one_meta, put_meta
from search.store.postings import Block
from search.store.segments import LONGEST_TAIL, blocks_of_tail, joined, tombstones
from search.store.terms import RULES, TOKENIZER, Stemmer, indexable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEY = "words"
_MADE_BY = {"tokenizer": TOKENIZER, "rules": RULES}
_AT_ONCE = 4096  # passages of one block
DAMAGED = (
    "the words of the index are damaged or missing, and without them it can be asked by meaning alone (--mode dense). "
    "To fix this, run: seewhy check --repair"
)

_stemmer = Stemmer()


def put_rules(connection: sqlite3.Connection) -> None:
    """Write down by which rules words are made, within a transaction."""
    put_meta(connection, {_KEY: _MADE_BY})


def hold(connection: sqlite3.Connection) -> bool:
    """Whether the words were made by the rules of this version."""
    return bool(one_meta(connection, _KEY, {}) == _MADE_BY)


def add(connection: sqlite3.Connection, passages: Sequence[tuple[int, str, str]]) -> None:
    """Put the words of new passages in, within a transaction.

    Args:
        passages: of each its id, increasing, its context and its text without markup.
    """
    for start in range(0, len(passages), _AT_ONCE):
        chunk = passages[start : start + _AT_ONCE]
        block = written(_stemmer, [(id_, indexable(context, text)) for id_, context, text in chunk])
        _put(connection, chunk[0][0], chunk[-1][0], len(chunk), block)
        _join(connection)


def _join(connection: sqlite3.Connection) -> None:
    """Make the last block one with those before it that are no larger."""
    parts = blocks_of_tail(connection)
    parts = parts[joined(parts, 1, LONGEST_TAIL) :]
    if len(parts) < 2:
        return
    blocks = [block_of_tail(connection, part.first) for part in parts]
    first, last = parts[0].first, parts[-1].last
    dead = tombstones(connection, first, last)
    alive = [~np.isin(block.ids, dead) for block in blocks]
    connection.execute('DELETE FROM words WHERE "first" BETWEEN ? AND ?', (first, last))
    connection.execute("DELETE FROM tombstones WHERE passage BETWEEN ? AND ?", (first, last))
    _put(connection, first, last, sum(map(int, map(np.count_nonzero, alive))), merged(blocks, alive))


def _put(connection: sqlite3.Connection, first: int, last: int, count: int, block: bytes) -> None:
    connection.execute(
        'INSERT INTO words ("first", "last", count, block) VALUES (?, ?, ?, ?)',
        (first, last, count, block),
    )


def block_of_tail(connection: sqlite3.Connection, first: int) -> Block:
    """The block of the tail that begins with this id."""
    (block,) = connection.execute('SELECT block FROM words WHERE "first" = ?', (first,)).fetchone()
    return Block(block)


def tail(connection: sqlite3.Connection) -> list[Block]:
    """The blocks of the tail, in the order of ids."""
    rows = connection.execute('SELECT "first", block FROM words ORDER BY "first"')
    return [Block(block) for first, block in rows]


def written_anew(connection: sqlite3.Connection, ids: NDArray[np.int64]) -> bytes:
    """The block of passages, made of their rows."""
    blocks: list[Block] = []
    for start in range(0, len(ids), _AT_ONCE):
        chunk = ids[start : start + _AT_ONCE]
        blocks.append(Block(written(_stemmer, list(texts_of(connection, chunk)))))
    return merged(blocks, [np.ones(len(block.ids), dtype=bool) for block in blocks])


def texts_of(connection: sqlite3.Connection, passages: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """The ids of passages, increasing, and their text that is searched by words."""
    rows = connection.execute(
        """SELECT id, context, text, hidden FROM passages WHERE id IN (SELECT value FROM json_each(?))
           ORDER BY id""",
        (json.dumps(passages.tolist()),),
    )
    return ((id_, indexable(context, shown(text, hidden_of(hidden)))) for id_, context, text, hidden in rows)
