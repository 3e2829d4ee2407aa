"""What a walk found, against what is stored: what is to be read, and what is gone."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from search.corpus import Skipped, SourceFile
from search.corpus.reasons import PERMISSION_DENIED, UNREADABLE_FILE, UNREADABLE_FOLDER

KEPT_WHEN_UNREADABLE = frozenset({PERMISSION_DENIED, UNREADABLE_FOLDER, UNREADABLE_FILE})


@dataclass(frozen=True)
class Plan:
    """The work of one run.

    Attributes:
        changed: files to read, each with the sha256 of the content that is stored for it, None for a
            file that is new or was not finished.
        gone: paths to forget.
        unchanged: how many files need nothing.
    """

    changed: list[tuple[SourceFile, str | None]]
    gone: list[str]
    unchanged: int


def compare(connection: sqlite3.Connection, files: Sequence[SourceFile], skipped: Sequence[Skipped]) -> Plan:
    """Compare by size, time stamp and inode.

    A stored file is gone when the walk did not find it, unless the walk could not look where it was: what
    cannot be listed or read is kept as it was.
    """
    rows = connection.execute("SELECT path, size, mtime_ns, inode, sha256, status FROM files ORDER BY path")
    stored = {os.fsdecode(path): facts for path, *facts in rows}
    changed: list[tuple[SourceFile, str | None]] = []
    unchanged = 0
    for file in files:
        *stat, sha256, status = stored.get(file.path, (None, None, None))
        if status == "partial":
            sha256 = None
        if stat == [file.size, file.mtime_ns, file.inode] and status != "partial":
            unchanged += 1
        else:
            changed.append((file, sha256))
    here = {file.path for file in files}
    blind = [skip.path for skip in skipped if skip.reason in KEPT_WHEN_UNREADABLE]
    gone = [
        path for path in stored if path not in here and not any(f"{path}/".startswith(f"{b}/") for b in blind)
    ]
    return Plan(changed, gone, unchanged)


def nothing_to_index(folder: Path, reasons: Counter[str], indexed_before: bool) -> str:
    """What to tell somebody whose folder yields no passage. `reasons` counts what was left out."""
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    why = f"everything was left out ({left_out})" if reasons else "it is empty"
    message = f"'{folder}' has no text to index: {why}."
    if indexed_before:
        return f"{message} The index was left as it is. Is a drive not mounted? To drop the index, delete its folder."
    return f"{message} Name a folder with text, Markdown, reStructuredText, HTML, CSV or JSONL files."
