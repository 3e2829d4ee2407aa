"""Connections to index.db, its tables (format 10), and the key-value table `meta`.

The journal is SQLite's rollback journal, not WAL, so readers need no write access and leave no files behind. It also
avoids the WAL-reset bug of SQLite 3.7.0 to 3.51.2, which can lose a commit when a checkpoint and a write overlap.

Readers and the writer wait for each other only for the milliseconds of one transaction: no lock is held while a model
runs.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from search.errors import (
    AccessDenied,
    IndexDamaged,
    IndexLocked,
    IndexNotFound,
    IndexOutdated,
    SearchError,
    StorageFull,
)
from search.files import create, patiently, sync_folder
from search.records.fingerprint import Fingerprint
from search.store.files import DATABASE, refused, removed, require_no_link
from search.store.home import (
    check_command,
    export_command,
    index_command,
    index_option,
    rebuild_command,
)
from search.store.settings import Folders, IndexMeta, fingerprint_of

Connection = sqlite3.Connection  # for modules that only pass it on
DatabaseError = sqlite3.DatabaseError

SCHEMA_VERSION = 10
_WAIT_SECONDS = 60.0
# Names of SQLite's errors when the system does not write; Python 3.10 has only the message, "disk I/O error".
_NOT_WRITTEN = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE")


def connect_to_read(database: Path) -> sqlite3.Connection:
    """Open a read-only connection.

    Raises:
        IndexNotFound: there is no such file.
        IndexDamaged: the file is not a database.
    """
    if not database.is_file():
        raise IndexNotFound(
            f"no index in '{database.parent}'. Create one with: {index_command(database.parent, None)}"
        )
    require_no_link(database)
    connection = _connect(database, "ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    # The message may contain undecodable bytes of the damaged page.
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError):
            raise _of_sqlite(database, error) from None
        connection = _connect(database, "rw")  # a killed writer's journal must be rolled back first
    connection.execute("PRAGMA query_only = 1")
    return connection


def connect_to_write(database: Path) -> sqlite3.Connection:
    """Open the writer's connection, without automatic transactions; the caller must hold the writer's lock."""
    require_no_link(database)
    with suppress(FileExistsError):
        # Readable by this user only, unlike SQLite's default. Journals get the same permissions.
        create(database)
    connection = _connect(database, "rw")
    with translated(database):
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except (
            UnicodeDecodeError
        ) as error:  # the message may contain undecodable bytes of the damaged page
            raise _of_sqlite(database, error) from None
        # Like FULL, and also syncs the folder after the journal was deleted.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = 1")
    return connection


@contextmanager
def reading(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a read transaction; all queries in it see the same state of the index."""
    with closing(connect_to_read(database)) as connection, translated(database):
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def read_meta(database: Path) -> dict[str, Any]:
    """Return the key-value pairs that describe an index, after checking its format.

    Raises:
        IndexOutdated: the format is an earlier or a later one.
        IndexDamaged: the format is unknown, or a value cannot be read.
        IndexNotFound: indexing was interrupted before anything was stored.
    """
    with reading(database) as connection:
        meta = meta_of(connection, database)
        IndexMeta.of(meta)  # raises if a value cannot be read
        return meta


def meta_of(connection: sqlite3.Connection, database: Path) -> dict[str, Any]:
    """Return the key-value pairs that describe an index, within an open transaction; errors as for `read_meta`."""
    if not has_tables(connection):
        raise unfilled(database)
    return require_readable(all_meta(connection), database)


def require_readable(meta: dict[str, Any], database: Path) -> dict[str, Any]:
    """Return `meta` unchanged if this program can read the index; otherwise raise like `read_meta`."""
    require_format(meta, database)
    if "fingerprint" not in meta:
        if has_contents(database):
            raise IndexDamaged(
                f"the index in '{database.parent}' has documents, but no settings. {IndexDamaged.CHECK}"
            )
        raise unfilled(database)
    return meta


def unfilled(database: Path) -> IndexNotFound:
    """Return the error for an index without content, because its first run stored nothing."""
    return IndexNotFound(
        f"indexing into '{database.parent}' was interrupted before anything was stored. Resume "
        f"with: {index_command(database.parent, None)}"
    )


