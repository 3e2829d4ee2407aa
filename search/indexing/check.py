"""Check an index, and make what is derived again where it is damaged.

index.db is the only truth; SQLite's own check says whether it can be read. FAISS files and postings are derived: their
checksums are compared, and a repair makes them again from index.db. A damaged index.db is not repaired: the command
that rebuilds the index from its folder is named.

With `verify`, files are compared by content, and some passages are encoded again: an index that was filled with the
wrong model has the right checksums.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from search.corpus import SourceFile, load
from search.encoding.encoder import Encoder, with_context
from search.encoding.fingerprint import Fingerprint
from search.errors import AccessDenied, IndexDamaged, InputError, ModelError, ReadError, SearchError, quoted
from search.indexing.plan import compare, listed
from search.records.reports import CheckReport, Finding, Progress, Severity
from search.store import words
from search.store.database import connect_to_read, meta_of, one_meta, translated
from search.store.files import delete_leftovers, is_being_written, leftovers, writer_lock
from search.store.folders import Folders
from search.store.layout import DATABASE, home, is_own, place_for
from search.store.passages import counts, stored_files, stored_passages
from search.store.sealing import seal_anew
from search.store.segments import named_files, open_codes, open_words, read_segments
from search.store.settings import Source
from search.store.vectors import embeddings
from search.store.writer import writing

_EXAMPLES = 5
_SAMPLE = 16  # passages
# Largest distance between unit vectors of another machine or engine.
_TOLERANCE = {"fp32": 1e-3, "bf16": 0.1, "fp16": 0.1}


class _Check(NamedTuple):
    """One thing that is looked at: the sentence for either outcome, how bad it is, and the command that helps."""

    passed: str
    failed: str
    severity: Severity = "damaged"
    command: str = "repair"


CHECKS = {
    "database": _Check("SQLite finds no fault in index.db", "index.db is damaged", command="rebuild"),
    "postings": _Check("postings are intact", "postings are damaged; only --mode dense answers"),
    "vectors": _Check(
        "FAISS files are intact", "a FAISS file is damaged or missing; queries are exact but slower"
    ),
    "leftovers": _Check("no stray files", "files of an interrupted run", "stale"),
    "run": _Check("no interrupted run", "the last run was interrupted", "stale", "index"),
    "sources": _Check(
        "all files are as they were indexed", "files changed since they were indexed", "stale", "index"
    ),
    "sample": _Check(
        "passages that were encoded again have the stored embeddings",
        "stored embeddings are not what the model computes for their passages",
        command="rebuild",
    ),
}


def check(
    index: Path,
    *,
    verify: bool = False,
    repair: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> CheckReport:
    """Check an index and compare it with its folder. What is wrong is reported, never raised.

    Args:
        index: the folder of the index.
        verify: compare files by content, not only by size, time stamp and inode, and encode some passages again, if the
            model is on this machine.
        repair: make damaged derived files again, and delete stray files.
        progress: called before each check, with the stage "checking".

    Raises:
        IndexNotFound: there is no index.db.
        IndexLocked: `repair`, and another process is writing to the index.
    """
    started = time.monotonic()
    wrong = _examine(index, verify, progress)
    repaired: tuple[str, ...] = ()
    if repair and "database" in wrong and not wrong["database"]:
        repaired = tuple(name for name, items in wrong.items() if items and CHECKS[name].command == "repair")
        if repaired:
            _repair(index, derived=bool(wrong["postings"] or wrong["vectors"]))
            wrong = _examine(index, verify, progress)
    meta, documents, passages = _facts(index)
    folders = Folders.from_meta(meta) if meta else None
    commands = _commands(index, folders, verify)
    findings = tuple(
        Finding(name, "ok", 0, CHECKS[name].passed)
        if not items
        else Finding(
            name,
            CHECKS[name].severity,
            len(items),
            CHECKS[name].failed,
            tuple(items[:_EXAMPLES]),
            commands[CHECKS[name].command],
        )
        for name, items in wrong.items()
    )
    return CheckReport(
        index=str(index),
        folder=str(folders.root) if folders else "",
        folders=folders.several if folders else (),
        ok=all(finding.severity != "damaged" for finding in findings),
        findings=findings,
        unchecked=tuple(name for name in CHECKS if name not in wrong and (verify or name != "sample")),
        repaired=repaired,
        documents=documents,
        passages=passages,
        seconds=time.monotonic() - started,
    )


def _examine(index: Path, verify: bool, progress: Callable[[Progress], None] | None) -> dict[str, list[str]]:
    """Check -> what is wrong, for the checks that could be made."""
    database = index / DATABASE
    wrong: dict[str, list[str]] = {}
    looks: dict[str, Callable[[sqlite3.Connection], Iterator[str]]] = {
        "database": _database,
        "postings": lambda connection: _postings(connection, index),
        "vectors": lambda connection: _vectors(connection, index),
        "leftovers": lambda connection: _leftovers(connection, index),
        "run": lambda connection: _interrupted(connection, index),
        "sources": lambda connection: _changed(connection, index, verify),
        "sample": lambda connection: _encoded_otherwise(connection, index),
    }
    if not verify:
        del looks["sample"]
    for done, (name, look) in enumerate(looks.items()):
        if progress:
            progress(Progress("checking", done, len(looks)))
        try:
            with closing(connect_to_read(database)) as connection, translated(database):
                meta_of(connection, database)
                wrong[name] = list(look(connection))
        except ModelError:  # which says nothing of the index
            continue
        except (SearchError, sqlite3.Error, ValueError, TypeError, KeyError) as error:
            if isinstance(error, AccessDenied) or not database.is_file():
                raise
            wrong["database"] = [str(error)]
        if wrong["database"]:
            break
    return wrong


def _facts(index: Path) -> tuple[dict[str, Any], int, int]:
    """Settings, and the numbers of documents and passages, as far as they can be read."""
    with (
        suppress(SearchError, sqlite3.Error, ValueError),
        closing(connect_to_read(index / DATABASE)) as connection,
    ):
        documents, passages, _ = counts(connection)
        return meta_of(connection, index / DATABASE), documents, passages
    return {}, 0, 0


def _repair(index: Path, derived: bool) -> None:
    """Make what is derived again, and delete stray files."""
    with writer_lock(index), writing(index / DATABASE) as writer:
        if derived:
            dimension = int(Fingerprint.from_dict(one_meta(writer.connection, "fingerprint")).dimension)
            seal_anew(writer, index, dimension)
        delete_leftovers(index, named_files(writer.connection))


def _database(connection: sqlite3.Connection) -> Iterator[str]:
    for (message,) in connection.execute("PRAGMA quick_check(20)"):
        if message != "ok":
            yield message
    for table, row, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} belongs to nothing"
    expected = one_meta(connection, "passages")
    for table in ("passages", "embeddings"):
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if count != expected:
            yield f"table {table} has {count:,} rows, and should have {expected:,}"
    Source.from_dict(one_meta(connection, "source"))


def _postings(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    if not words.hold(connection):
        yield "made by other rules"
        return
    blocks = words.tail(connection)
    for segment in read_segments(connection):
        try:
            blocks.append(open_words(index, segment))
        except IndexDamaged:
            yield segment.words
            return
    (deleted,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    if sum(map(len, blocks)) - deleted != one_meta(connection, "passages"):
        yield "they are not of all passages"


def _vectors(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    dimension = int(Fingerprint.from_dict(one_meta(connection, "fingerprint")).dimension)
    for segment in read_segments(connection):
        try:
            open_codes(index, segment, dimension)
        except IndexDamaged:
            yield segment.faiss


def _leftovers(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    if not is_being_written(index):
        for path in leftovers(index, named_files(connection)):
            yield path.relative_to(index).as_posix()


def _interrupted(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    if is_being_written(index):
        return
    for path, state in stored_files(connection).items():
        if state.status == "partial":
            yield path
    if not one_meta(connection, "complete", False):
        yield "its end"


def _changed(connection: sqlite3.Connection, index: Path, verify: bool) -> Iterator[str]:
    """The files of the folder that are not as they are stored. A file with a new time stamp is read."""
    root, source = Path(one_meta(connection, "root")), Source.from_dict(one_meta(connection, "source"))
    try:
        files, skipped = listed(root, index, source)
    except InputError as error:
        yield str(error)
        return
    stored = stored_files(connection)
    plan = compare(stored, files, skipped, verify=verify)
    for file, _ in plan.changed:
        before = stored.get(file.path)
        if before is None:
            yield f"{file.path} (new)"
        elif not before.sha256 or _sha256(file) not in ("", before.sha256):  # more than its time stamp
            yield f"{file.path} (changed)"
    for name in plan.gone:
        yield f"{name} (deleted)"
    for name in plan.away:
        yield f"{name} (the whole folder is gone or has no text)"


def _sha256(file: SourceFile) -> str:
    """Of a file's bytes; "" if it cannot be read now."""
    try:
        return load(file).sha256
    except ReadError:
        return ""


