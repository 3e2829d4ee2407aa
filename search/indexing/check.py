"""Check an index, and rebuild damaged derived files.

SQLite checks index.db, which contains all data; its values are compared with the hashes that are stored beside them.
FAISS files and postings are derived from it: their checksums are compared, and a repair rebuilds them. A damaged
index.db is not repaired: the report names the command that rebuilds the index, from its folder or its own documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from search.corpus import SourceFile, load
from search.errors import IndexDamaged, InputError, ReadError, SearchError
from search.indexing.compare import compare, walk_folder
from search.records.reports import CheckReport, Finding, Progress, Severity
from search.store import checking
from search.store.database import (
    Connection,
    DatabaseError,
    has_contents,
    is_of_later_format,
    legible_meta,
    one_meta,
    reading,
)
from search.store.file_states import stored_files
from search.store.files import DATABASE
from search.store.home import export_command, index_command, index_option, rebuild_command
from search.store.namespaces import namespace_path, namespaces
from search.store.settings import Folders, Source
from search.store.status import counts

_EXAMPLES = 5


class _Check(NamedTuple):
    """One check: its function, the message for each outcome, its severity, and the command that fixes the problem."""

    look: Callable[..., Iterator[str]]
    passed: str
    failed: str
    severity: Severity = "damaged"
    command: str = "repair"


def _changed(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the files that differ from their stored state. A file with a new time stamp is read and compared."""
    if not one_meta(connection, "root"):  # documents from memory
        return
    root, source = Path(one_meta(connection, "root")), Source.from_dict(one_meta(connection, "source"))
    try:
        files, skipped = walk_folder(root, index, source)
    except InputError as error:
        yield str(error)
        return
    stored = stored_files(connection)
    plan = compare(stored, files, skipped, one_meta(connection, "walked_ns"))
    for file, _ in plan.changed:
        before = stored.get(file.path)
        if before is None:
            yield f"{file.path} (new)"
        elif not before.sha256 or _sha256(file) not in ("", before.sha256):  # not only its time stamp
            yield f"{file.path} (changed)"
    yield from (f"{name} (deleted)" for name in plan.gone)
    yield from (f"{name} (folder gone or without text)" for name in plan.away)


def _sha256(file: SourceFile) -> str:
    """Return the SHA-256 of a file's bytes; "" if the file cannot be read."""
    try:
        return load(file).sha256
    except ReadError:
        return ""


CHECKS = {
    "format": _Check(
        checking.other_format, "the format is current", "the index has another format", "stale", "format"
    ),
    "database": _Check(checking.database, "index.db is sound", "index.db is damaged", command="rebuild"),
    "values": _Check(
        checking.values,
        "all values are as they were stored",
        "values in index.db are damaged",
        command="rebuild",
    ),
    "postings": _Check(
        checking.postings, "postings are intact", "postings are damaged; only --mode dense works"
    ),
    "vectors": _Check(
        checking.vectors,
        "FAISS files are intact",
        "a FAISS file is damaged or missing; queries are exact but slower",
    ),
    "leftovers": _Check(
        checking.stray_files, "no leftover files", "leftover files of an interrupted run", "stale"
    ),
    "run": _Check(
        checking.interrupted_run, "no interrupted run", "the last run was interrupted", "stale", "index"
    ),
    "sources": _Check(
        _changed,
        "the folder has not changed since it was indexed",
        "files changed since they were indexed",
        "stale",
        "index",
    ),
}


def check(
    index: Path,
    *,
    repair: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> CheckReport:
    """Check an index with its namespaces, and compare it with its folder. Problems are reported, never raised.

    Args:
        index: folder of the index.
        repair: rebuild damaged derived files, and delete stray files.
        progress: called before each check, with the stage "checking".

    Raises:
        IndexNotFound: there is no index.db.
        IndexLocked: with `repair`, if another process is writing to the index.
    """
    started = time.monotonic()
    wrong = _examine(index, progress)
    repaired: tuple[str, ...] = ()
    if repair and "values" in wrong and not (wrong["database"] or wrong["values"]):
        repaired = tuple(
            name for name, items in wrong.items() if items and CHECKS[name].command == "repair"
        )
        if repaired:
            checking.repair(index, derived=bool(wrong["postings"] or wrong["vectors"]))
            wrong = _examine(index, progress)
    documents, passages = _counts(index)
    folders = _folders(index)
    commands = _commands(index, folders)
    findings = tuple(_finding(name, items, commands) for name, items in wrong.items())
    for namespace in namespaces(index):
        inner = check(namespace_path(index, namespace), repair=repair, progress=progress)
        findings += tuple(
            replace(finding, message=f"namespace '{namespace}': {finding.message}")
            for finding in inner.findings
            if finding.severity != "ok"
        )
        repaired += tuple(name for name in inner.repaired if name not in repaired)
        documents, passages = documents + inner.documents, passages + inner.passages
    return CheckReport(
        index=str(index),
        folder=str(folders.root) if folders and not folders.memory else "",
        folders=folders.several if folders else (),
        ok=all(finding.severity != "damaged" for finding in findings),
        findings=findings,
        unchecked=tuple(name for name in CHECKS if name not in wrong),
        repaired=repaired,
        documents=documents,
        passages=passages,
        seconds=time.monotonic() - started,
    )


def _finding(name: str, items: list[str], commands: dict[str, str]) -> Finding:
    _, passed, failed, severity, command = CHECKS[name]
    if not items:
        return Finding(name, "ok", 0, passed)
    return Finding(name, severity, len(items), failed, tuple(items[:_EXAMPLES]), commands[command])


def _examine(index: Path, progress: Callable[[Progress], None] | None) -> dict[str, list[str]]:
    """Return the problems that each check found, for the checks that could run."""
    wrong: dict[str, list[str]] = {}
    for done, name in enumerate(CHECKS):
        if progress:
            progress(Progress("checking", done, len(CHECKS)))
        wrong[name], unreadable = checking.run_check(index, CHECKS[name].look)
        if unreadable:
            wrong["database"] = [unreadable]
        if wrong["format"] or wrong.get("database"):
            break
        if name == "format" and checking.is_empty(index):
            wrong["run"] = ["nothing is stored yet"]
            break
    return wrong


def _folders(index: Path) -> Folders | None:
    """Return the folders of an index of any format; None if they cannot be read."""
    with suppress(IndexDamaged):
        return Folders.from_meta(legible_meta(index / DATABASE))
    return None


def _counts(index: Path) -> tuple[int, int]:
    """Return the numbers of documents and passages, as far as they can be read."""
    with suppress(SearchError, DatabaseError, ValueError), reading(index / DATABASE) as connection:
        return counts(connection)[:2]
    return 0, 0


def _commands(index: Path, folders: Folders | None) -> dict[str, str]:
    """Return the command for each need of a check; "" if its folders are gone, or if no command helps."""
    commands = {"repair": f"seewhy check --repair {index_option(index)}"}
    if has_contents(index / DATABASE):
        is_newer = is_of_later_format(legible_meta(index / DATABASE))
        rebuild = rebuild_command(index)
        return commands | {
            "index": "",
            "rebuild": rebuild,
            "format": export_command(index) if is_newer else rebuild,
        }
    rebuild = index_command(index, folders, rebuild=True)
    is_there = folders is None or folders.root.is_dir()
    update = index_command(index, folders) if is_there else ""
    return commands | {"index": update, "rebuild": rebuild, "format": rebuild}
