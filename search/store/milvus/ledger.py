"""What an index in a folder has published, and where: `published.db` beside its index.db.

Every version of a passage, document or term that is on the server, with what tells whether it is as it was. It is
written in one transaction that ends before the generation is put on the server: so whichever generation answers there
after a run was killed, it is known here, and one that is not known is somebody else's.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.files import create
from search.store.files import PUBLISHED, PUBLISHED_JOURNAL, require_no_link
from search.store.milvus.layout import ALIVE
from search.store.milvus.rows import key
from search.store.milvus.terms import Known

if TYPE_CHECKING:
    from search.store.protocol import Ids

_TABLES = (
    """CREATE TABLE settings (address TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, stamp INTEGER NOT NULL,
       newest INTEGER NOT NULL) STRICT""",
    "CREATE TABLE generations (number INTEGER PRIMARY KEY NOT NULL, local INTEGER NOT NULL) STRICT",
    """CREATE TABLE versions (kind TEXT NOT NULL, id INTEGER NOT NULL, born INTEGER NOT NULL, died INTEGER NOT NULL,
       said BLOB NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (kind, id, born)) STRICT, WITHOUT ROWID""",
)


@dataclass(frozen=True)
class Place:
    """Where an index is published.

    Attributes:
        address: as it was given.
        kind: of the index of embeddings there.
        local: the generation of the index in the folder that was published last; 0 for none.
    """

    address: str
    kind: str
    local: int = 0


def place_of(index: Path) -> Place | None:
    """Where an index was said to be published; None where it was not."""
    if not (index / PUBLISHED).is_file():
        return None
    with _connected(index) as connection:
        address, kind, newest = connection.execute("SELECT address, kind, newest FROM settings").fetchone()
        return Place(address, kind, newest)


def keep_place(index: Path, place: Place) -> None:
    """Publish an index there from now on, of which nothing is there yet; with the lock held."""
    forget_place(index)
    create(index / PUBLISHED)
    with _connected(index) as connection, connection:
        for statement in _TABLES:
            connection.execute(statement)
        settings = (place.address, place.kind, secrets.token_hex(16), 0, 0)
        connection.execute("INSERT INTO settings VALUES (?, ?, ?, ?, ?)", settings)


def change_kind(index: Path, kind: str) -> None:
    """Have another kind of index of embeddings from now on; with the lock held."""
    with _connected(index) as connection, connection:
        connection.execute("UPDATE settings SET kind = ?", (kind,))


def forget_place(index: Path) -> None:
    """Publish an index no more; with the lock held."""
    for name in (PUBLISHED_JOURNAL, PUBLISHED):
        require_no_link(index / name)
        (index / name).unlink(missing_ok=True)


@contextmanager
def ledger_of(index: Path) -> Iterator[Ledger]:
    """The ledger of an index that is to be published, with the lock held; what is not committed is forgotten."""
    with _connected(index) as connection:
        yield Ledger(connection)


class Ledger:
    """What was published; every method but `commit` and `confirm` is of the transaction that these end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        row = connection.execute("SELECT id, stamp, address, kind FROM settings").fetchone()
        self.id, self.stamp, self.address, self.kind = row

    def knows(self, number: int) -> bool:
        """Whether a generation is one of those that were published from here."""
        there = "SELECT 1 FROM generations WHERE number = ?"
        return self._connection.execute(there, (number,)).fetchone() is not None

    def local(self, number: int) -> int:
        """Which generation of the index in the folder it was."""
        there = "SELECT local FROM generations WHERE number = ?"
        return int(self._connection.execute(there, (number,)).fetchone()[0])

    def back_to(self, number: int) -> None:
        """As when a generation was committed: what came later did not come to answer."""
        execute = self._connection.execute
        execute("DELETE FROM versions WHERE born > ?", (number,))
        execute("UPDATE versions SET died = ? WHERE died > ?", (ALIVE, number))
        execute("DELETE FROM generations WHERE number > ?", (number,))

    def clear(self, stamp: int) -> None:
        """Nothing is there under a new stamp; what answers until that is whole is still known."""
        self.stamp = stamp
        self._connection.execute("DELETE FROM versions")
        self._connection.execute("UPDATE settings SET stamp = ?", (stamp,))

    def ids(self, kind: str) -> Ids:
        """Of all passages or documents that are there, increasing."""
        rows = self._connection.execute(
            "SELECT id FROM versions WHERE kind = ? AND died = ? ORDER BY id", (kind, ALIVE)
        )
        return np.fromiter((id_ for (id_,) in rows), dtype=np.int64)

    def said(self, kind: str, ids: Sequence[int]) -> dict[int, bytes]:
        """What was published of passages or documents, of those of increasing ids that are there."""
        between = "SELECT id, said FROM versions WHERE kind = ? AND id BETWEEN ? AND ? AND died = ?"
        return dict(self._connection.execute(between, (kind, ids[0], ids[-1], ALIVE)).fetchall())

    def terms(self) -> dict[str, Known]:
        """All terms that are there, by their keys."""
        rows = self._connection.execute(
            "SELECT said, id, count, born FROM versions WHERE kind = 'terms' AND died = ?", (ALIVE,)
        )
        return {said.decode(): Known(number, count, born) for said, number, count, born in rows}

    def die(self, kind: str, ids: Iterable[int], at: int) -> list[str]:
        """Versions that are there die with a generation. Returns their keys."""
        keys = []
        for id_ in ids:
            row = self._connection.execute(
                "UPDATE versions SET died = ? WHERE kind = ? AND id = ? AND died = ? RETURNING born",
                (at, kind, id_, ALIVE),
            ).fetchone()
            keys += [key(id_, row[0])] if row else []
        return keys

    def add(self, kind: str, born: int, rows: Iterable[tuple[int, bytes, int]]) -> None:
        """Versions come: id, what is said, and a term's count."""
        self._connection.executemany(
            "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)",
            ((kind, id_, born, ALIVE, said, count) for id_, said, count in rows),
        )

    def commit(self, number: int, local: int) -> None:
        """All of a generation is on the server, but that it answers."""
        self._connection.execute("INSERT OR REPLACE INTO generations VALUES (?, ?)", (number, local))
        self._connection.commit()

    def confirm(self, number: int) -> None:
        """A generation answers, and the one before it still can."""
        execute = self._connection.execute
        before = "(SELECT coalesce(max(number), 0) FROM generations WHERE number < ?)"
        execute(f"DELETE FROM versions WHERE died <= {before}", (number,))
        execute(f"DELETE FROM generations WHERE number < {before}", (number,))
        execute("UPDATE settings SET newest = (SELECT local FROM generations WHERE number = ?)", (number,))
        self._connection.commit()


@contextmanager
def _connected(index: Path) -> Iterator[sqlite3.Connection]:
    for name in (PUBLISHED, PUBLISHED_JOURNAL):
        require_no_link(index / name)
    try:
        with closing(sqlite3.connect(index / PUBLISHED)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            tables = {
                sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            }
            if tables - set(_TABLES):
                raise sqlite3.DatabaseError("it was changed")
            yield connection
    except sqlite3.Error as error:
        raise IndexDamaged(
            f"'{index / PUBLISHED}', which says what was published of the index, cannot be used ({error}). Write all "
            "anew with: seewhy index FOLDER --store ADDRESS --store-anew; or publish no more, with: --store none"
        ) from error
