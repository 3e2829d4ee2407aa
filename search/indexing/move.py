"""An index whose folder has another name or place now: whether it is the same folder, and the index as that one's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from search.corpus import SourceFile, load
from search.errors import InputError, ReadError, SearchError, quoted
from search.records.reports import Moved
from search.store.database import read_meta, reading
from search.store.files import DATABASE, writer_lock
from search.store.layout import all_indexes, folders_of, is_index, is_own, place_for
from search.store.settings import Folders, Named
from search.store.status import FileState, stored_files
from search.store.writer import writing

_LEAST = 0.5  # of an index's files have to be in the other folder
_LOOKED_AT = 200  # files at most, evenly spread, to tell whether a folder is one that was indexed


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


def moved_here(named: Named | Folders) -> Iterator[str]:
    """Of each index whose folder is gone and whose files are in this one, a note that names the command to keep it."""
    new = Folders.of(named)
    if is_index(place_for(new, None)):
        return
    for index in all_indexes():
        old = folders_of(index)
        if old is None or old.names != new.names or any(map(os.path.lexists, old.paths)):
            continue
        try:
            same, files = _same(index, new, _LOOKED_AT)
        except SearchError:
            continue
        if files and same >= _LEAST * files:
            yield (
                f"{same:,} of {files:,} files of the index '{index.name}', whose folder '{old}' is gone, are here. "
                f"To go on with that index, and encode nothing again: seewhy move {quoted(index.name)} {new.typed}"
            )


def _same(index: Path, folders: Folders, most: int = 0) -> tuple[int, int]:
    """How many files of an index are in folders as they were indexed, and of how many that were looked at."""
    with reading(index / DATABASE) as connection:
        stored = [item for item in stored_files(connection).items() if item[1].status == "indexed"]
    looked_at = stored[:: -(-len(stored) // most) or 1] if most else stored
    return sum(_is_same(folders.root / path, state) for path, state in looked_at), len(looked_at)


def _is_same(path: Path, state: FileState) -> bool:
    try:
        found = os.lstat(path)
        if found.st_size != state.size:
            return False
        file = SourceFile(path.name, path, found.st_size, found.st_mtime_ns, found.st_ino)
        return found.st_mtime_ns == state.mtime_ns or load(file).sha256 == state.sha256
    except (OSError, ReadError):
        return False
