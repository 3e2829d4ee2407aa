"""Find out if an update of an index is due and would take less than a second.

First, the time stamps of the known files and of their folders are compared, which needs no imports; a new file changes
the time stamp of its folder. Only if one differs, the folder is walked as for an update.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import InputError
from search.store.database import one_meta, reading
from search.store.files import DATABASE
from search.store.status import FileState, has_more_files, stored_files

if TYPE_CHECKING:
    from search.store.settings import Facts

_MOST_FILES = 5_000  # in the index
_MOST_CHANGED = 20  # files
# Bytes of changed files: some 30 passages, which take half a second to encode.
_MOST_BYTES = 32 << 10
_SECONDS = 0.3  # time limit for comparing the folder


def needs_small_update(index: Path, facts: Facts) -> bool:
    """Return True if only few and small files changed since the last run, and listing the folder is quick."""
    end = time.monotonic() + _SECONDS
    with reading(index / DATABASE) as connection:
        updated = one_meta(connection, "updated")
        if facts.folders.memory or not updated or not facts.root.is_dir():
            return False
        if has_more_files(connection, _MOST_FILES):
            return False
        stored = stored_files(connection)
    since = datetime.fromisoformat(updated).timestamp()
    return _seems_changed(str(facts.root), stored, since, end) and _is_small(index, facts, stored, end)


def _seems_changed(root: str, stored: Mapping[str, FileState], since: float, end: float) -> bool:
    """Return True if a file differs, or a folder is newer than `since`; False if the time `end` has passed."""
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
    times = (os.stat(f"{root}/{folder}").st_mtime for folder in _folders(stored))  # noqa: PTH116 (quicker)
    return any(changed >= since for changed in times)


def _folders(paths: Iterable[str]) -> set[str]:
    """Return the folders of files, and all above them up to "", the root."""
    folders = {""}
    for path in paths:
        while (path := path.rpartition("/")[0]) not in folders:
            folders.add(path)
    return folders


def _is_small(index: Path, facts: Facts, stored: Mapping[str, FileState], end: float) -> bool:
    """Walk the folder; return True if there are changes, but only few and small ones."""
    from search.indexing.plan import compare, listed

    try:
        plan = compare(stored, *listed(facts.root, index, facts.source))
    except InputError:
        return False
    changed = [file for file, _ in plan.changed if file.path not in stored or stored[file.path].size >= 0]
    few = 0 < len(changed) + len(plan.gone) <= _MOST_CHANGED
    return few and sum(file.size for file in changed) <= _MOST_BYTES and time.monotonic() < end
