"""The single steps of a repair: what is deleted and marked, each within a transaction of the caller."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable


def documents_around(connection: sqlite3.Connection, passages: list[int]) -> set[int]:
    """Documents that damaged passages may belong to, if the number of their document is what is damaged.

    A document's passages have neighbouring ids, so it is that of the passage before or after, or one without passages.
    """
    found: set[int] = set()
    for id_ in passages:
        rows = connection.execute(
            """SELECT document FROM passages WHERE id = (SELECT max(id) FROM passages WHERE id < :id)
               UNION SELECT document FROM passages WHERE id = (SELECT min(id) FROM passages WHERE id > :id)""",
            {"id": id_},
        )
        found.update(row[0] for row in rows)
    rows = connection.execute("SELECT id FROM documents WHERE id NOT IN (SELECT document FROM passages)")
    return found.union(row[0] for row in rows)


def documents_of(connection: sqlite3.Connection, passages: list[int]) -> set[int]:
    rows = connection.execute(
        "SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(passages),)
    )
    return {row[0] for row in rows}


def documents_of_files(connection: sqlite3.Connection, files: list[int]) -> set[int]:
    rows = connection.execute(
        "SELECT id FROM documents WHERE file IN (SELECT value FROM json_each(?))", (json.dumps(files),)
    )
    return {row[0] for row in rows}


def all_documents(connection: sqlite3.Connection) -> set[int]:
    return {row[0] for row in connection.execute("SELECT id FROM documents")}


def names_of(connection: sqlite3.Connection, documents: set[int]) -> list[str]:
    """`path` or `path#record` of each document."""
    rows = connection.execute(
        """SELECT path, record FROM documents JOIN files ON files.id = file
           WHERE documents.id IN (SELECT value FROM json_each(?)) ORDER BY path, record""",
        (json.dumps(sorted(documents)),),
    )
    return [os.fsdecode(path) + (f"#{record}" if record else "") for path, record in rows]


def mark_files(
    connection: sqlite3.Connection, documents: set[int], files: list[int], everything: bool
) -> None:
    """Let the next run go on with files as if it had been stopped in them."""
    connection.execute(
        """UPDATE files SET status = 'partial', mtime_ns = -1, sha256 = NULL
           WHERE ? OR id IN (SELECT value FROM json_each(?))
                 OR id IN (SELECT file FROM documents WHERE id IN (SELECT value FROM json_each(?)))""",
        (everything, json.dumps(files), json.dumps(sorted(documents))),
    )


def delete_orphans(connection: sqlite3.Connection) -> None:
    """Delete rows whose parent is missing, from the top down."""
    for table, key, parent in (
        ("documents", "file", "files"),
        ("passages", "document", "documents"),
        ("embeddings", "passage", "passages"),
        ("token_vectors", "passage", "passages"),
        ("annotations", "passage", "passages"),
    ):
        connection.execute(f"DELETE FROM {table} WHERE {key} NOT IN (SELECT id FROM {parent})")
    connection.execute("DELETE FROM annotations WHERE annotator NOT IN (SELECT name FROM annotators)")


def has_marks(connection: sqlite3.Connection) -> bool:
    """Whether files are still to be read again, as after a repair that was stopped."""
    return connection.execute("SELECT 1 FROM files WHERE sha256 IS NULL").fetchone() is not None


def delete_rows(connection: sqlite3.Connection, table: str, rows: Iterable[int]) -> None:
    """Delete rows of a table by their row ids."""
    connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((row,) for row in rows))


def delete_annotator(connection: sqlite3.Connection, row: int) -> tuple[str, int, str]:
    """Delete an annotator with its annotations: its name, how many these were, and what makes them again."""
    name, made_with = connection.execute(
        "SELECT name, made_with FROM annotators WHERE rowid = ?", (row,)
    ).fetchone()
    many = connection.execute("DELETE FROM annotations WHERE annotator = ?", (name,)).rowcount
    connection.execute("DELETE FROM annotators WHERE rowid = ?", (row,))
    return str(name), many, _command(made_with)


def _command(made_with: object) -> str:
    """What makes annotations again, by a row that is damaged somewhere."""
    try:
        command = json.loads(str(made_with))["command"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
    return command if isinstance(command, str) and command.startswith("seewhy ") else ""
