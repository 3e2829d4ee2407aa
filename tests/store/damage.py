"""Ways to damage an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

_MOVED = ("content", "text_key", "near_key")
FORMAT_9 = (
    *(f"ALTER TABLE embeddings ADD COLUMN {column} ANY" for column in _MOVED),
    """UPDATE embeddings SET (content, text_key, near_key) =
       (SELECT content, text_key, near_key FROM passages WHERE id = passage)""",
    *(f"DROP INDEX passages_{column}" for column in _MOVED),
    *(f"ALTER TABLE passages DROP COLUMN {column}" for column in _MOVED),
)
"""Statements after which a database has the columns of format 9, as far as a conversion reads them."""


def execute(index: Path, *statements: str) -> None:
    """Change index.db behind the program's back."""
    with closing(sqlite3.connect(index / "index.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def sql(*statements: str) -> Callable[[Path], None]:
    return lambda index: execute(index, *statements)


def segment_file(index: Path, suffix: str) -> Path:
    """The only file of its kind: ".faiss" or ".words"."""
    (file,) = (index / "ann").glob(f"*{suffix}")
    return file


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def zero_page_of(index: Path, table: str) -> None:
    """Overwrite the root page of a table, as a bad disk would."""
    with closing(sqlite3.connect(index / "index.db")) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with (index / "index.db").open("r+b") as stream:
        stream.seek((root - 1) * size)
        stream.write(bytes(size))
