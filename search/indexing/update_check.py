"""Find out if an update of an index is due, and if it would take less than a second.

First, the states of the known files and the time stamps of their folders are compared, which needs no imports; a new
file changes the time stamp of its folder. Only if one differs, the folder is walked as for an update.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from search.errors import InputError
from search.store.database import one_meta, reading
from search.store.file_states import FileState, has_more_files, stored_files
from search.store.files import DATABASE

if TYPE_CHECKING:
    from search.store.settings import IndexMeta

Pending: TypeAlias = Literal["nothing", "small", "large"]
"""Size of an update that is due: "small" takes less than a second."""

_MOST_FILES = 5_000  # in the index
_MOST_CHANGED = 20  # files
# Bytes of changed files: some 30 passages, which take half a second to encode.
_MOST_BYTES = 32 << 10
_SECONDS = 0.3  # time limit for looking at the known files, and again for walking the folder


def pending_update(index: Path, facts: IndexMeta) -> Pending:
    """Return the size of the update of an index that is due.

    "nothing" also if it would take long to find out: the index has many files, or its drive is slow.
    """
    with reading(index / DATABASE) as connection:
        updated = one_meta(connection, "updated")
        walked_ns = one_meta(connection, "walked_ns")
        if facts.folders.memory or not updated or not facts.root.is_dir():
            return "nothing"
        if has_more_files(connection, _MOST_FILES):
            return "nothing"
        stored = stored_files(connection)
    since = datetime.fromisoformat(updated).timestamp()
    if not _seems_changed(str(facts.root), stored, since, walked_ns):
        return "nothing"
    return _size(index, facts, stored, walked_ns)


def _seems_changed(
    root: str, stored: Mapping[str, FileState], since: float, walked_ns: int | None
) -> bool:
    """Return True if a file differs, or a folder is newer than `since`; False if that takes too long."""
    end = time.monotonic() + _SECONDS
    for path, before in stored.items():
        if time.monotonic() > end:
            return False
        try:
            now = os.lstat(f"{root}/{path}")
        except OSError:
            return True
        state = now.st_size, now.st_mtime_ns, now.st_ino
        if before.size >= 0 and (before.size, before.mtime_ns, before.inode) != state:
            return True
        if walked_ns is not None and now.st_ctime_ns >= walked_ns:
            return True
    times = (os.stat(f"{root}/{folder}").st_mtime for folder in _folders(stored))  # noqa: PTH116 (quicker)
    return any(changed >= since for changed in times)


def _folders(paths: Iterable[str]) -> set[str]:
    """Return the folders of files, and all above them up to "", the root."""
    folders = {""}
    for path in paths:
        while (path := path.rpartition("/")[0]) not in folders:
            folders.add(path)
    return folders


def _size(
    index: Path, facts: IndexMeta, stored: Mapping[str, FileState], walked_ns: int | None
) -> Pending:
    """Walk the folder, and return the size of the update that it needs."""
    from search.indexing.compare import compare, walk_folder

    end = time.monotonic() + _SECONDS  # after the imports, which take longer than the walk
    try:
        plan = compare(stored, *walk_folder(facts.root, index, facts.source), walked_ns)
    except InputError:
        return "nothing"
    changed = [file for file, _ in plan.changed if file.path not in stored or stored[file.path].size >= 0]
    count, size = len(changed) + len(plan.gone), sum(file.size for file in changed)
    if count == 0:
        return "nothing"
    is_small = count <= _MOST_CHANGED and size <= _MOST_BYTES and time.monotonic() < end
    return "small" if is_small else "large"
