"""The records of this stage that later ones see: a file to read, a thing left out, a file's bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class SourceFile:
    """A file that the walk found and nothing spoke against.

    Attributes:
        path: relative to the walked folder, with forward slashes. Bytes that are not valid in the
            file system's encoding are kept as surrogates (PEP 383).
        location: where to open it; `absolute` as a Path, which ten thousand files that did not change do not need.
        size: bytes, when it was looked at.
        mtime_ns: time of the last change, in nanoseconds since 1970.
        inode: the file system's number for it; 0 where it has none.
    """

    path: str
    location: str | Path
    size: int
    mtime_ns: int
    inode: int

    @property
    def absolute(self) -> Path:
        return Path(self.location)


@dataclass(frozen=True)
class Skipped:
    """Something left out, and why.

    Attributes:
        path: of the file or folder; `path#record` for one record of a file.
        reason: one of the phrases in `reasons`.
        detail: what more there is to say, for people; may be empty.
        is_folder: the folder was not entered, so nothing is known about what lies beneath it.
    """

    path: str
    reason: str
    detail: str = ""
    is_folder: bool = False


@dataclass(frozen=True)
class Contents:
    """A file's bytes and their SHA-256 in lower-case hexadecimal."""

    raw: bytes = field(repr=False)
    sha256: str


def file_name(path: str) -> str:
    """The last part of `path`, fit to be shown: bytes that are no characters become U+FFFD."""
    return os.fsencode(path.rpartition("/")[2]).decode("utf-8", "replace")


def file_stem(path: str) -> str:
    """`file_name` without its last suffix: "notes" for "a/notes.md"."""
    return PurePosixPath(file_name(path)).stem
