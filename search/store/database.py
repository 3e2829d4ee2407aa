"""Connections to index.db.

The journal is SQLite's rollback journal, not WAL: readers then need no write access and leave no files
behind, and the WAL-reset bug of SQLite 3.7.0 to 3.51.2 (a commit lost when a checkpoint and a write
overlap) cannot occur. Readers and the writer wait for each other only while one transaction is
written, which is milliseconds: no lock is held while a model runs.

Somebody else may have made a database to do harm. So its tables are compared with those of this program before it is
asked for anything (schema.py), SQLite is told to trust nothing in it, no value may be longer than any that is written,
and a statement that goes on for longer than the size of the file explains is given up.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import sqlite3
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from search.errors import AccessDenied, IndexDamaged, IndexNotFound, IndexOutdated, SearchError, quoted
from search.files import create, open_file
from search.store.checksums import require, row_checksum
from search.store.files import permitted, require_no_link
from search.store.folders import Folders
from search.store.schema import strange
from search.store.settings import LONGEST_VALUE, SETTINGS

Connection = sqlite3.Connection  # for those who only hand it on
DatabaseError = sqlite3.DatabaseError

SCHEMA_VERSION = 7
_WAIT_SECONDS = 60.0
_REPAIR = "seewhy repair"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_NAME_END = struct.Struct(">II8s")  # of a journal that names a file; see sqlite.org/fileformat2.html
_LONGEST_NAME = 1 << 16  # SQLite's own limit is lower
_LONGEST_STORED = 1 << 26  # bytes of one text or blob; SQLite's own limit is a thousand million
_STEPS_AT_ONCE = 1_000_000
_NOT_WRITTEN = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE")
# Steps of SQLite's machine that a statement may take; all that a command needs takes a tenth.
_FEWEST_STEPS, _STEPS_A_BYTE = 30 * _STEPS_AT_ONCE, 50


def connect_to_read(database: Path, *, any_tables: bool = False) -> sqlite3.Connection:
    """A connection that cannot write.

    Args:
        any_tables: whoever asks for it compares the tables.

    Raises:
        IndexNotFound: there is no such file.
        IndexDamaged: the file is no database of this program.
        IndexOutdated: it is of an earlier format.
    """
    if not database.is_file():
        raise IndexNotFound(f"there is no index in '{database.parent}'. Make one with: seewhy index FOLDER")
    _require_own(database, read=True)
    connection = _connect(database, "ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite's message may quote what is damaged
        connection.close()
        if not isinstance(error, sqlite3.OperationalError):
            raise _damaged(database, error) from None
        connection = _connect(database, "rw")  # a killed writer's journal must be rolled back first
    if not any_tables:
        _require_tables(connection, database)
    connection.execute("PRAGMA query_only = 1")
    return connection


def connect_to_write(database: Path) -> sqlite3.Connection:
    """The writer's connection; transactions are begun and ended by hand. Hold the lock first."""
    _require_own(database)
    with suppress(FileExistsError):
        create(database)  # SQLite would let others read it, and gives its journals the same rights
    connection = _connect(database, "rw")
    with translated(database):
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except UnicodeDecodeError as error:  # SQLite's message may quote what is damaged
            raise _damaged(database, error) from None
        _require_tables(connection, database)
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
        _limit_steps(self._kept.connection, self._database)
        try:
            same = _begin(self._kept.connection) == self._kept.tables
        except sqlite3.OperationalError:
            same = False
        return self._kept.connection if same else self._anew(now)

    def _anew(self, of: tuple[int, int, int] | None) -> sqlite3.Connection:
        kept = self._kept
        if getattr(kept, "process", None) == os.getpid():
            # Python closes it only when it next looks for garbage, and in a transaction it would keep a writer waiting.
            kept.connection.close()
        kept.of = None
        kept.connection, kept.process = connect_to_read(self._database), os.getpid()
        kept.of, kept.tables = of, _begin(kept.connection)
        connection: sqlite3.Connection = kept.connection
        return connection


def _begin(connection: sqlite3.Connection) -> int:
    """Begin a transaction; returns a number that SQLite raises with every change of the tables."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    (tables,) = connection.execute("PRAGMA schema_version").fetchone()  # takes the snapshot
    return int(tables)


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
            raise _lacks(key)
    return meta


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether a database is more than an empty file."""
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def has_meta(connection: sqlite3.Connection) -> bool:
    """Whether a database has a table `meta`, and no view of that name: of whatever format, it says which."""
    ordinary = (
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta' AND sql LIKE 'CREATE TABLE%'"
    )
    return connection.execute(ordinary).fetchone() is not None


