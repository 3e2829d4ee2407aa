"""One writer at a time.

The lock is the operating system's: it ends with the process that holds it, however that dies. Beside it
lies a note of who holds it, for the message that a second writer gets.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from search.errors import IndexLocked
from search.store.files import HOLDER, LOCK, is_own_file, require_own_names


@contextmanager
def writer_lock(index: Path) -> Iterator[None]:
    """Hold the index for writing.

    Raises:
        IndexLocked: another process does; the message says which, and since when.
        IndexDamaged: a name in it is a link.
    """
    from filelock import FileLock, Timeout

    require_own_names(index)

    lock = FileLock(index / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise IndexLocked(
            f"{_holder(index)} is writing to the index in '{index}'. Try again when it is done."
        ) from None
    try:
        note = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        (index / HOLDER).write_text(json.dumps(note), encoding="utf-8")
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
    lock = FileLock(index / LOCK, timeout=0)
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
        note = json.loads((index / HOLDER).read_text(encoding="utf-8"))
        return f"process {note['pid']} on {note['host']} (since {note['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"
