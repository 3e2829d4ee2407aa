"""Connections to index.db.

The journal is SQLite's rollback journal, not WAL: readers then need no write access and leave no files
behind, and the WAL-reset bug of SQLite 3.7.0 to 3.51.2 (a commit lost when a checkpoint and a write
overlap) cannot occur. Readers and the writer wait for each other only while one transaction is
written, which is milliseconds: no lock is held while a model runs.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from search.errors import AccessDenied, IndexDamaged, IndexNotFound, IndexOutdated, SearchError, quoted
from search.files import create
from search.store.files import permitted, require_no_link
from search.store.folders import Folders

Connection = sqlite3.Connection  # for those who only hand it on
DatabaseError = sqlite3.DatabaseError

SCHEMA_VERSION = 8
_WAIT_SECONDS = 60.0
_REPAIR = "seewhy check --repair"
_NOT_WRITTEN = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE")


def connect_to_read(database: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    Raises:
        IndexNotFound: there is no such file.
        IndexDamaged: the file is not a database.
    """
    if not database.is_file():
        raise IndexNotFound(f"there is no index in '{database.parent}'. Make one with: seewhy index FOLDER")
    require_no_link(database)
    connection = _connect(database, "ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite's message may quote what is damaged
        connection.close()
        if not isinstance(error, sqlite3.OperationalError):
            raise _damaged(database, error) from None
        connection = _connect(database, "rw")  # a killed writer's journal must be rolled back first
    connection.execute("PRAGMA query_only = 1")
    return connection


def connect_to_write(database: Path) -> sqlite3.Connection:
    """The writer's connection; transactions are begun and ended by hand. Hold the lock first."""
    require_no_link(database)
    with suppress(FileExistsError):
        create(database)  # SQLite would let others read it, and gives its journals the same rights
    connection = _connect(database, "rw")
    with translated(database):
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except UnicodeDecodeError as error:  # SQLite's message may quote what is damaged
            raise _damaged(database, error) from None
        connection.execute("PRAGMA synchronous = EXTRA")  # FULL, and the folder after the journal is gone
        connection.execute("PRAGMA foreign_keys = 1")
    return connection


@contextmanager
def reading(database: Path) -> Iterator[sqlite3.Connection]:
    """One read transaction: everything in it sees the same state of the index."""
    with closing(connect_to_read(database)) as connection, translated(database):
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


class Reader:
    """Read transactions of a process that asks often: each thread keeps its connection.

    A connection is opened anew when the file has been replaced (a rebuild), in a forked process, and when
    a killed writer's journal must be rolled back. On Windows none is kept, because an open file
    could not be replaced there.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._kept = threading.local()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """As the function `reading`."""
        if os.name == "nt":
            with reading(self._database) as connection:
                yield connection
            return
        with translated(self._database):
            connection = self._begun()
            try:
                yield connection
            finally:
                if connection.in_transaction:  # after an I/O error it may be over
                    connection.execute("ROLLBACK")  # nothing was written; this only ends the snapshot

    def _begun(self) -> sqlite3.Connection:
        try:
            found = self._database.stat()
            now = (found.st_dev, found.st_ino, os.getpid())
        except OSError:
            now = None
        if now is None or getattr(self._kept, "of", None) != now:
            return self._anew(now)
        try:
            return _begin(self._kept.connection)
        except sqlite3.OperationalError:
            return self._anew(now)

    def _anew(self, of: tuple[int, int, int] | None) -> sqlite3.Connection:
        kept = self._kept
        if getattr(kept, "process", None) == os.getpid():
            # Python closes it only when it next looks for garbage, and in a transaction it would keep a writer waiting.
            kept.connection.close()
        kept.of = None
        kept.connection, kept.process = connect_to_read(self._database), os.getpid()
        _begin(kept.connection)
        kept.of = of
        return kept.connection


def _begin(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Begin a transaction, and take its snapshot."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    return connection


def read_meta(database: Path) -> dict[str, Any]:
    """The key-value pairs that describe an index, after checking that this program can read it.

    Raises:
        IndexOutdated, IndexDamaged: the format is an earlier one, or a later one.
        IndexNotFound: the index was begun and never filled.
    """
    with reading(database) as connection:
        return meta_of(connection, database)


def meta_of(connection: sqlite3.Connection, database: Path) -> dict[str, Any]:
    """As `read_meta`, within a transaction that is already open."""
    meta = {}
    if has_tables(connection):
        require_format(connection, database)
        meta = all_meta(connection)
    if "fingerprint" not in meta and "root" not in meta:
        raise IndexNotFound(
            f"the index in '{database.parent}' was begun and never filled. Go on with: seewhy index FOLDER"
        )
    for key in ("root", "fingerprint", "source"):
        if key not in meta:
            raise IndexDamaged(
                f"the index lacks the setting '{key}'. To fix this, run: seewhy index FOLDER --rebuild"
            )
    return meta


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether a database is more than an empty file."""
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def require_format(connection: sqlite3.Connection, database: Path) -> None:
    """Refuse an index of another format than this program's.

    Raises:
        IndexOutdated: of an earlier one.
        IndexDamaged: of a later one, or of none.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    if row == (str(SCHEMA_VERSION),):
        return
    again = f"seewhy index {_folders_typed(connection)} --index {quoted(database.parent)} --rebuild"
    if row and row[0].isdigit() and int(row[0]) < SCHEMA_VERSION:
        raise IndexOutdated(
            f"the index in '{database.parent}' has format {row[0]}, of an earlier version of seewhy; this one "
            f"reads {SCHEMA_VERSION}. Rebuild it with: {again}"
        )
    raise IndexDamaged(
        f"the index in '{database.parent}' has format {row[0] if row else 'unknown':.20} and this version of seewhy "
        f"reads {SCHEMA_VERSION}. Update seewhy, or rebuild the index with: {again}"
    )


def _folders_typed(connection: sqlite3.Connection) -> str:
    """The folders of an index of whatever format, as arguments of a command."""
    try:
        return Folders.from_meta(all_meta(connection)).typed
    except (ValueError, KeyError, TypeError):
        return "FOLDER"


def all_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Every key-value pair, within a transaction."""
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def one_meta(connection: sqlite3.Connection, key: str, default: Any = None) -> Any:
    """The value of a key; `default` if it has none.

    Raises:
        IndexDamaged: it has none, and there is no default.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None and default is None:
        raise IndexDamaged(
            f"the index lacks the setting '{key}'. To fix this, run: seewhy index FOLDER --rebuild"
        )
    return default if row is None else json.loads(row[0])


def as_json(value: Any) -> str:
    """Readable, but for a path that is no valid text (PEP 383): SQLite cannot hold halves of characters."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else json.dumps(value, allow_nan=False)


def put_meta(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    """Set key-value pairs, within a transaction."""
    pairs = [(key, as_json(value)) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", pairs)


def generation_of(connection: sqlite3.Connection) -> int:
    """A number that is another one after every change of what answers are made of; 0 before the first."""
    return int(one_meta(connection, _GENERATION, 0))


def raise_generation(connection: sqlite3.Connection) -> None:
    """Count a change, within its transaction.

    No number is below the time, so that a copy that was put back, and an index whose number was lost, go on with others
    than those that were given since.
    """
    put_meta(connection, {_GENERATION: max(generation_of(connection) + 1, time.time_ns() // 1_000_000)})


_GENERATION = "generation"


def counts_to_go_on_with(database: Path) -> dict[str, int]:
    """The highest ID that was ever given to a passage, and the generation; also of an earlier format."""
    counts: dict[str, int] = {}
    with suppress(SearchError, sqlite3.DatabaseError), closing(connect_to_read(database)) as connection:
        for key in ("last_passage", _GENERATION):
            counts[key] = int(one_meta(connection, key))
    return counts


def settle(database: Path) -> None:
    """Roll back what a killed writer left half done, so that no journal outlives its database."""
    journal = database.with_name(f"{database.name}-journal")
    if not journal.exists():
        return
    try:
        with closing(connect_to_write(database)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (IndexDamaged, sqlite3.DatabaseError):
        pass  # the database is beyond reading, and about to be replaced
    journal.unlink(missing_ok=True)


def _connect(database: Path, mode: str) -> sqlite3.Connection:
    uri = f"{database.resolve().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(
            uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise _damaged(database, error) from None
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


@contextmanager
def translated(database: Path) -> Iterator[None]:
    """Errors of SQLite and of the system as this program's, with the path and the way out."""
    try:
        with permitted(database.parent):
            yield
    except sqlite3.DatabaseError as error:
        raise _damaged(database, error) from error
    except IndexDamaged as error:
        if str(error).endswith(_REPAIR):  # whoever found the damage does not know where the index is
            raise IndexDamaged(f"{error} --index {quoted(database.parent)}") from error
        raise


def _damaged(database: Path, error: Exception) -> SearchError:
    kind = getattr(error, "sqlite_errorname", "")  # not in Python 3.10
    if "full" in str(error) or "readonly" in str(error) or kind in _NOT_WRITTEN:
        return IndexDamaged(
            f"'{database}' cannot be written ({error}). The index is as it was after the last batch; make room, allow "
            "larger files (ulimit -f), or get the right to write there, and run again."
        )
    if database.exists() and not os.access(database, os.R_OK):
        return AccessDenied(database, database.parent, os.strerror(errno.EACCES))
    return IndexDamaged(f"'{database}' cannot be read ({error}). To see what is wrong, run: seewhy check")