def format_of(connection: sqlite3.Connection) -> str | None:
    """The number of an index's format as it is written down; None where there is none."""
    row = connection.execute("SELECT substr(value, 1, 20) FROM meta WHERE key = 'schema_version'").fetchone()
    return None if row is None else str(row[0])


def require_format(connection: sqlite3.Connection, database: Path) -> None:
    """Refuse an index of another format than this program's.

    Raises:
        IndexOutdated: of an earlier one.
        IndexDamaged: of a later one, or of none.
    """
    found = format_of(connection)
    if found is None:
        raise _lacks("schema_version")
    if found == str(SCHEMA_VERSION):
        return
    again = f"seewhy index {_folders_typed(connection)} --index {quoted(database.parent)} --rebuild"
    if found.isdigit() and int(found) < SCHEMA_VERSION:
        raise IndexOutdated(
            f"the index in '{database.parent}' has format {found}, of an earlier version of seewhy; this one "
            f"reads {SCHEMA_VERSION}. Make it anew with: {again}"
        )
    raise IndexDamaged(
        f"the index in '{database.parent}' has format {found:.20} and this version of seewhy reads "
        f"{SCHEMA_VERSION}. Update seewhy, or make the index anew with: {again}"
    )


def _folders_typed(connection: sqlite3.Connection) -> str:
    """What an index of whatever format is of, as arguments of a command."""
    rows = connection.execute("SELECT key, value FROM meta WHERE key IN ('root', 'source')" + _SHORT)
    try:
        return Folders.from_meta({key: _of_its_kind(key, value) for key, value in rows}).typed
    except (IndexDamaged, KeyError):
        return "FOLDER"


def all_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Every key-value pair, within a transaction."""
    return {key: one_meta(connection, key) for key in keys_of_meta(connection)}


def keys_of_meta(connection: sqlite3.Connection) -> list[str]:
    """The keys that are there, of those that this program writes."""
    there = f"SELECT key FROM meta WHERE key IN ({', '.join('?' * len(SETTINGS))}) ORDER BY key"
    return [key for (key,) in connection.execute(there, tuple(SETTINGS))]


_SHORT = f" AND length(value) <= {LONGEST_VALUE}"


def _of_its_kind(key: str, value: str) -> Any:
    """A value of the table `meta`, whose checksum says nothing about who wrote it."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not SETTINGS[key](found):
        raise IndexDamaged(
            f"'{key}' in the table 'meta' of the index is '{value:.80}', which makes no sense. Mend it with: "
            "seewhy repair"
        )
    return found


def one_meta(connection: sqlite3.Connection, key: str) -> Any:
    """The value of a key that is there in every index that was begun."""
    row = connection.execute("SELECT value, checksum FROM meta WHERE key = ?" + _SHORT, (key,)).fetchone()
    if row is None:
        raise _lacks(key)
    require("meta", (key, row[0]), row[1])
    return _of_its_kind(key, row[0])


def _lacks(key: str) -> IndexDamaged:
    return IndexDamaged(f"the index does not say what its '{key}' is. Mend it with: seewhy repair")


