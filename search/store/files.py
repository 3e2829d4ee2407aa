"""Files of an index: their names, their deletion, and the lock of the writer.

Nothing is written or deleted through a link. Only files with the exact names that this package writes are deleted, one
by one; never a whole tree.

Only one process can write at a time. It holds a lock of the operating system, which is released even if
the process is killed. A file beside the lock, the writer's note, names the holder for the error that a
second writer gets.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import platform
import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from search import files
from search.errors import AccessDenied, IndexDamaged, IndexLocked, IndexNotFound, StorageFull
from search.files import PRIVATE_FILE, bytes_in, create, open_file, patiently, read_file

DATABASE = "index.db"
JOURNAL = f"{DATABASE}-journal"
LOCK, HOLDER = "writer.lock", "writer.json"
VECTORS, WORK, NAMESPACES = "ann", "tmp", "namespaces"
UNFINISHED = ".new-"
"""Beginning of the name of a folder in which a namespace is created, or removed."""
_MAX_NOTE = 1 << 16  # bytes of the note that names the holder of the lock
# Seconds to wait for the lock: `is_being_written` takes it for a moment.
_LOCK_WAIT = 0.5
# Bytes of all segment files together; if there are more, each is memory-mapped.
_MAX_READ = 64 << 20
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
# The disk is full, a quota or a size limit (`ulimit -f`) is reached; Windows has no EDQUOT.
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
# Errors that do not mean that a file is damaged.
_SYSTEM_ERRORS = (*_DENIED, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
OWN_NAMES = frozenset({DATABASE, JOURNAL, LOCK, HOLDER, VECTORS, WORK, NAMESPACES})

# Databases that were kept when another one took their place, with their journals.
_KEPT_DATABASE = re.compile(rf"{re.escape(DATABASE)}\.old\d*(?:-journal)?")

SEGMENT_FILE = re.compile(r"g(\d{1,18})-[0-9a-f]{16}\.(?:faiss|words)")


def is_own_name(name: str) -> bool:
    """Return True if this program may have written a file or folder of this name in an index."""
    return name in OWN_NAMES or _KEPT_DATABASE.fullmatch(name) is not None


def require_own_names(index: Path) -> None:
    """Raise IndexDamaged if one of the files or folders that this program uses in an index is a link."""
    for name in sorted(OWN_NAMES):
        require_no_link(index / name)


def require_no_link(path: Path) -> None:
    """Raise IndexDamaged if a path is a symbolic link."""
    if path.is_symlink():
        raise IndexDamaged(
            f"'{path}' is a symbolic link that seewhy did not create. Nothing was changed. Remove "
            "the link, then run the command again."
        )


def content_of(path: Path, size: int) -> bytes | mmap.mmap:
    """Return the content of a file of a segment.

    Large files are memory-mapped, because reading them takes longer than a query. Small files are read: a process that
    has mapped a file is killed (SIGBUS) if the file is truncated, for example by restoring a backup over it.

    Raises:
        IndexDamaged: the file is missing, is not a regular file, or has another size.
        OSError: the system refuses to open the file, which is not damage.
    """
    try:
        with open_file(path, links=False) as stream:
            if os.fstat(stream.fileno()).st_size == size:
                if bytes_in(path.parent) > _MAX_READ:
                    return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
                if len(content := stream.read(size)) == size:
                    return content
    except OSError as error:
        if error.errno in _SYSTEM_ERRORS:
            raise
    raise damaged(path)


def release(content: bytes | memoryview | mmap.mmap) -> None:
    """Return the memory of a mapped file to the system; what is used again is mapped again from the file cache."""
    if isinstance(content, mmap.mmap) and hasattr(content, "madvise"):
        content.madvise(mmap.MADV_DONTNEED)


def damaged(path: Path) -> IndexDamaged:
    """Return the error for a damaged or missing file of a segment."""
    return IndexDamaged(
        f"the index file '{VECTORS}/{path.name}' is damaged or missing. {IndexDamaged.REPAIR}"
    )


def refused(error: OSError, index: Path) -> Exception:
    """Convert an error of the operating system about a file of an index to one of this package.

    Returns:
        AccessDenied, or StorageFull; any other error unchanged, also one about a file outside the index.
    """
    file = error.filename or index  # the error of a failed write names no file
    if not Path(os.fsdecode(file)).is_relative_to(index):
        return error
    if error.errno in _FULL:
        return StorageFull(os.fsdecode(file), error.strerror)
    return AccessDenied(os.fsdecode(file), index, error.strerror) if error.errno in _DENIED else error


def leftovers(index: Path, current: Collection[str]) -> list[Path]:
    """Return what interrupted runs left behind: `tmp`, files of unknown segments, the note of a killed writer.

    Args:
        current: paths of the segment files that index.db names, relative to the index.
    """
    stray = [path for path in (index / WORK, index / HOLDER) if path.exists()]
    return stray + [path for path in _segment_files(index) if f"{VECTORS}/{path.name}" not in current]


def delete_leftovers(index: Path, current: Collection[str]) -> None:
    """Delete what interrupted runs left behind, except a writer's note. The caller must hold the lock.

    A reader can continue to use a deleted file that it has mapped; on Windows such a file stays until the next run.
    """
    require_own_names(index)
    for path in leftovers(index, current):
        if path.parent.name == VECTORS:
            _delete(path)
    delete_work(index)


def delete_work(index: Path) -> None:
    """Delete `tmp`, unless it contains files that are not from this program."""
    work = index / WORK
    require_no_link(work)
    if not work.is_dir():
        return
    for path in work.iterdir():
        if path.name in (DATABASE, JOURNAL) or SEGMENT_FILE.fullmatch(path.name):
            _delete(path)
    _remove_if_empty(work)


def remove_index(index: Path) -> None:
    """Delete an index, with its namespaces and databases that were kept; files that are not from this program stay.

    Raises:
        IndexLocked: another process is writing to the index.
        IndexDamaged: a file of the index is a link.
    """
    namespaces = _namespace_folders(index)
    for namespace in namespaces:
        with writer_lock(namespace):  # while one of them is written, nothing is deleted
            pass
    with writer_lock(index):
        for namespace in namespaces:
            remove_index(namespace)
        _remove_if_empty(index / NAMESPACES)
        gone = _moved_away(index)
        delete_leftovers(gone, ())
        _remove_if_empty(gone / VECTORS)
        delete_database(gone)
        for path in gone.iterdir():
            if _KEPT_DATABASE.fullmatch(path.name):
                _delete(path)
    for name in (LOCK, HOLDER):  # on Windows a file that is open cannot be deleted
        _delete(gone / name)
    _remove_if_empty(gone)


def _namespace_folders(index: Path) -> list[Path]:
    """Return the folders of an index's namespaces; raise IndexDamaged if one is a link."""
    folder = index / NAMESPACES
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths:
        require_no_link(path)
    return [path for path in paths if (path / DATABASE).is_file()]


