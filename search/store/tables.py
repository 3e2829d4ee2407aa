"""Rows of index.db as they are written: by sqlite-utils, within transactions that count what changed."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from search.store.database import as_json, one_meta

if sys.modules.setdefault("pandas", None) is None:  # type: ignore[arg-type]
    import sqlite_utils  # which would import pandas where that is installed: half a second, for nothing

    del sys.modules["pandas"]
else:
    import sqlite_utils


class Tables:
    """The tables of an index, to be written to. Hold the lock first."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.database = sqlite_utils.Database(connection, execute_plugins=False)

    @contextmanager
    def transaction(self, *, same_answers: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction, which raises the index's generation if a row is another one after it.

        Args:
            same_answers: what is written is nothing that answers are made of.
        """
        self.connection.execute("BEGIN IMMEDIATE")
        changes = self.connection.total_changes
        try:
            yield self.connection
            if not same_answers and self.connection.total_changes != changes:
                # No number is below the time, so that a copy that was put back, and an index whose number was lost, go
                # on with others than those that were given since.
                before = int(one_meta(self.connection, "generation", 0))
                self.put(generation=max(before + 1, time.time_ns() // 1_000_000))
        except BaseException:
            if self.connection.in_transaction:  # when a disk is full, SQLite has rolled back by itself
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def insert(self, table: str, rows: Iterable[dict[str, Any]], *, replace: bool = False) -> None:
        """Put rows into a table, within a transaction; there may be none.

        Not by an upsert: sqlite-utils makes a table to see whether SQLite knows it, and where the disk is full takes
        that for a no, and then writes nothing.

        Args:
            replace: those of the same key that are there already.
        """
        self.database.table(table).insert_all(rows, replace=replace)

    def delete(self, table: str, where: str, *values: int | str | bytes) -> None:
        """Delete rows from a table, within a transaction."""
        self.database.table(table).delete_where(where, values)

    def put(self, **values: Any) -> None:
        """Set key-value pairs of table `meta`, within a transaction."""
        pairs = ({"key": key, "value": as_json(value)} for key, value in values.items())
        self.insert("meta", pairs, replace=True)

    def put_meta(self, **values: Any) -> None:
        """Set key-value pairs."""
        with self.transaction():
            self.put(**values)

    def note(self, **values: Any) -> None:
        """Set key-value pairs that no answer is made of."""
        with self.transaction(same_answers=True):
            self.put(**values)
