"""Complete an index in the background: in a child process of idle priority, which ends with its parent.

    python -m search.indexing.background INDEX

The child reads its standard input, a pipe of which the parent holds the other end. When the parent ends, in whatever
way, the pipe is closed, and the child ends at once: each of its steps can be killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from search.encoding import Encoder
from search.errors import SearchError
from search.files import WINDOWS
from search.indexing.start import build_again
from search.store.database import read_meta
from search.store.files import DATABASE
from search.store.home import is_own
from search.store.settings import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def completing(indexes: Sequence[Path]) -> Iterator[None]:
    """Complete indexes, one after another, while the block runs."""
    if not indexes:
        yield
        return
    # Of Windows; on other systems the child lowers its own priority.
    flags = getattr(subprocess, "IDLE_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    command = [sys.executable, "-m", "search.indexing.background", *map(str, indexes)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )
    try:
        yield
    finally:
        child.kill()
        child.wait()
        assert child.stdin is not None
        child.stdin.close()


def main(indexes: Sequence[str]) -> None:
    """Complete indexes; one that cannot be completed, or that another process writes to, is left as it is."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if not WINDOWS:
        os.nice(19)
    for index in map(Path, indexes):
        with suppress(SearchError, OSError):
            fingerprint = fingerprint_of(read_meta(index / DATABASE))
            encoder = Encoder.of(fingerprint, offline=True, engine="auto", trusted=is_own(index))
            build_again(index, encoder, "auto", None, None, lazy=False)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