def has_tables(connection: sqlite3.Connection) -> bool:
    """Return True if the database contains tables, False if it is empty."""
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Return True if the database has a table of this name."""
    select = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(select, (name,)).fetchone() is not None


def has_contents(database: Path) -> bool | None:
    """Return True if a database contains documents from memory, of which it is the only copy.

    Works for any format, and if other tables are damaged. None: unknown, because the file cannot be read as a database.
    """
    if not database.is_file():
        return False
    try:
        with closing(connect_to_read(database)) as connection:
            tables = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
    except (SearchError, sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    return any("contents" in f"{name} {sql}" for name, sql in tables)


def require_format(meta: dict[str, Any], database: Path) -> None:
    """Raise an error if the index has another format than this version of seewhy.

    Raises:
        IndexOutdated: an earlier format, or a later one.
        IndexDamaged: no format.
    """
    version = meta.get("schema_version")
    if version == SCHEMA_VERSION:
        return
    if type(version) is not int:
        raise IndexDamaged(f"the index in '{database.parent}' states no format. {IndexDamaged.CHECK}")
    raise IndexOutdated(
        f"the index in '{database.parent}' has format {version}, but this version of seewhy reads format "
        f"{SCHEMA_VERSION}. {_advice(meta, database)}"
    )


def is_of_later_format(meta: dict[str, Any]) -> bool:
    """Return True if a later version of seewhy wrote the index."""
    version = meta.get("schema_version")
    return type(version) is int and version > SCHEMA_VERSION


def _advice(meta: dict[str, Any], database: Path) -> str:
    """Return the advice for an index of another format; documents from memory cannot be read again from a folder."""
    index = database.parent
    is_newer = is_of_later_format(meta)
    if has_contents(database):
        if is_newer:
            return f"Update seewhy. To save its documents, run: {export_command(index)}"
        return f"Convert it with: {rebuild_command(index)}"
    try:
        folders = Folders.from_meta(meta)
    except IndexDamaged:
        folders = None
    again = index_command(index, folders, rebuild=True)
    return (
        f"Update seewhy, or rebuild the index with: {again}" if is_newer else f"Rebuild it with: {again}"
    )


def all_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return all key-value pairs of table `meta`."""
    return decoded(connection.execute("SELECT key, value FROM meta"))


def one_meta(connection: sqlite3.Connection, key: str, default: Any = None) -> Any:
    """Return the value of a key in table `meta`; `default` if it is missing."""
    rows = connection.execute("SELECT key, value FROM meta WHERE key = ?", (key,))
    return decoded(rows).get(key, default)


