"""Whether what is derived of the passages' texts is what they say: words, and vectors of tokens."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing

from search.errors import IndexDamaged
from search.store import lexicon
from search.store.health.examine import snapshot
from search.store.health.kinds import Tally


def examine_words(connection: sqlite3.Connection, tally: Tally) -> None:
    """Compare the table with one that is made anew in memory: every token's counts, every passage's length."""
    with snapshot(connection):
        if not lexicon.is_sealed(connection):
            tally.add("words", "its checksum is wrong")
            return
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as anew:
            lexicon.create(anew)
            try:
                lexicon.fill(connection, anew)
            except IndexDamaged:  # a passage is damaged, which is found elsewhere
                return
            for table in ("lexicon_terms", "lexicon_docsize"):
                query = f"SELECT * FROM {table}"
                if anew.execute(query).fetchall() != connection.execute(query).fetchall():
                    tally.add("words", "it holds the words of other passages")
                    return


def examine_token_vectors(
    connection: sqlite3.Connection, dimension: int, tally: Tally, tick: Callable[[int], None]
) -> None:
    """Every row of token vectors against its checksum, and what the passage's row says of its tokens."""
    with snapshot(connection):
        rows = connection.execute(
            """SELECT passage, vectors, token_vectors.checksum, n_tokens
               FROM token_vectors LEFT JOIN passages ON id = passage"""
        )
        for id_, blob, checksum, n_tokens in rows:
            n, rest = divmod(len(blob), 4 + dimension)
            if zlib.crc32(blob) != checksum or rest or n_tokens is None or n > n_tokens:
                tally.add("token vectors", f"p{id_}", id_)
            tick(1)
