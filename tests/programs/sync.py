"""A table of a database is kept in an index: new, changed and deleted rows, and changes of metadata alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import search


@dataclass(frozen=True)
class Synced:
    added: int
    changed: int
    removed: int
    encoded: int


def rows(database: sqlite3.Connection) -> Iterator[search.Document]:
    for id_, text, team in database.execute("SELECT id, text, team FROM tickets"):
        yield search.Document(str(id_), text, metadata={"team": team})


def sync(database: sqlite3.Connection, index: search.Index) -> Synced:
    """Bring an index to the state of the table."""
    stored = set(index.ids())
    current = list(rows(database))
    report = index.upsert(current)
    gone = stored - {document.id for document in current}
    removed = index.delete(gone).removed if gone else 0
    assert len(index) == len(current)
    return Synced(report.added, report.changed, removed, report.encoded)


def move_team(database: sqlite3.Connection, index: search.Index, old: str, new: str) -> int:
    """Rename a team in both; no text is sent, and nothing is encoded."""
    with database:
        database.execute("UPDATE tickets SET team = ? WHERE team = ?", (new, old))
    moved = index.ids(where={"team": old})
    for id_ in moved:
        index.set_metadata(id_, {"team": new})
    return len(moved)
