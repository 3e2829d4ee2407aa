"""The files of an index: their names, the only way in which they are deleted, and the lock of its writer.

An index may lie in a folder that somebody else can write to. So no name in it is followed where it is a link, and
nothing is deleted but files of exactly the names that this program writes, one by one; never a whole tree.

One writer at a time: the lock is the operating system's, and ends with the process that holds it, however that dies.
Beside it lies a note of who holds it, for the message that a second writer gets.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import platform
import re
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from search.errors import AccessDenied, IndexDamaged, IndexLocked
from search.files import PRIVATE_FILE, bytes_in, create, open_file, read_file

DATABASE = "index.db"
JOURNAL = f"{DATABASE}-journal"
LOCK, HOLDER = "writer.lock", "writer.json"
VECTORS, WORK = "ann", "tmp"
_LONGEST_NOTE = 1 << 16  # bytes, of who holds the lock
_MOST_READ = 64 << 20  # bytes of all files of segments
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_OF_THE_SYSTEM = (*_DENIED, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # errors that say nothing of a file
OWN_NAMES = frozenset({DATABASE, JOURNAL, LOCK, HOLDER, VECTORS, WORK})

_CAN_HOLD = os.unlink in os.supports_dir_fd  # a folder open, and delete in it: not on Windows

SEGMENT_FILE = re.compile(r"g(\d{1,18})-[0-9a-f]{16}\.(?:faiss|words)")


def require_own_names(index: Path) -> None:
    """Refuse an index in which a name that this program uses is a link, or something else than it should be.

    Raises:
        IndexDamaged: naming what is there.
    """
    for name in sorted(OWN_NAMES):
        require_no_link(index / name, folder=name in (VECTORS, WORK))


def require_no_link(path: Path, *, folder: bool = False, shared: bool = False) -> None:
    """Refuse a path that is a link, or is no file (or, if asked for, no folder); nothing there is well.

    Args:
        shared: a file may have other names (hard links), as nothing is written to it.

    Raises:
        IndexDamaged: naming what is there.
    """
    try:
        found = path.lstat()
    except OSError:
        return
    mode = found.st_mode
    if stat.S_ISREG(mode) and not folder and not shared and found.st_nlink > 1:
        raise IndexDamaged(
            f"'{path}' has another name, too (a hard link), and what is written to it would change that file. Nothing "
            "was changed. Put a copy in its place, and run again."
        )
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


def content_of(path: Path, size: int) -> bytes | mmap.mmap:
    """The content of a file of a segment.

    It is read into memory, so that a copy that is put back over it does no harm: a process that has mapped a file ends
    without a word (SIGBUS) where the file is truncated. Only those of a large index are mapped, as to read them takes
    longer than a query.

    Raises:
        IndexDamaged: it is missing, no file of its own, or has another size.
        OSError: the system refuses to open it, which says nothing of what is in it.
    """
    try:
        with open_file(path, links=False) as stream:
            if os.fstat(stream.fileno()).st_size == size:
                if bytes_in(path.parent) > _MOST_READ:
                    return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
                if len(content := stream.read(size)) == size:
                    return content
    except OSError as error:
        if error.errno in _OF_THE_SYSTEM:
            raise
    raise damaged(path)


def damaged(path: Path) -> IndexDamaged:
    """The error for a file of a segment that cannot be used."""
    return IndexDamaged(
        f"the file '{VECTORS}/{path.name}' of the index is damaged or missing. Mend it with: seewhy repair"
    )


@contextmanager
def permitted(index: Path) -> Iterator[None]:
    """Raise AccessDenied where the system refuses to open or write a file of the index."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DENIED or not Path(str(error.filename)).is_relative_to(index):
            raise
        raise AccessDenied(str(error.filename), index, error.strerror) from None


def leftovers(index: Path, named: Collection[str]) -> list[Path]:
    """What lies about: `tmp`, files of segments other than `named`, the name of a writer that was killed.

    Args:
        named: the files that index.db names, relative to the index.
    """
    found = [path for path in (index / WORK, index / HOLDER) if os.path.lexists(path)]
    return found + [path for path in _segment_files(index) if f"{VECTORS}/{path.name}" not in named]


