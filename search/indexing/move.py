"""An index whose folder has another name or place now: whether it is the same folder, and the index as that one's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from search.corpus import SourceFile, load
from search.errors import InputError, ReadError
from search.records.reports import Moved
from search.store.database import read_meta, reading
from search.store.files import DATABASE, writer_lock
from search.store.layout import is_own, place_for
from search.store.settings import Folders, Named
from search.store.status import FileState, stored_files
from search.store.writer import writing

_LEAST = 0.5  # of an index's files have to be in the other folder


def move(index: Path, named: Named) -> Moved:
    """Let an index be of a folder that holds the same files, for one that was renamed or moved; nothing is encoded.

    Args:
        index: the folder of the index.
        named: where its folder is now; of several, each of them, under the names that they had.

    Raises:
        InputError: less than half of the files are there as they were indexed.
        IndexLocked: another process is writing to the index.
    """
    meta = read_meta(index / DATABASE)
    old, new = Folders.from_meta(meta), Folders.of(named)
    if old.names != new.names:
        raise InputError(
            f"the index in '{index}' is of {old.described}; what they have in common may move, but under it each keeps "
            f"its name. Index what there is now: seewhy index {new.typed}"
        )
    usual = is_own(index) and place_for(old, None) == index
    with writer_lock(index), writing(index / DATABASE) as writer:
        same, files = _same(index, new)
        if same < _LEAST * files:
            raise InputError(
                f"{same:,} of {files:,} files of the index in '{index}' are in {new.described} as they were indexed: "
                f"that is another folder. Index it with: seewhy index {new.typed}"
            )
        writer.put_meta(root=str(new.root))
    place = place_for(new, None) if usual else index
    if place != index:
        with suppress(OSError):
            place.rmdir()  # an empty folder
        if not os.path.lexists(place):
            index = index.rename(place)
    return Moved(str(index), str(new.root), same, files, new.several)


def _same(index: Path, folders: Folders) -> tuple[int, int]:
    """How many files of an index are in folders as they were indexed, and how many it has."""
    with reading(index / DATABASE) as connection:
        stored = [item for item in stored_files(connection).items() if item[1].status == "indexed"]
    return sum(_is_same(folders.root / path, state) for path, state in stored), len(stored)


def _is_same(path: Path, state: FileState) -> bool:
    try:
        found = os.lstat(path)
        if found.st_size != state.size:
            return False
        file = SourceFile(path.name, path, found.st_size, found.st_mtime_ns, found.st_ino)
        return found.st_mtime_ns == state.mtime_ns or load(file).sha256 == state.sha256
    except (OSError, ReadError):
        return False
