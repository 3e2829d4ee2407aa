"""Is an index what was written, and is it up to date?

`check` never raises for what is wrong with an index, it reports it: also for one that `Index.open` refuses.
It writes nothing and holds no lock for long, so it can run beside a writer; what each check compares is
compared in one short read transaction.

What is compared is told in search/store/health/.

What it cannot find: a vector that was wrong when it was written with the right checksum; a text that the
reader of its format got wrong. For these, build the index again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from search.corpus import SourceFile, load
from search.errors import IndexDamaged, InputError, ReadError, SearchError, quoted
from search.indexing.plan import compare, listed
from search.records.reports import CheckReport, Progress
from search.store.database import Connection, DatabaseError, connect_to_read
from search.store.health import derived, rows
from search.store.health.kinds import CHECKS, KINDS, Tally
from search.store.layout import DATABASE, home, place_for
from search.store.passages import stored_files
from search.store.settings import Source
from search.store.sqlite import SQLiteStore

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
        self._totals = dict.fromkeys(("files", "documents", "passages"), 0)
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
            connection = rows.lenient(connect_to_read(self.database))
        except IndexDamaged as error:
            self._fault("database", "database unreadable", str(error.__cause__ or error))
            return
        with closing(connection):
            if not self._can_be_read(connection):
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

    def _can_be_read(self, connection: Connection) -> bool:
        """Whether rows can be looked at: SQLite finds no fault, and the tables are those of this version."""
        with self._making("database"):
            rows.examine_database(connection, self.tally)
        if "database" not in self._made or "database fault" in self.tally:
            return False
        readable = False
        with self._making("format"):
            readable = rows.examine_format(connection, self.index, self.tally)
        return readable

    def _rows(self, connection: Connection) -> None:
        with self._making("settings"):
            good, doubtful = rows.examine_settings(connection, self.tally)
            self.meta = doubtful | good
            made = good.get("fingerprint")
            self.dimension = int(made["dimension"]) if made else rows.usual_dimension(connection)
            self._totals = rows.totals(connection)
        with self._making("links"):
            rows.examine_links(connection, self.tally)
        with self._making("files"):
            rows.examine_files(connection, self.tally, self._tick)
        with self._making("documents"):
            rows.examine_documents(connection, self.tally, self._tick)
        with self._making("passages", "embeddings"):
            rows.examine_passages(connection, self.dimension, self.tally, self._tick_passages)
        with self._making("counts"):
            rows.examine_counts(connection, self.tally)
        with self._making("words"):
            derived.examine_words(connection, self.tally)
        with self._making("token vectors"):
            derived.examine_token_vectors(connection, self.dimension, self.tally, self._tick)
        with self._making("annotations"):
            rows.examine_annotations(connection, self.tally, self._tick)
        with self._making("baseline"):
            derived.examine_baseline(connection, self.tally)

    def _vectors(self, connection: Connection, queries: int) -> None:
        """Queries are asked only where the rows are sound: with damaged rows they are refused."""
        store = SQLiteStore(self.index)
        if not self.dimension:
            return
        with self._making("vectors"):
            derived.examine_vectors(connection, self.dimension, store.vectors, self.tally)
        sound = not any(KINDS[kind].check in _NEEDED_FOR_QUERIES for kind in self.tally.counts)
        if queries and sound:
            with self._making("queries"):
                asked = derived.examine_queries(connection, store, self.dimension, queries, self.tally)
                self._made["queries"] = f"{asked} queries find what brute force finds"

    def _surroundings(self, connection: Connection) -> None:
        with self._making("leftovers"):
            derived.examine_leftovers(self.index, connection, self.tally)
        with self._making("run"):
            if derived.examine_run(self.index, connection, self.tally):
                self._made["run"] = "a run is under way"

    def _sources(self, verify: bool) -> None:
        with self._making("sources"):
            examine_sources(self.index, self.database, self.meta, verify, self.tally)
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
        if isinstance(error, DatabaseError | SearchError | ValueError | OverflowError):
            self._examination.tally.add("table unreadable", f"{' and '.join(self._checks)}: {error}")
            return True
        return False


def examine_sources(index: Path, database: Path, meta: dict[str, Any], verify: bool, tally: Tally) -> None:
    """Compare the files of the folder with what is stored: by size, time and inode.

    A file in which these differ is read, because a new time stamp alone is no change.

    Args:
        verify: also read every file and compare its sha256.
    """
    try:
        files, skipped = listed(Path(meta["root"]), index, Source.from_dict(meta["source"]))
    except InputError as error:
        tally.add("no folder", str(error))
        return
    with closing(connect_to_read(database)) as connection:
        stored = stored_files(connection)
    plan = compare(stored, files, skipped)
    for file, _ in plan.changed:
        before = stored.get(file.path)
        if before is None:
            tally.add("new", file.path)
        elif not before.sha256 or _sha256(file) != before.sha256:  # more than its time stamp
            tally.add("changed", file.path)
    for name in plan.gone:
        tally.add("gone", name)
    if verify:
        seen = {file.path for file, _ in plan.changed}
        for file in files:
            before = stored.get(file.path)
            if file.path in seen or before is None or not before.sha256:
                continue
            if _sha256(file) not in ("", before.sha256):
                tally.add("changed secretly", file.path)


def _sha256(file: SourceFile) -> str:
    """Of a file's bytes; "" if it cannot be read now."""
    try:
        return load(file).sha256
    except ReadError:
        return ""


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
