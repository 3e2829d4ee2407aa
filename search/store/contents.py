"""Documents from memory: read out of an index.db of any format, as far as the file can be read.

Their index is the only copy of them. So nothing replaces a database with a table `contents`, and this module reads that
table without relying on anything else: not on `meta`, not on the format, not on the other rows. Formats 8 to 10
have the same columns:

    files      id, path (the ID of a document as bytes), sha256 (of its content)
    contents   file (files.id), content (JSON: text, title, metadata, kind)
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from search.errors import IndexDamaged, InputError, SearchError
from search.records.fingerprint import Fingerprint
from search.records.memory_document import DamagedDocument, Document
from search.store.database import (
    SCHEMA_VERSION,
    all_meta,
    connect_to_read,
    has_contents,
    has_tables,
    legible_fingerprint,
    one_meta,
    translated,
    unfilled,
)
from search.store.home import export_command
from search.store.settings import Folders
from search.store.vectors import is_embedding, vector_of

_LARGEST_ID = 2**62
# SQLite's message may contain undecodable bytes of the damaged page.
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)


def require_no_contents(database: Path) -> None:
    """Raise InputError if a database contains documents from memory, which nothing may replace."""
    if has_contents(database):
        raise InputError(
            f"the index in '{database.parent}' has documents from memory, not from a folder. It is their only copy, so "
            f"it is not replaced. Choose another --index. To save its documents, run: {export_command(database.parent)}"
        )


def require_contents(database: Path) -> None:
    """Check that a database contains documents from memory.

    Raises:
        InputError: the index has documents of a folder.
        IndexNotFound: there is no index, or it is empty.
        IndexDamaged: the file is no database.
    """
    if has_contents(database):
        return
    with closing(connect_to_read(database)) as connection, translated(database):
        if not has_tables(connection):
            raise unfilled(database)
        raise InputError(
            f"the index in '{database.parent}' {_owner(connection)}; only documents from memory can be exported. "
            "Its texts are in its files. To take its embeddings elsewhere, use --faiss, --vectors or --parquet."
        )


def stored_contents(database: Path) -> list[Document | DamagedDocument]:
    """Return the documents from memory of an index, in the order in which they were added: one state of the index.

    They are read before the first one is returned, because an open transaction would keep writers waiting.

    Raises:
        InputError, IndexNotFound, IndexDamaged: as for `require_contents`.
    """
    require_contents(database)
    with closing(connect_to_read(database)) as connection, translated(database):
        connection.execute("BEGIN")
        return _all_documents(connection)


def _owner(connection: sqlite3.Connection) -> str:
    """Return "belongs to the folder ..." for a message; without the folder if it cannot be read."""
    with suppress(*_DAMAGED, IndexDamaged):
        return f"belongs to {Folders.from_meta(all_meta(connection)).described}"
    return "belongs to a folder"


def _all_documents(connection: sqlite3.Connection) -> list[Document | DamagedDocument]:
    """Return all documents, damaged ones too; a range of rows that cannot be read counts as one damaged document."""
    contents, files = _readable(connection, "contents", "file"), _readable(connection, "files", "id")
    documents = [_document(connection, id_) for id_ in sorted({*contents.keys, *files.keys})]
    for first, last in contents.gaps:
        for lowest, highest in files.gaps:
            if (start := max(first, lowest)) <= (end := min(last, highest)):
                rows = f"rows {start} to {end}" if end < _LARGEST_ID else f"rows from {start} on"
                problem = "they cannot be read, so nobody knows how many documents they are"
                documents.append(DamagedDocument(rows, problem))
    return documents


@dataclass(frozen=True)
class _Readable:
    """The keys of a table that can be read, and the ranges of keys (first, last) that cannot."""

    keys: list[int]
    gaps: list[tuple[int, int]]


def _readable(connection: sqlite3.Connection, table: str, key: str) -> _Readable:
    """Read the keys of a table, and step over damaged pages, which hide all rows in them.

    The search goes on behind a damaged page, with steps that double until a row can be read, and then back to the first
    key that can be.
    """
    select = f"SELECT {key} FROM {table} WHERE {key} >= ? ORDER BY {key} LIMIT 1"
    last = _last_key(connection, table, key)
    rows = _Readable([], [])
    start, step = 1, 0
    while start + step <= last:
        try:
            row = connection.execute(select, (start + step,)).fetchone()
        except _DAMAGED:
            step = 2 * step or 1
            continue
        if step:
            good = _first_readable(connection, select, start + step // 2, start + step)
            rows.gaps.append((start, good - 1))
            start, step = good, 0
        elif row is None:
            return rows
        else:
            rows.keys.append(row[0])
            start = row[0] + 1
    if step:
        rows.gaps.append((start, last))
    return rows


def _last_key(connection: sqlite3.Connection, table: str, key: str) -> int:
    """Return the highest key of a table; a bound for it if the last page cannot be read."""
    try:
        row = connection.execute(f"SELECT max({key}) FROM {table}").fetchone()
        return int(row[0] or 0)
    except _DAMAGED:
        return _LARGEST_ID


def _first_readable(connection: sqlite3.Connection, select: str, failed: int, good: int) -> int:
    """Return the lowest readable key by bisection: the row at `failed` is unreadable, the row at `good` readable."""
    while good - failed > 1:
        middle = (failed + good) // 2
        try:
            connection.execute(select, (middle,)).fetchone()
        except _DAMAGED:
            failed = middle
        else:
            good = middle
    return good


def _document(connection: sqlite3.Connection, id_: int) -> Document | DamagedDocument:
    """Read the document of a row of `files`."""
    path, sha256 = _file(connection, id_)
    if path is None:
        return DamagedDocument(f"row {id_} of table files", "its ID cannot be read")
    name = os.fsdecode(path)
    try:
        row = connection.execute("SELECT content FROM contents WHERE file = ?", (id_,)).fetchone()
        if row is None:
            return DamagedDocument(name, "its content is missing")
        document = Document.stored(name, row[0])
    except (*_DAMAGED, ValueError, TypeError, RecursionError) as error:
        return DamagedDocument(name, f"its content cannot be read ({error!s:.80})")
    if sha256 is not None and hashlib.sha256(row[0].encode()).hexdigest() != sha256:
        return DamagedDocument(name, "it is not what was stored (its hash differs)", document)
    return document


def _file(connection: sqlite3.Connection, id_: int) -> tuple[Any, str | None]:
    """Return path and hash of a row of `files`; if the row is damaged, the path from SQLite's index, and None."""
    with suppress(*_DAMAGED):
        row = connection.execute("SELECT path, sha256 FROM files WHERE id = ?", (id_,)).fetchone()
        if row is not None and isinstance(row[0], bytes):
            return row[0], row[1]
    with suppress(*_DAMAGED):
        select = "SELECT path FROM files INDEXED BY files_path WHERE id = ? AND path >= x''"
        row = connection.execute(select, (id_,)).fetchone()
        if row is not None and isinstance(row[0], bytes):
            return row[0], None
    return None, None


