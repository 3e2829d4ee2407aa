"""The files of an index: their names, and the only way in which they are deleted.

An index may lie in a folder that somebody else can write to. So no name in it is followed where it is a link, and
nothing is deleted but files of exactly the names that this program writes, one by one; never a whole tree.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from search.errors import IndexDamaged

DATABASE = "index.db"
JOURNAL = f"{DATABASE}-journal"
LOCK, HOLDER = "writer.lock", "writer.json"
VECTORS, WORK = "ann", "tmp"
OWN_NAMES = frozenset({DATABASE, JOURNAL, LOCK, HOLDER, VECTORS, WORK})

FAISS_NAME = re.compile(r"g(\d{1,18})-[0-9a-f]{16}\.faiss")


def require_own_names(index: Path) -> None:
    """Refuse an index in which a name that this program uses is a link, or something else than it should be.

    Raises:
        IndexDamaged: naming what is there.
    """
    for name in sorted(OWN_NAMES):
        require_no_link(index / name, folder=name in (VECTORS, WORK))


def require_no_link(path: Path, *, folder: bool = False) -> None:
    """Refuse a path that is a link, or is no file (or, if asked for, no folder); nothing there is well.

    Raises:
        IndexDamaged: naming what is there.
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return
    what = "a link" if stat.S_ISLNK(mode) else "no folder" if folder else "no file"
    raise IndexDamaged(
        f"'{path}' is {what}, which is not what seewhy made. Nothing was changed. See where it came from, remove it, "
        "and run again."
    )


def is_own_file(path: Path) -> bool:
    """Whether a path is a file, not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):  # the latter for a name with a NUL
        return False


def leftovers(index: Path, named: str) -> list[Path]:
    """What lies about: `tmp`, FAISS files other than `named`, the name of a writer that was killed.

    Args:
        named: the FAISS file that index.db names, relative to the index; "" for none.
    """
    found = [path for path in (index / WORK, index / HOLDER) if os.path.lexists(path)]
    return found + [path for path in _faiss_files(index) if path.name != Path(named).name]


def delete_leftovers(index: Path, named: str) -> list[Path]:
    """Delete what lies about, but for the name of a writer, which is that of the one who asks; returns what it was.

    A reader that holds a FAISS file has it in memory.
    """
    require_own_names(index)
    found = [path for path in leftovers(index, named) if path.name != HOLDER]
    for path in found:
        if path.name != WORK:
            path.unlink(missing_ok=True)
    delete_work(index)
    return found


def delete_work(index: Path) -> None:
    """Delete `tmp`, if nothing of others is in it."""
    work = index / WORK
    require_no_link(work, folder=True)
    if not work.is_dir():
        return
    for path in list(work.iterdir()):
        if path.name in (DATABASE, JOURNAL) or FAISS_NAME.fullmatch(path.name):
            _unlink(path)
    _remove_if_empty(work)


def delete_index(index: Path) -> None:
    """Delete what was made of an index that never came to be; what is of others stays."""
    delete_leftovers(index, "")
    _remove_if_empty(index / VECTORS)
    for name in (DATABASE, JOURNAL, LOCK):
        _unlink(index / name)
    _remove_if_empty(index)


def _faiss_files(index: Path) -> list[Path]:
    folder = index / VECTORS
    require_no_link(folder, folder=True)
    if not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if FAISS_NAME.fullmatch(path.name) and not _is_folder(path)
    )


def _unlink(path: Path) -> None:
    """Delete a file, or a link itself; a folder of that name stays."""
    if not _is_folder(path):
        path.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # others have something in it, or it is not there
        return
