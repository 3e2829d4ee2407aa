"""What lies in the folder of an index, and the folder that was indexed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from search.corpus import SourceFile, load
from search.errors import InputError, ReadError
from search.indexing.plan import compare, listed
from search.store.database import connect_to_read
from search.store.files import leftovers
from search.store.health.examine import settings, snapshot
from search.store.health.kinds import Tally
from search.store.lock import is_being_written
from search.store.passages import stored_files
from search.store.settings import Source


def examine_leftovers(index: Path, connection: sqlite3.Connection, tally: Tally) -> None:
    """Files that no run needs. While a run is under way nothing can be said of them."""
    busy, before = is_being_written(index), named_file(connection)
    found = leftovers(index, before)
    if busy or not found or is_being_written(index) or named_file(connection) != before:
        return
    for path in found:
        tally.add("leftover", path.relative_to(index).as_posix())


def named_file(connection: sqlite3.Connection) -> str:
    """The FAISS file that index.db names, "" for none."""
    row = connection.execute("SELECT file FROM ann WHERE id = 1").fetchone()
    return str(row[0]) if row else ""


def examine_run(index: Path, connection: sqlite3.Connection, tally: Tally) -> bool:
    """Whether the last run came to its end. Returns whether one is under way, which is no fault."""
    if _unfinished(connection) is None:
        return is_being_written(index)
    if is_being_written(index):
        return True
    name = _unfinished(connection)  # once more: it may have come to its end since
    if name is not None:
        tally.add("unfinished", name)
    return False


def _unfinished(connection: sqlite3.Connection) -> str | None:
    """A file that was not finished, "" if only the end of the run is missing, None if nothing is."""
    with snapshot(connection):
        row = connection.execute("SELECT path FROM files WHERE status = 'partial' ORDER BY path").fetchone()
        good, doubtful = settings(connection)
    if row:
        return os.fsdecode(row[0])
    return None if (doubtful | good).get("complete", True) else ""


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