def as_json(value: Any) -> str:
    """Readable, but for a path that is no valid text (PEP 383): SQLite cannot hold halves of characters."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else json.dumps(value, allow_nan=False)


def put_meta(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    """Set key-value pairs, within a transaction."""
    pairs = [(key, as_json(value)) for key, value in values.items()]
    connection.executemany(
        "INSERT OR REPLACE INTO meta (key, value, checksum) VALUES (?, ?, ?)",
        ((*pair, row_checksum(*pair)) for pair in pairs),
    )


def generation_of(connection: sqlite3.Connection) -> int:
    """A number that is another one after every change of what answers are made of; 0 before the first."""
    return int(one_meta(connection, _GENERATION)) if _GENERATION in keys_of_meta(connection) else 0


def raise_generation(connection: sqlite3.Connection) -> None:
    """Count a change, within its transaction.

    No number is below the time, so that a copy that was put back, and an index whose number was lost, go on with others
    than those that were given since.
    """
    put_meta(connection, {_GENERATION: max(generation_of(connection) + 1, time.time_ns() // 1_000_000)})


_GENERATION = "generation"


def counted(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many passages there are, and the highest number that is known to have been given to any."""
    (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone()
    (last,) = connection.execute(
        """SELECT max(n) FROM (SELECT 0 AS n UNION ALL SELECT max(id) FROM passages
           UNION ALL SELECT max(passage) FROM tombstones UNION ALL SELECT max("last") FROM segments
           UNION ALL SELECT max("last") FROM words)"""
    ).fetchone()
    return passages, last


def count_anew(connection: sqlite3.Connection) -> None:
    """Write down what is counted, within a transaction."""
    passages, last = counted(connection)
    with suppress(IndexDamaged):
        last = max(last, one_meta(connection, "last_passage"))
    put_meta(connection, {"passages": passages, "last_passage": last})


def counts_to_go_on_with(database: Path) -> dict[str, int]:
    """The highest id that was ever given to a passage, and the generation, as far as that can be told; also of an
    earlier format."""
    found: dict[str, int] = {}
    if not database.is_file():
        return found
    with (
        suppress(IndexDamaged, sqlite3.DatabaseError),
        closing(connect_to_read(database, any_tables=True)) as connection,
    ):
        for key in ("last_passage", _GENERATION) if has_meta(connection) else ():
            with suppress(IndexDamaged):
                found[key] = int(one_meta(connection, key))
    return found


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


def _require_own(database: Path, *, read: bool = False) -> None:
    """Refuse a database or a journal that is a link, and a journal that names a file.

    SQLite deletes the file that a killed writer's journal names as the one above it, wherever that lies. Only
    transactions over several databases write such a name, and this program makes none.
    """
    journal = database.with_name(f"{database.name}-journal")
    require_no_link(journal)
    require_no_link(database, shared=read and not journal.exists())  # a journal would be rolled back into it
    with suppress(OSError):  # what cannot be read, SQLite cannot read either
        if _names_a_file(journal):
            raise IndexDamaged(
                f"'{journal}' names another file, which SQLite would delete; seewhy writes no such journal. Nothing "
                "was changed. See where it came from, and make the index again with: seewhy index FOLDER --rebuild"
            )


def _names_a_file(journal: Path) -> bool:
    """Whether a journal ends as SQLite's does that has a super-journal: name, length, checksum, magic number."""
    with open_file(journal, links=False) as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(max(0, size - _NAME_END.size))
        end = stream.read(_NAME_END.size)  # no more, if a writer goes on with it just now
        if len(end) < _NAME_END.size:
            return False
        length, checksum, magic = _NAME_END.unpack(end)
        if magic != _JOURNAL_MAGIC or not 0 < length <= min(size - _NAME_END.size, _LONGEST_NAME):
            return False
        stream.seek(size - _NAME_END.size - length)
        name = stream.read(length)
    return sum(byte - 256 * (byte > 127) for byte in name) % 2**32 == checksum


def _connect(database: Path, mode: str) -> sqlite3.Connection:
    uri = f"{database.resolve().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(
            uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise _damaged(database, error) from None
    connection.execute("PRAGMA trusted_schema = OFF")
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_STORED)
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    _limit_steps(connection, database)
    return connection


def _limit_steps(connection: sqlite3.Connection, database: Path) -> None:
    """Give up what goes on for longer than the size of a database explains, which a writer makes grow.

    Pages that name each other in a circle, or share what is below them, can make a table of a few kilobytes endless.
    """
    taken = itertools.count(_STEPS_AT_ONCE, _STEPS_AT_ONCE)

    def is_too_long() -> bool:
        steps = next(taken)
        return steps > _FEWEST_STEPS and steps > _STEPS_A_BYTE * database.stat().st_size

    connection.set_progress_handler(is_too_long, _STEPS_AT_ONCE)


def _require_tables(connection: sqlite3.Connection, database: Path) -> None:
    """Refuse, and close, a database that is made of anything else than the tables of this program; one of none is well.

    Raises:
        IndexOutdated, IndexDamaged: it is of another format, or was changed.
    """
    try:
        with translated(database):
            names = strange(connection)
            if names and not has_meta(connection):
                raise IndexDamaged(
                    f"'{database}' is a database, but not of this program: it has no table 'meta'."
                )
            if names:
                require_format(connection, database)
                raise IndexDamaged(
                    f"'{database}' was changed, and is not read: {', '.join(names[:3])} is not as seewhy makes it. "
                    "Make the index again with: seewhy index FOLDER --rebuild"
                )
    except BaseException:
        connection.close()
        raise


@contextmanager
def translated(database: Path) -> Iterator[None]:
    """Errors of SQLite and of the system as this program's, with the path and the way out."""
    try:
        with permitted(database.parent):
            yield
    except sqlite3.DatabaseError as error:
        raise _damaged(database, error) from error
    except IndexDamaged as error:
        if str(error).endswith(_REPAIR):  # what found the damage does not know where the index lies
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
    if str(error) == "interrupted":
        return IndexDamaged(
            f"'{database}' cannot be read: that takes far longer than its size explains, so it is not what seewhy "
            "wrote. Make the index again with: seewhy index FOLDER --rebuild"
        )
    return IndexDamaged(
        f"'{database}' cannot be read ({error}). If this lasts, see what is wrong with: seewhy check. Mend it with: "
        "seewhy repair"
    )
