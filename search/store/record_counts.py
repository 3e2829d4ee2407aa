"""Numbers of records in texts that plainly consist of records, such as entries of a diary, in a table of its own.

Table `records` has a row for each such document. An index has no table before the first one.
"""

from __future__ import annotations

import os
import sqlite3

from search.store.database import has_table

RECORDS = """document INTEGER PRIMARY KEY NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
             count INTEGER NOT NULL"""
"""Columns of table `records`."""

_COUNTS = """SELECT path, sum(count) FROM records JOIN documents ON documents.id = records.document
             JOIN files ON files.id = file GROUP BY path ORDER BY 2 DESC, path"""


def create_records(connection: sqlite3.Connection) -> None:
    """Create the table of numbers of records if there is none, within an open transaction."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS records ({RECORDS}) STRICT")


def record_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return file -> number of its records, the most first, for the files that consist of records."""
    if not has_table(connection, "records"):
        return {}
    return {os.fsdecode(path): count for path, count in connection.execute(_COUNTS)}
