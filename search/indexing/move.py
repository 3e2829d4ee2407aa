"""Point an index to the new path of a folder that was renamed or moved."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from search.errors import InputError
from search.files import patiently
from search.store.database import read_meta
from search.store.file_states import stored_files
from search.store.files import DATABASE, writer_lock
from search.store.home import is_own
from search.store.layout import index_path_for
from search.store.settings import FolderPaths, Folders
from search.store.writer import writing

# Share of the index's files that the new folder must contain.
_MIN_FILES_FOUND = 0.5


def move(index: Path, named: FolderPaths) -> Path:
    """Point an index to the new path of its folder after a rename or move. Nothing is encoded.

    Args:
        index: folder of the index.
        named: the new path of the folder; for several folders, all their paths, with unchanged names.

    Returns:
        The folder of the index, which is renamed if it was named after its folder.

    Raises:
        InputError: the new folder contains less than half of the indexed files.
        IndexLocked: another process is writing to the index.
    """
    meta = read_meta(index / DATABASE)
    old, new = Folders.from_meta(meta), Folders.of(named)
    old.require_files()
    if old.names != new.names:
        raise InputError(f"the index covers {old.described}. Give their new paths, with the same names")
    usual = is_own(index) and index_path_for(old, None) == index
    with writer_lock(index), writing(index / DATABASE) as writer:
        names = stored_files(writer.connection)
        count = sum((new.root / name).is_file() for name in names)
        if count < _MIN_FILES_FOUND * len(names):
            raise InputError(
                f"{new.described} has only {count:,} of the {len(names):,} indexed files. Give the "
                "folder's new path."
            )
        writer.put_meta(root=str(new.root))
    new_path = index_path_for(new, None) if usual else index
    if new_path != index:
        with suppress(OSError):
            new_path.rmdir()  # an empty folder
        if not os.path.lexists(new_path):
            with suppress(PermissionError):  # on Windows, while others read it; it keeps its name
                patiently(lambda: index.rename(new_path))
                return new_path
    return index
