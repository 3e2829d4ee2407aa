"""File status of hits: unchanged, changed or deleted since indexing.

Compares size, time stamp and inode of each file, as indexing does; only a file that differs is read. In a changed text
file, a hit gets the current line numbers of its text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from search.errors import ReadError
from search.files import read_file
from search.records.documents import PLAIN_KINDS

if TYPE_CHECKING:
    from search.records.contents import StoredFile
    from search.records.hits import Hit

# Bytes; a larger changed file is not searched for the current lines of a hit.
_MAX_SIZE = 8 << 20


@dataclass(frozen=True)
class FileStatus:
    """Status of a file since it was indexed.

    Attributes:
        changed: "" if the file's content is unchanged.
        detail: reason why the file cannot be read.
        raw: content of the file, if it has changed and is small enough to search.
    """

    changed: Literal["", "changed", "gone"]
    detail: str = ""
    raw: bytes = b""

    @cached_property
    def text(self) -> str:
        from search.corpus.text import decode

        try:
            return decode("", self.raw)
        except ReadError:
            return ""


def with_file_status(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with the current status of their files; if a text moved in a changed file, with its current lines."""
    seen: dict[str, FileStatus] = {}
    now = []
    for hit in hits:
        status = seen.get(hit.path) or seen.setdefault(hit.path, since_indexed(hit.path, hit.file))
        now.append(_relocated(hit, status) if status.changed else hit)
    return now


def since_indexed(path: str | Path, stored: StoredFile) -> FileStatus:
    """Compare a file with its indexed state; "" is the path of a document from memory."""
    if not path:
        return FileStatus("")
    try:
        now = os.lstat(path)
        if (now.st_size, now.st_mtime_ns, now.st_ino) == (stored.size, stored.mtime_ns, stored.inode):
            return FileStatus("")
        if now.st_size > _MAX_SIZE and now.st_size != stored.size:
            return FileStatus("changed")
        raw = read_file(Path(path), now.st_size, links=False)
    except (FileNotFoundError, NotADirectoryError):
        return FileStatus("gone")
    except (OSError, ValueError) as error:
        return FileStatus("changed", f"cannot be read: {getattr(error, 'strerror', None) or error}")
    same = hashlib.sha256(raw).hexdigest() == stored.sha256
    return FileStatus("") if same else FileStatus("changed", raw=raw)


def _relocated(hit: Hit, status: FileStatus) -> Hit:
    """Return a hit of a changed file with the current lines of its text: the nearest occurrence."""
    text = status.text if hit.kind in PLAIN_KINDS else ""
    before, after = text.rfind(hit.text, 0, hit.end), text.find(hit.text, hit.start)
    starts = [start for start in (before, after) if start >= 0]
    if not starts:
        return replace(hit, changed=status.changed)
    from search.corpus.text import line_map

    start = min(starts, key=lambda start: abs(start - hit.start))
    first, last = line_map(text).span(start, start + len(hit.text))
    return replace(hit, changed="moved", line_start=first, line_end=last)
