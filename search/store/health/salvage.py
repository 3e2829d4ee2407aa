"""Copy what can be read of a database that SQLite finds fault with into a new one.

Rows are read in the order of their ids upwards until an error, then downwards until an error; what lies
between is asked for row by row. A row that cannot be stored in the new tables is left out. Nothing is judged
here: the rows are examined in their new place.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from search.errors import IndexDamaged
from search.store import lexicon
from search.store.checksums import COVERED, add_missing
from search.store.database import connect_to_read, number_passages_after
from search.store.health.examine import lenient
from search.store.health.examine_files import BROKEN
from search.store.writer import Writer

_TABLES = ("meta", "files", "documents", "passages", "embeddings", "annotators", "annotations", "skipped")
_ONE_BY_ONE = 1_000_000  # most ids that are asked for singly


def salvage(broken: Path, connection: sqlite3.Connection) -> int:
    """Copy rows into a new database that has its tables. Returns how many passages were copied."""
    try:
        source = lenient(connect_to_read(broken))
    except IndexDamaged:
        return 0  # not even the list of tables can be read
    connection.execute("PRAGMA foreign_keys = 0")
    with closing(source), Writer(connection).transaction():
        for table in _TABLES:
            _copy(source, connection, table)
        _carry_on_numbering(source, connection)
        lexicon.unseal(connection)
    connection.execute("PRAGMA foreign_keys = 1")
    return int(connection.execute("SELECT count(*) FROM passages").fetchone()[0])


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    there, wanted = _columns(source, table), _columns(target, table)
    columns = [name for name in wanted if name in there]
    if not columns:
        return
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join("?" * len(columns))
    for row in _readable_rows(source, table, names):
        try:
            target.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", row)
        except (sqlite3.Error, UnicodeEncodeError, OverflowError):
            continue  # of the wrong type, or no valid text
    if table in COVERED and "checksum" not in there:  # of an earlier format
        add_missing(target, table)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    try:
        return [str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    except sqlite3.DatabaseError:
        return []


def _readable_rows(source: sqlite3.Connection, table: str, names: str) -> Iterator[tuple[Any, ...]]:
    first, last = -(2**63), 2**63 - 1
    for order in ("ASC", "DESC"):
        try:
            rows = source.execute(
                f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid > ? AND rowid < ? ORDER BY rowid {order}",
                (first, last),
            )
            for id_, *row in rows:
                if order == "ASC":
                    first = id_
                else:
                    last = id_
                yield tuple(row)
            return  # all of them
        except sqlite3.DatabaseError:
            continue
    if last - first > _ONE_BY_ONE:
        return
    for id_ in range(first + 1, last):
        try:
            found = source.execute(
                f"SELECT {names} FROM {table} NOT INDEXED WHERE rowid = ?", (id_,)
            ).fetchone()
        except sqlite3.DatabaseError:
            continue
        if found:
            yield found


def _carry_on_numbering(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Give no passage a number that the broken database had given."""
    try:
        row = source.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'").fetchone()
    except sqlite3.DatabaseError:
        return
    if row and isinstance(row[0], int):
        number_passages_after(target, row[0])


def keep_aside(database: Path) -> Path:
    """A second name, or a copy, for a broken database, so that putting another in its place deletes nothing.

    A journal that could not be rolled back goes with it: left behind, it would be played into its successor.
    """
    for path in database.parent.glob(f"{BROKEN}*"):
        if path.samefile(database):
            return path
    stamp = time.strftime("%Y%m%d-%H%M%S")
    kept = database.with_name(f"{BROKEN}{stamp}")
    number = 1
    while kept.exists():
        number += 1
        kept = database.with_name(f"{BROKEN}{stamp}-{number}")
    try:
        os.link(database, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(database, kept)
    journal = database.with_name(f"{database.name}-journal")
    if journal.exists():
        journal.replace(kept.with_name(f"{kept.name}-journal"))
    return kept
