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

_LOCK, _HOLDER = "writer.lock", "writer.json"


@contextmanager
def writer_lock(index: Path) -> Iterator[None]:
    """Hold the index for writing.

    Raises:
        IndexLocked: another process does; the message says which, and since when.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(index / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise IndexLocked(
            f"{_holder(index)} is writing to the index in '{index}'. Try again when it is done."
        ) from None
    try:
        note = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        (index / _HOLDER).write_text(json.dumps(note), encoding="utf-8")
        yield
    finally:
        with suppress(OSError):  # left behind it does no harm
            (index / _HOLDER).unlink()
        lock.release()


def _holder(index: Path) -> str:
    try:
        note = json.loads((index / _HOLDER).read_text(encoding="utf-8"))
        return f"process {note['pid']} on {note['host']} (since {note['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"