def delete_leftovers(index: Path, named: Collection[str]) -> list[Path]:
    """Delete what lies about, but for the name of a writer, which is that of the one who asks; returns what it was.

    A reader that has mapped a file goes on with it; on Windows the file then stays until the next run.
    """
    require_own_names(index)
    found = [path for path in leftovers(index, named) if path.name != HOLDER]
    _delete(index / VECTORS, [path.name for path in found if path.name != WORK])
    delete_work(index)
    return found


def delete_work(index: Path) -> None:
    """Delete `tmp`, if nothing of others is in it."""
    work = index / WORK
    require_no_link(work, folder=True)
    if not work.is_dir():
        return
    names = [path.name for path in work.iterdir()]
    _delete(work, [name for name in names if name in (DATABASE, JOURNAL) or SEGMENT_FILE.fullmatch(name)])
    _remove_if_empty(work)


def delete_index(index: Path) -> None:
    """Delete what was made of an index that never came to be; what is of others stays."""
    _delete_content(index)
    _delete(index.resolve(), (LOCK,))
    _remove_if_empty(index)


def remove_index(index: Path) -> None:
    """Delete an index while nobody writes to it; what is of others stays.

    Raises:
        IndexLocked: another process is writing to it.
        IndexDamaged: a name in it is a link.
    """
    with writer_lock(index):
        _delete_content(index)
        if _CAN_HOLD:
            _delete(index.resolve(), (LOCK,))
    if not _CAN_HOLD:  # Windows, where a file that is open cannot be deleted
        _delete(index.resolve(), (LOCK,))
    _remove_if_empty(index)


def _delete_content(index: Path) -> None:
    delete_leftovers(index, ())
    _remove_if_empty(index / VECTORS)
    delete_database(index)


def delete_database(index: Path) -> None:
    """Delete `index.db`, so that the next writer begins with nothing. Hold the lock."""
    _delete(index.resolve(), (DATABASE, JOURNAL))


def _segment_files(index: Path) -> list[Path]:
    folder = index / VECTORS
    require_no_link(folder, folder=True)
    if not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if SEGMENT_FILE.fullmatch(path.name) and not _is_folder(path)
    )


def _delete(folder: Path, names: Sequence[str]) -> None:
    """Delete files of a folder, or links themselves; folders of such names stay.

    Where the system can hold a folder open, nobody can put a link to another one in its place meanwhile.
    """
    names = [name for name in names if not _is_folder(folder / name)]
    if not (names and _CAN_HOLD):
        for name in names:
            with suppress(*([PermissionError] if SEGMENT_FILE.fullmatch(name) else [])):
                (folder / name).unlink(missing_ok=True)  # Windows keeps what a reader has mapped
        return
    held = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=held)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder / name)) from None
    finally:
        os.close(held)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # others have something in it, or it is not there
        return


@contextmanager
def writer_lock(index: Path) -> Iterator[None]:
    """Hold the index for writing.

    Raises:
        IndexLocked: another process does; the message says which, and since when.
        IndexDamaged: a name in it is a link.
    """
    from filelock import FileLock, Timeout

    require_own_names(index)

    lock = FileLock(index / LOCK, timeout=0, mode=PRIVATE_FILE)
    try:
        with permitted(index):
            lock.acquire()
    except Timeout:
        raise IndexLocked(
            f"{_holder(index)} is writing to the index in '{index}'. Try again when it is done."
        ) from None
    try:
        note = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        with permitted(index):
            (index / HOLDER).unlink(missing_ok=True)
            create(index / HOLDER, json.dumps(note).encode())
        yield
    finally:
        with suppress(OSError):  # left behind it does no harm
            (index / HOLDER).unlink()
        lock.release()


def is_being_written(index: Path) -> bool:
    """Whether a run is under way.

    Where no writer left its name there is none, and nothing is touched. Otherwise the lock is tried for a
    moment, because the name outlives a writer that was killed.
    """
    from filelock import FileLock, Timeout

    if not (is_own_file(index / HOLDER) and is_own_file(index / LOCK)):
        return False
    require_no_link(index / LOCK)
    lock = FileLock(index / LOCK, timeout=0, mode=PRIVATE_FILE)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:  # no right to write there, as in an index on a read-only drive
        return False
    lock.release()
    return False


def _holder(index: Path) -> str:
    try:
        note = json.loads(read_file(index / HOLDER, _LONGEST_NOTE, links=False))
        return f"process {note['pid']} on {note['host']} (since {note['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"
