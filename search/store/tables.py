"""Write rows of index.db with sqlite-utils, in transactions that increase the generation.

Only a writer imports it: it takes twice as long to import as a query of a small index has for FAISS.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from search.store.database import as_json, one_meta

if sys.modules.setdefault("pandas", None) is None:  # type: ignore[arg-type]
    import sqlite_utils  # would import pandas if it is installed, which takes half a second

    del sys.modules["pandas"]
else:
    import sqlite_utils


class Tables:
    """Writable tables of an index; the caller must hold the writer's lock."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.database = sqlite_utils.Database(connection, execute_plugins=False)

    @contextmanager
    def transaction(self, *, same_answers: bool = False) -> Iterator[sqlite3.Connection]:
        """Open a write transaction. If it changes a row, it increases the generation of the index.

        Args:
            same_answers: keep the generation, because no answer depends on the written rows.

        If a transaction is already open, this one becomes a part of it.
        """
        if self.connection.in_transaction:
            yield self.connection
            return
        self.connection.execute("BEGIN IMMEDIATE")
        changes = self.connection.total_changes
        try:
            yield self.connection
            if not same_answers and self.connection.total_changes != changes:
                # At least the current time in milliseconds, so that an index restored from a backup never repeats a
                # number.
                before = int(one_meta(self.connection, "generation", 0))
                self.put(generation=max(before + 1, time.time_ns() // 1_000_000))
        except BaseException:
            with suppress(sqlite3.ProgrammingError):  # an interrupt may have closed the connection
                if (
                    self.connection.in_transaction
                ):  # when a disk is full, SQLite has rolled back by itself
                    self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def insert(self, table: str, rows: Iterable[dict[str, Any]], *, replace: bool = False) -> None:
        """Insert rows into a table, within an open transaction; `rows` may be empty.

        sqlite-utils' upsert is not used: it creates a table to test if SQLite supports upserts, mistakes a full disk
        for missing support, and then writes nothing.

        Args:
            replace: replace existing rows with the same key.
        """
        self.database.table(table).insert_all(rows, replace=replace)

    def column(self, table: str, column: str, where: str, *values: int | str | bytes) -> list[Any]:
        """Return the values of a column in the rows of a table that match `where`."""
        rows = self.database.table(table).rows_where(where, values, select=column)
        return [row[column] for row in rows]

    def delete(self, table: str, where: str, *values: int | str | bytes) -> None:
        """Delete the rows of a table that match `where`, within an open transaction."""
        self.database.table(table).delete_where(where, values)

    def put(self, **values: Any) -> None:
        """Set key-value pairs of table `meta`, within an open transaction."""
        pairs = ({"key": key, "value": as_json(value)} for key, value in values.items())
        self.insert("meta", pairs, replace=True)

    def put_meta(self, **values: Any) -> None:
        """Set key-value pairs of table `meta` in a transaction of their own."""
        with self.transaction():
            self.put(**values)

    def note(self, **values: Any) -> None:
        """Set key-value pairs that affect no query, without a new generation: cached results stay valid."""
        with self.transaction(same_answers=True):
            self.put(**values)
