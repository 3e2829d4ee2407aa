"""Is an index what was written, and is it up to date?

`check` never raises for what is wrong with an index, it reports it: also for one that `Index.open` refuses.
It writes nothing and holds no lock for long, so it can run beside a writer; what each check compares is
compared in one short read transaction.

    kinds.py            what can be wrong, by kind
    examine.py          row by row
    examine_derived.py  the FAISS file and a sample of queries, the words, token vectors, random pairs
    examine_files.py    what lies about, and the files of the folder

What it cannot find: a vector that was wrong when it was written with the right checksum; a text that the
reader of its format got wrong. For these, build the index again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from search.errors import IndexDamaged, SearchError, quoted
from search.records.reports import CheckReport, Progress
from search.store.database import SCHEMA_VERSION, connect_to_read
from search.store.health import examine, examine_derived, examine_files
from search.store.health.kinds import CHECKS, KINDS, Tally
from search.store.layout import DATABASE, home, place_for
from search.store.sqlite import SQLiteStore

_TABLES = ("files", "documents", "passages")
_NEEDED_FOR_QUERIES = ("database", "format", "settings", "links", "embeddings", "counts")


def check(
    index: Path,
    *,
    sources: bool = True,
    verify: bool = False,
    queries: int = 20,
    progress: Callable[[Progress], None] | None = None,
) -> CheckReport:
    """Look at everything in an index.

    Args:
        index: the folder of the index.
        sources: compare the files of the indexed folder with the index, by size, time stamp and inode.
        verify: compare them by content too.
        queries: how many stored embeddings to ask with and to compare with brute force; 0 for none.
        progress: called often, with the stage "checking" and rows as its unit.

    Raises:
        IndexNotFound: there is no index.db.
    """
    started = time.monotonic()
    found = examined(index, sources=sources, verify=verify, queries=queries, progress=progress)
    return found.report(time.monotonic() - started)


def examined(index: Path, **options: Any) -> Examination:
    """What `check` found, in a form that `repair` can use."""
    found = Examination(index)
    found.run(**options)
    return found


class Examination:
    """One pass over an index.

    Attributes:
        tally: what is wrong, with the rows.
        meta: the settings, as far as they can be read.
        dimension: of the embeddings, as recorded, or else as most of them have it.
    """

    def __init__(self, index: Path) -> None:
        self.index, self.database = index, index / DATABASE
        self.tally = Tally()
        self.meta: dict[str, Any] = {}
        self.dimension = 0
        self._made: dict[str, str] = {}
        self._totals = dict.fromkeys(_TABLES, 0)
        self._done = self._passages = 0
        self._progress: Callable[[Progress], None] | None = None

    def run(
        self,
        *,
        sources: bool = True,
        verify: bool = False,
        queries: int = 20,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._progress = progress
        try:
            connection = examine.lenient(connect_to_read(self.database))
        except IndexDamaged as error:
            self._fault("database", "database unreadable", str(error.__cause__ or error))
            return
        with closing(connection):
            if not self._database(connection) or not self._format(connection):
                return
            self._rows(connection)
            self._vectors(connection, queries)
            self._surroundings(connection)
        if sources and "root" in self.meta and "source" in self.meta:
            self._sources(verify)

    def report(self, seconds: float) -> CheckReport:
        folder = self.meta.get("root", "")
        return CheckReport(
            index=str(self.index),
            folder=folder,
            ok=not self.tally.damaged,
            findings=self.tally.findings(self._made, ways_out(self.index, folder)),
            unchecked=tuple(name for name in CHECKS if name not in self._made),
            documents=self._totals["documents"],
            passages=self._totals["passages"],
            seconds=seconds,
        )

    def _database(self, connection: sqlite3.Connection) -> bool:
        """Whether SQLite can read all of it; its indexes are compared with the tables too."""
        with self._making("database"), examine.snapshot(connection):
            for (message,) in connection.execute("PRAGMA integrity_check(20)"):
                for line in message.splitlines():
                    if "FTS5" in line:  # since SQLite 3.44
                        self.tally.add("words", line)
                    elif line != "ok" and not line.startswith("***"):  # which is a headline
                        self.tally.add("database fault", line)
        return "database" in self._made and "database fault" not in self.tally

    def _format(self, connection: sqlite3.Connection) -> bool:
        """Whether the tables are those that this program makes."""
        with self._making("format"), examine.snapshot(connection):
            there = shape(connection)
            if not there:
                emptied = self.database.stat().st_size or any(self.index.glob("ann/*.faiss"))
                self.tally.add("emptied" if emptied else "no tables")
                return False
            if not {name for _, name in there} & {"meta", "passages", "documents", "files"}:
                self.tally.add("foreign")
                return False
            version = _version(connection)
            expected = expected_shape()
            if version is not None and version != SCHEMA_VERSION:
                self.tally.add("older format" if version < SCHEMA_VERSION else "newer format", str(version))
                return False
            for kind, name in sorted({key for key, _ in there.items() ^ expected.items()}):
                self.tally.add("schema", f"{kind} {name}")
            empty = not connection.execute(
                "SELECT 1 FROM meta WHERE key IN ('root', 'fingerprint')"
            ).fetchone()
            if (
                "schema" not in self.tally
                and empty
                and not connection.execute("SELECT 1 FROM files").fetchone()
            ):
                self.tally.add("no tables")
                return False
        return "format" in self._made and "schema" not in self.tally

    def _rows(self, connection: sqlite3.Connection) -> None:
        with self._making("settings"):
            good, doubtful = examine.examine_settings(connection, self.tally)
            self.meta = doubtful | good
            made = good.get("fingerprint")
            self.dimension = int(made["dimension"]) if made else examine.usual_dimension(connection)
            for table in _TABLES:
                (self._totals[table],) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        with self._making("links"):
            examine.examine_links(connection, self.tally)
        with self._making("files"):
            examine.examine_files(connection, self.tally, self._tick)
        with self._making("documents"):
            examine.examine_documents(connection, self.tally, self._tick)
        with self._making("passages", "embeddings"):
            examine.examine_passages(connection, self.dimension, self.tally, self._tick_passages)
        with self._making("counts"):
            examine.examine_counts(connection, self.tally)
        with self._making("words"):
            examine_derived.examine_words(connection, self.tally)
        with self._making("token vectors"):
            examine_derived.examine_token_vectors(connection, self.dimension, self.tally, self._tick)
        with self._making("annotations"):
            examine.examine_annotations(connection, self.tally, self._tick)
        with self._making("baseline"):
            examine_derived.examine_baseline(connection, self.tally)

    def _vectors(self, connection: sqlite3.Connection, queries: int) -> None:
        """Queries are asked only where the rows are sound: with damaged rows they are refused."""
        store = SQLiteStore(self.index)
        if not self.dimension:
            return
        with self._making("vectors"):
            examine_derived.examine_vectors(connection, self.dimension, store.vectors, self.tally)
        sound = not any(KINDS[kind].check in _NEEDED_FOR_QUERIES for kind in self.tally.counts)
        if queries and sound:
            with self._making("queries"):
                asked = examine_derived.examine_queries(
                    connection, store, self.dimension, queries, self.tally
                )
                self._made["queries"] = f"{asked} queries find what brute force finds"

    def _surroundings(self, connection: sqlite3.Connection) -> None:
        with self._making("leftovers"):
            examine_files.examine_leftovers(self.index, connection, self.tally)
        with self._making("run"):
            if examine_files.examine_run(self.index, connection, self.tally):
                self._made["run"] = "a run is under way"

    def _sources(self, verify: bool) -> None:
        with self._making("sources"):
            examine_files.examine_sources(self.index, self.database, self.meta, verify, self.tally)
            how = "by their content" if verify else "by size and time stamp"
            self._made["sources"] = f"{CHECKS['sources']}, {how}"

    def _making(self, *checks: str) -> _Making:
        return _Making(self, checks)

    def made(self, check: str) -> None:
        """A check could be made."""
        self._made.setdefault(check, CHECKS[check])

    def _fault(self, check: str, kind: str, name: str) -> None:
        self.made(check)
        self.tally.add(kind, name)

    def _tick(self, rows: int) -> None:
        self._done += rows
        if self._progress:
            total = max(sum(self._totals.values()), self._done)
            self._progress(Progress("checking", self._done, total, passages=self._passages))

    def _tick_passages(self, rows: int) -> None:
        self._passages += rows
        self._tick(rows)


class _Making:
    """One check: counted as made, unless SQLite gives up on a part of the database."""

    def __init__(self, examination: Examination, checks: tuple[str, ...]) -> None:
        self._examination, self._checks = examination, checks

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        if error is None:
            for check in self._checks:
                self._examination.made(check)
            return False
        if isinstance(error, sqlite3.DatabaseError | SearchError | ValueError | OverflowError):
            self._examination.tally.add("table unreadable", f"{' and '.join(self._checks)}: {error}")
            return True
        return False


def shape(connection: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, ...]]:
    """What a database is made of: (kind, name) -> columns, for tables, indexes, views and triggers."""
    found = {}
    for kind, name in connection.execute("SELECT type, name FROM sqlite_master").fetchall():
        if not name.startswith("sqlite_"):
            columns = connection.execute(
                f"SELECT name FROM pragma_{'index' if kind == 'index' else 'table'}_info(?)", (name,)
            )
            found[kind, name] = tuple(str(row[0]) for row in columns)
    return found


def expected_shape() -> dict[tuple[str, str], tuple[str, ...]]:
    """As `shape`, of a new index."""
    from search.store.schema import create

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create(connection)
        return shape(connection)


def _version(connection: sqlite3.Connection) -> int | None:
    """The format as recorded; None where that cannot be read."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        return int(row[0]) if row else None
    except (sqlite3.DatabaseError, ValueError):
        return None


def ways_out(index: Path, folder: str) -> dict[str, str]:
    """The commands that help, as they are to be typed."""
    kept = index.parent == home() / "indexes"
    place = f" --index {index.name if kept else quoted(index)}"
    try:
        usual = bool(folder) and Path(folder).is_dir() and place_for(Path(folder), None) == index
    except (SearchError, OSError):
        usual = False
    update = f"seewhy index {quoted(folder or 'FOLDER')}{'' if usual else place}"
    return {
        "repair": f"seewhy repair{place}",
        "index": update,
        "verify": f"{update} --verify",
        "rebuild": f"{update} --rebuild",
        "upgrade": "pip install --upgrade seewhy",
    }
