"""Update an index from its folder.

    walk the folder -> compare with the stored files -> read, cut and store new and changed files, batch by batch
    -> remove deleted files -> encode batch by batch, committing each -> make segments of new passages

Each batch is committed, so a killed run loses at most one batch of work and no data; the next run resumes there. run.py
does all this; this module prepares the lock, the database and the folder for it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from search.encoding import Encoder
from search.errors import InputError, SearchError
from search.files import PRIVATE_FOLDER, make_private
from search.indexing.compare import nothing_to_index, walk_folder
from search.indexing.run import Run
from search.records.reports import Lazy, Progress, Report
from search.store.contents import require_no_contents
from search.store.database import (
    carried_over,
    has_contents,
    reading,
    replace_database,
)
from search.store.files import (
    DATABASE,
    WORK,
    delete_database,
    delete_leftovers,
    delete_work,
    refused,
    remove_index,
    writer_lock,
)
from search.store.layout import is_index, require_usable_path, streamed
from search.store.segments import segment_files
from search.store.settings import Folders, PassageSettings, Source
from search.store.writer import Writer, writing

if TYPE_CHECKING:
    from search.encoding.workers import Workers
    from search.store.milvus.collections import Server

Execute: TypeAlias = "Callable[[Path, Writer], Report]"
"""Executes a run that writes to a database, given its path and writer."""


def update(
    folder: Path,
    index: Path,
    encoder: Encoder,
    *,
    settings: PassageSettings,
    source: Source,
    rebuild: bool = False,
    progress: Callable[[Progress], None] | None = None,
    workers: Workers | None = None,
    server: Server | None = None,
    lazy: Lazy = False,
) -> Report:
    """Build or update the index of a folder.

    Args:
        folder: the folder to index, or the common parent of `source.folders`; resolved.
        index: folder of the index; created if needed.
        rebuild: start from scratch; the old index stays in use until the new one is complete.
        workers: encode passages; None for this process alone.
        server: server for the passages; None keeps them on this machine.
        lazy: store and do not encode the passages; not for a server.

    Raises:
        InputError: there is no text to index.
        FingerprintMismatch: the index was built with another model or other settings.
        IndexLocked: another process is writing to the index.
    """
    started = time.monotonic()
    require_usable_path(index)
    walked_ns = time.time_ns()
    files, skipped = walk_folder(folder, index, source)
    if not files:
        reasons = Counter(item.reason for item in skipped)
        raise InputError(nothing_to_index(Folders(folder, source.folders), reasons, is_index(index)))

    def execute(database: Path, writer: Writer) -> Report:
        run = Run(
            folder,
            index,
            database,
            writer,
            encoder,
            settings,
            source,
            progress,
            workers=workers,
            lazy=lazy,
        )
        return run.execute(files, skipped, walked_ns)

    existed = index.exists()
    make_private(index)
    try:
        with writer_lock(index):
            require_no_contents(index / DATABASE)
            delete_work(index)
            _sweep(index)
            if server:
                report = _update_server(index, server, encoder.dimension, execute)
            elif rebuild:
                report = _rebuild(index, execute)
            else:
                report = _update_in_place(index, execute)
            with reading(index / DATABASE) as connection:
                named = segment_files(connection)
            delete_leftovers(index, named)
    except InputError:
        if not existed:
            remove_index(index)
        raise
    except OSError as error:
        if error.errno and error.filename is None:  # the error of a failed write names no file
            error.filename = str(index)
        raise refused(error, index) from error
    return replace(report, seconds=time.monotonic() - started)


def _update_in_place(index: Path, execute: Execute) -> Report:
    """Write the changes to the database of the index, which is created if there is none."""
    database = index / DATABASE
    with writing(database) as writer:
        return execute(database, writer)


def _rebuild(index: Path, execute: Execute) -> Report:
    """Write a new database, which replaces that of the index when it is complete."""
    old, new = index / DATABASE, index / WORK / DATABASE
    new.parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
    with writing(new) as writer:
        writer.put_meta(**carried_over(old))
        report = execute(new, writer)
    is_unknown = has_contents(old) is None
    if kept := replace_database(index, new, keep_old=is_unknown):
        note = (
            f"the old database could not be read, so it was kept as '{kept}'. Delete it if the index had "
            "no documents from memory."
        )
        report = replace(report, notes=(*report.notes, note))
    return report


def _update_server(index: Path, server: Server, dimension: int, execute: Execute) -> Report:
    """Send passages to a server; the database of the index keeps the rest.

    The database is written from scratch if its passages are on another server, or in other collections: those of a
    rebuild are new.
    """
    from search.store.milvus.writer import MilvusWriter

    database = index / DATABASE
    if streamed(index) != asdict(server):
        delete_database(index)
    with writing(database) as writer:
        return execute(database, MilvusWriter(writer.connection, index, server, dimension))


def _sweep(index: Path) -> None:
    """Delete what an interrupted run left behind, to free disk space before this run."""
    if is_index(index):
        with suppress(SearchError), reading(index / DATABASE) as connection:
            delete_leftovers(index, segment_files(connection))