def _encoded_otherwise(connection: sqlite3.Connection, index: Path) -> Iterator[str]:
    """The passages of a sample whose stored embeddings are not those that the model computes now."""
    fingerprint = Fingerprint.from_dict(one_meta(connection, "fingerprint"))
    encoder = Encoder.of(fingerprint, offline=True, trusted=is_own(index))
    rows = connection.execute(f"SELECT id FROM passages ORDER BY random() LIMIT {_SAMPLE}").fetchall()
    ids = np.sort(np.array([id_ for (id_,) in rows], dtype=np.int64))
    passages = stored_passages(connection, ids.tolist())
    stored = np.concatenate([block for _, block in embeddings(connection, encoder.dimension, among=ids)])
    texts = [with_context(passages[id_].context, passages[id_].shown) for id_ in ids.tolist()]
    distances = np.linalg.norm(stored - encoder.encode(texts, role="document", truncate=True), axis=1)
    for id_, distance in zip(ids.tolist(), distances.tolist(), strict=True):
        if not distance <= _TOLERANCE[encoder.precision]:
            yield f"p{id_} of {passages[id_].document} (off by {distance:.2f})"


def _commands(index: Path, folders: Folders | None, verify: bool) -> dict[str, str]:
    """The commands that help; "" where the folders are not there."""
    place = f" --index {index.name if index.parent == home() / 'indexes' else quoted(index)}"
    there = folders is not None and folders.root.is_dir()
    try:
        usual = folders is not None and there and place_for(folders, None) == index
    except (SearchError, OSError):
        usual = False
    update = f"seewhy index {folders.typed if folders else 'FOLDER'}{'' if usual else place}"
    return {
        "repair": f"seewhy check --repair{place}",
        "index": update + " --verify" * verify if there or not folders else "",
        "rebuild": f"{update} --rebuild",
    }