class Earlier:
    """Rows that a rebuild takes over from the database that it replaces, as far as they can be read.

    Args:
        dimension: of the embeddings to take over; None if they are of another model.
    """

    def __init__(self, connection: sqlite3.Connection, dimension: int | None) -> None:
        self._connection, self._dimension = connection, dimension
        self._before_format_10 = False
        with suppress(*_DAMAGED, SearchError):
            self._before_format_10 = int(one_meta(connection, "schema_version", SCHEMA_VERSION)) < 10

    def times(self) -> dict[str, int]:
        """Return ID -> time when the document was stored, in nanoseconds since 1970."""
        times: dict[str, int] = {}
        with suppress(*_DAMAGED):
            for path, mtime_ns in self._connection.execute("SELECT path, mtime_ns FROM files"):
                times[os.fsdecode(path)] = mtime_ns
        return times

    def annotators(self) -> list[str]:
        """Return the names of the annotators, whose annotations a rebuild does not take over."""
        with suppress(*_DAMAGED):
            return [name for (name,) in self._connection.execute("SELECT name FROM annotators")]
        return []

    def embeddings(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return content key -> embedding, for the contents that were encoded before; damaged ones are left out."""
        if self._dimension is None:
            return {}
        vectors = {}
        for key in keys:
            with suppress(*_DAMAGED):
                vector = vector_of(self._connection, key, before_format_10=self._before_format_10)
                if vector is not None and is_embedding(vector, self._dimension):
                    vectors[key] = vector
        return vectors


@contextmanager
def earlier_state(database: Path, fingerprint: Fingerprint) -> Iterator[Earlier]:
    """Open the database that a rebuild replaces.

    Args:
        fingerprint: of the new index. Passages may be cut otherwise; if anything else differs, no embedding is taken
            over.
    """
    old = legible_fingerprint(database)
    same = old is not None and not replace(old, passages=fingerprint.passages).differences(fingerprint)
    with closing(connect_to_read(database)) as connection:
        yield Earlier(connection, int(fingerprint.dimension) if same else None)