def decoded(rows: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Decode rows of table `meta`.

    Raises:
        IndexDamaged: a value is not JSON.
    """
    meta = {}
    for key, value in rows:
        try:
            meta[key] = json.loads(value)
        except (ValueError, RecursionError):
            raise IndexDamaged(
                f"the value of '{key}' in table meta is damaged. {IndexDamaged.CHECK}"
            ) from None
    return meta


def as_json(value: Any) -> str:
    """Serialise as JSON with readable non-ASCII text; invalid bytes of a path (PEP 383) are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else json.dumps(value, allow_nan=False)


def legible_meta(database: Path) -> dict[str, Any]:
    """Return the readable values of table `meta`, for an index of any format that is about to be rebuilt."""
    meta: dict[str, Any] = {}
    with (
        suppress(SearchError, sqlite3.DatabaseError, UnicodeDecodeError),
        closing(connect_to_read(database)) as connection,
    ):
        for row in connection.execute("SELECT key, value FROM meta"):
            with suppress(IndexDamaged):
                meta |= decoded([row])
    return meta


def legible_fingerprint(database: Path) -> Fingerprint | None:
    """Return the fingerprint of an index of any format; None if it cannot be read."""
    try:
        return fingerprint_of(legible_meta(database))
    except IndexDamaged:
        return None


def carried_over(database: Path) -> dict[str, Any]:
    """Return the values of table `meta` that a rebuild keeps: the highest passage ID ever used, and the generation."""
    meta = legible_meta(database)
    return {key: meta[key] for key in ("last_passage", "generation") if type(meta.get(key)) is int}


def settle(database: Path) -> None:
    """Roll back the transaction of a killed writer, so that no journal outlives its database."""
    journal = database.with_name(f"{database.name}-journal")
    if not journal.exists():
        return
    try:
        with closing(connect_to_write(database)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (IndexDamaged, sqlite3.DatabaseError):
        pass  # the database is unreadable, and about to be replaced
    journal.unlink(missing_ok=True)


def replace_database(index: Path, new: Path, *, keep_old: bool) -> Path | None:
    """Rename a complete new database over `index.db`. The caller must hold the writer's lock.

    Args:
        keep_old: keep the old database beside the new one, as `index.db.old`.

    Returns:
        The path of the old database, if it was kept.
    """
    database = index / DATABASE
    kept = _second_name(database) if keep_old and database.exists() else None
    settle(database)
    patiently(lambda: new.replace(database))
    sync_folder(index)
    return kept


def _second_name(database: Path) -> Path:
    """Give a database, and the journal of a killed writer, a second name that is not in use."""
    names = (database.with_name(f"{database.name}.old{number}") for number in ("", *range(2, 1_000)))
    kept = next(path for path in names if not os.path.lexists(path))
    for ending in ("", "-journal"):
        source = database.with_name(f"{database.name}{ending}")
        if source.exists():
            target = kept.with_name(f"{kept.name}{ending}")
            try:
                os.link(source, target)
            except OSError:  # a file system without hard links
                shutil.copy2(source, target)
    return kept


def _connect(database: Path, mode: str) -> sqlite3.Connection:
    uri = f"{database.resolve().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(
            uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise _of_sqlite(database, error) from None
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


@contextmanager
def translated(database: Path) -> Iterator[None]:
    """Convert errors of SQLite and the operating system to errors of this package, with the path and the remedy."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError, IndexDamaged) as error:
        if (translation := as_search_error(error, database)) is error:
            raise
        raise translation from error


def as_search_error(error: Exception, database: Path) -> Exception:
    """Convert an error of SQLite or the operating system to one of this package; return other errors unchanged."""
    if isinstance(error, sqlite3.DatabaseError):
        return _of_sqlite(database, error)
    if isinstance(error, OSError):
        return refused(error, database.parent)
    if str(error).endswith((IndexDamaged.CHECK, IndexDamaged.REPAIR)):
        return IndexDamaged(f"{error} {index_option(database.parent)}")
    return error


def _of_sqlite(database: Path, error: Exception) -> SearchError:
    """Convert an error of SQLite: the system refuses, another process holds a lock, or the file is damaged."""
    kind, message = getattr(error, "sqlite_errorname", ""), str(error)  # no name in Python 3.10
    if "disk is full" in message or kind in _NOT_WRITTEN:
        return StorageFull(database, message)
    if "readonly" in message:
        return AccessDenied(database, database.parent, os.strerror(errno.EROFS))
    if "is locked" in message:
        return IndexLocked(
            f"another process has locked '{database}' for more than {_WAIT_SECONDS:.0f} seconds. Try again when it has "
            "finished."
        )
    try:
        database.stat()
    except FileNotFoundError:
        return removed(database.parent)
    except OSError:
        pass  # the message of SQLite tells more
    else:
        if not os.access(database, os.R_OK):
            return AccessDenied(database, database.parent, os.strerror(errno.EACCES))
    return IndexDamaged(
        f"cannot read '{database}' ({message}). To see what is wrong, run: {check_command(database.parent)}"
    )


# The columns are described in indexes/README.md.
_TABLES = {
    "meta": "key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL",
    "files": """id INTEGER PRIMARY KEY NOT NULL, path BLOB NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, sha256 TEXT, status TEXT NOT NULL""",
    "skipped": """path BLOB NOT NULL, record INTEGER NOT NULL, stage TEXT NOT NULL, reason TEXT NOT NULL,
        detail TEXT NOT NULL, PRIMARY KEY (path, record, stage)""",
    "documents": """id INTEGER PRIMARY KEY NOT NULL, file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
        record INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL,
        sha256 TEXT NOT NULL""",
    "passages": """id INTEGER PRIMARY KEY NOT NULL,
        document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE, start INTEGER NOT NULL,
        "end" INTEGER NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, n_tokens INTEGER NOT NULL,
        page INTEGER, content BLOB NOT NULL, text_key INTEGER NOT NULL, near_key INTEGER NOT NULL,
        heading TEXT NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hidden TEXT NOT NULL""",
    "embeddings": """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        vector BLOB NOT NULL""",
    "token_vectors": """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        vectors BLOB NOT NULL""",
    "annotators": """name TEXT PRIMARY KEY NOT NULL, made_with TEXT NOT NULL, fields TEXT NOT NULL""",
    "annotations": """passage INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        annotator TEXT NOT NULL REFERENCES annotators(name) ON DELETE CASCADE, "values" TEXT NOT NULL,
        spans TEXT NOT NULL, PRIMARY KEY (passage, annotator)""",
    "segments": """id INTEGER PRIMARY KEY NOT NULL, file TEXT NOT NULL, "first" INTEGER NOT NULL,
        "last" INTEGER NOT NULL, count INTEGER NOT NULL, error REAL NOT NULL,
        codes_crc INTEGER NOT NULL, words_size INTEGER NOT NULL, words_crc INTEGER NOT NULL""",
    "words": """"first" INTEGER PRIMARY KEY NOT NULL, "last" INTEGER NOT NULL, count INTEGER NOT NULL,
        block BLOB NOT NULL""",
    "tombstones": "passage INTEGER PRIMARY KEY NOT NULL",
    "baseline": """id INTEGER PRIMARY KEY NOT NULL, passages INTEGER NOT NULL, queries INTEGER NOT NULL,
        made_with TEXT NOT NULL, pairs BLOB NOT NULL""",
}

CONTENTS = (
    """file INTEGER PRIMARY KEY NOT NULL REFERENCES files(id) ON DELETE CASCADE, content TEXT NOT NULL"""
)
"""Columns of table `contents`, which only an index of documents from memory has."""

# For people and other programs; this package does not read it.
_VIEW = """CREATE VIEW passages_in_files AS
    SELECT passages.id AS passage,
        document_name || CASE WHEN page IS NULL THEN ':' || line_start ELSE ' page ' || page END AS place,
        document_name AS document, file_name AS file, kind, title, heading, text, "start", "end", line_start, line_end,
        page, n_tokens, metadata, modified
    FROM passages JOIN (
        SELECT documents.id AS document, name AS file_name, kind, title, metadata,
            CASE record WHEN 0 THEN name ELSE name || '#' || record END AS document_name,
            CASE WHEN mtime_ns >= 0 THEN datetime(mtime_ns / 1000000000, 'unixepoch') END AS modified
        FROM documents JOIN files ON files.id = documents.file
    ) USING (document)"""

TABLES = (
    *(f"CREATE TABLE {name} ({columns}) STRICT" for name, columns in _TABLES.items()),
    "CREATE UNIQUE INDEX files_path ON files (path)",
    "CREATE UNIQUE INDEX documents_record ON documents (file, record)",
    "CREATE INDEX passages_tokens ON passages (n_tokens)",
    "CREATE INDEX passages_document ON passages (document)",
    "CREATE INDEX passages_content ON passages (content)",
    "CREATE INDEX passages_text_key ON passages (text_key)",
    "CREATE INDEX passages_near_key ON passages (near_key)",
    _VIEW,
)

STREAMED = {
    # The ids of a document's passages, and how many words and tokens they have.
    "sent": """document INTEGER PRIMARY KEY NOT NULL, "first" INTEGER NOT NULL, "last" INTEGER NOT NULL,
        words INTEGER NOT NULL, tokens INTEGER NOT NULL""",
    # Passages to delete on the server; `counted`: their stems are already subtracted from table `stems`.
    "gone": """"first" INTEGER PRIMARY KEY NOT NULL, "last" INTEGER NOT NULL, counted INTEGER NOT NULL""",
    # Number of passages with each stem; `changed`: the server still has another number.
    "stems": "stem TEXT PRIMARY KEY NOT NULL, passages INTEGER NOT NULL, changed INTEGER NOT NULL",
}
"""Tables that only an index with its passages on a server has: name -> columns."""
