"""State of each file when it was read: what the next run compares, and what it skipped.

All functions run within an open transaction.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.store.passages import name_of

if TYPE_CHECKING:
    from search.corpus import Skipped


@dataclass(frozen=True)
class FileState:
    """State of a file when it was read; indexes/README.md describes the values."""

    size: int
    mtime_ns: int
    inode: int
    sha256: str | None
    status: str


def stored_files(connection: sqlite3.Connection) -> dict[str, FileState]:
    """Return path -> state of each file that was opened, in the order of the paths' bytes."""
    rows = connection.execute(
        "SELECT path, size, mtime_ns, inode, sha256, status FROM files ORDER BY path"
    )
    return {name_of(path): FileState(*facts) for path, *facts in rows}


def document_hashes(connection: sqlite3.Connection) -> dict[str, str | None]:
    """Return path or ID -> SHA-256 of each file, or of each document from memory, that has a document."""
    rows = connection.execute("SELECT path, sha256 FROM files WHERE status != 'skipped' ORDER BY id")
    return {name_of(path): sha256 for path, sha256 in rows}


def has_more_files(connection: sqlite3.Connection, most: int) -> bool:
    """Return True if the index has more than `most` files, without counting all."""
    return connection.execute("SELECT 1 FROM files LIMIT 1 OFFSET ?", (most,)).fetchone() is not None


def stored_documents(connection: sqlite3.Connection, path: str) -> dict[int, str]:
    """Return record number -> SHA-256 of each stored document of a file."""
    rows = connection.execute(
        "SELECT record, documents.sha256 FROM documents JOIN files ON files.id = file WHERE path = ?",
        (os.fsencode(path),),
    )
    return dict(rows.fetchall())


def skipped_when_read(connection: sqlite3.Connection) -> Iterator[tuple[str, Skipped]]:
    """Yield (path of the file, skipped record or file) for everything that was skipped when files were read."""
    from search.corpus import Skipped  # not needed by a query

    rows = connection.execute("SELECT path, record, reason, detail FROM skipped WHERE stage = 'read'")
    for path, record, reason, detail in rows:
        yield name_of(path), Skipped(name_of(path, record), reason, detail)