def _moved_away(index: Path) -> Path:
    """Rename the folder of a namespace, so that it is gone at once, for writers that wait; return its path."""
    if index.parent.name != NAMESPACES or index.name.startswith(UNFINISHED):
        return index
    gone = index.with_name(f"{UNFINISHED}{os.urandom(8).hex()}")
    with suppress(OSError):  # Windows does not rename a folder with open files
        return index.rename(gone)
    return index


def delete_database(index: Path) -> None:
    """Delete `index.db`, so that the next writer starts with an empty index. The caller must hold the writer's lock."""
    for name in (DATABASE, JOURNAL):
        with suppress(FileNotFoundError):
            patiently((index / name).unlink)


def _segment_files(index: Path) -> list[Path]:
    folder = index / VECTORS
    require_no_link(folder)
    if not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if SEGMENT_FILE.fullmatch(path.name) and not path.is_dir()
    )


def _delete(path: Path) -> None:
    """Delete a file; for a link, only the link, never its target."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if not files.WINDOWS:  # which keeps what a reader has mapped
            raise


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # it contains other files, or does not exist
        folder.rmdir()


@contextmanager
def writer_lock(index: Path, wait: float = _LOCK_WAIT) -> Iterator[None]:
    """Hold the writer's lock of an index.

    Args:
        wait: maximum number of seconds to wait for the lock.

    Raises:
        IndexLocked: another process holds the lock; the message names the process and its start time.
        IndexDamaged: a file of the index is a link.
        IndexNotFound: the index is gone, or was removed and created again in the meantime.
    """
    from filelock import FileLock, Timeout

    require_own_names(index)

    lock = FileLock(index / LOCK, timeout=wait, mode=PRIVATE_FILE)
    if (before := _identity(index)) is None:
        raise removed(index)
    try:
        lock.acquire()
    except FileNotFoundError:
        raise removed(index) from None
    except Timeout:
        raise IndexLocked(
            f"{_holder(index)} is writing to the index in '{index}'. Try again when it has finished."
        ) from None
    except OSError as error:
        raise refused(error, index) from None
    if _identity(index) != before:
        lock.release()
        raise removed(index)
    try:
        note = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        try:
            (index / HOLDER).unlink(missing_ok=True)
            create(index / HOLDER, json.dumps(note).encode())
        except OSError as error:
            raise refused(error, index) from None
        yield
    finally:
        with suppress(OSError):  # a note that stays does no harm
            (index / HOLDER).unlink()
        lock.release()


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return the device and the number of a folder, which another one of its path does not have; None without one."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def removed(index: Path) -> IndexNotFound:
    """Return the error for an index that was removed while it was used."""
    return IndexNotFound(f"the index in '{index}' was removed.")


def is_being_written(index: Path) -> bool:
    """Return True if another process is writing to the index.

    A writer's note alone is no proof, because a killed writer leaves its note behind: if there is one,
    this function tries to acquire the lock, and releases it at once.
    """
    from filelock import FileLock, Timeout

    if not ((index / HOLDER).is_file() and (index / LOCK).is_file()):
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
        note = json.loads(read_file(index / HOLDER, _MAX_NOTE, links=False))
        return f"process {note['pid']} on {note['host']} (since {note['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"
