"""Compare the files of a folder with the stored ones: what must a run read, what is gone?"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from search.corpus import Skipped, SourceFile, walk
from search.corpus.sources import Reason
from search.store.file_states import FileState
from search.store.layout import path_inside
from search.store.settings import Folders, Source, as_text

_AGES = (1, 7, 30, 365)  # days
COARSEST_CLOCK_NS = 2 * 10**9  # FAT counts time in steps of two seconds

KEPT_WHEN_UNREADABLE = frozenset(
    {
        Reason.PERMISSION_DENIED, Reason.UNREADABLE_FOLDER, Reason.UNREADABLE_FILE, Reason.NEEDS_EXTRA,
        Reason.NOTHING_THERE,
    }
)  # fmt: skip


@dataclass(frozen=True)
class RunPlan:
    """Files that one indexing run must read, delete or leave unchanged.

    Attributes:
        changed: files to read, each with the SHA-256 of its stored content; None for a new or partly indexed file.
        gone: path to delete -> SHA-256 of its content, if that is completely stored. A new file with the same content
            is a renamed file.
        unchanged: number of unchanged files with documents.
        away: if several folders are indexed, the ones that are gone or contain no text; their files stay in the index.
    """

    changed: list[tuple[SourceFile, str | None]]
    gone: dict[str, str | None]
    unchanged: int
    away: tuple[str, ...] = ()


def walk_folder(folder: Path, index: Path, source: Source) -> tuple[list[SourceFile], list[Skipped]]:
    """Walk a folder; return its files and its skipped files. An index inside the folder is left out."""
    inside = path_inside(folder, index)
    items = [
        item
        for item in _walk_folders(folder, source)
        if inside is None or not f"{item.path}/".startswith(f"{inside}/")
    ]
    return (
        [item for item in items if isinstance(item, SourceFile)],
        [item for item in items if isinstance(item, Skipped)],
    )


def _walk_folders(root: Path, source: Source) -> Iterator[SourceFile | Skipped]:
    """Walk one or several folders, each with its own ignore files.

    A folder that is gone, is a link, or contains no files may be on a drive that is not mounted. So its stored files
    are not treated as deleted.
    """
    if not source.folders:
        yield from walk(root, include=source.include, exclude=source.exclude, images=source.ocr)
    for name in source.folders:
        folder, items = root / name, []
        if folder.is_dir() and folder.resolve() == folder:
            items = list(walk(folder, include=source.include, exclude=source.exclude, images=source.ocr))
        yield from (replace(item, path=f"{name}/{item.path}") for item in items)
        if not any(isinstance(item, SourceFile) for item in items):
            yield Skipped(name, Reason.NOTHING_THERE, is_folder=True)


def compare(
    stored: Mapping[str, FileState],
    files: Sequence[SourceFile],
    skipped: Sequence[Skipped],
    walked_ns: int | None,
) -> RunPlan:
    """Compare the files of a folder with the stored files by size, time stamp and inode.

    A program can replace the content of a file and keep all three, but not its `ctime`. So a file whose `ctime` is not
    before the last complete walk counts as changed; it is read, and its hash tells.

    A stored file is gone if the walk did not find it. Files in folders that cannot be listed, and files that cannot be
    read, stay in the index.

    Args:
        walked_ns: when the walk of the last complete run began, in nanoseconds since 1970; None if no run noted it.
    """
    changed: list[tuple[SourceFile, str | None]] = []
    unchanged = 0
    newest = None if walked_ns is None else walked_ns - COARSEST_CLOCK_NS
    for file in files:
        before = stored.get(file.path)
        if before is None or before.status == "partial":
            changed.append((file, None))
            continue
        is_same = (before.size, before.mtime_ns, before.inode) == (file.size, file.mtime_ns, file.inode)
        if not is_same or (newest is not None and file.ctime_ns >= newest):
            changed.append((file, before.sha256))
        else:
            unchanged += before.status != "skipped"
    unreadable = [skip for skip in skipped if skip.reason in KEPT_WHEN_UNREADABLE]
    kept = {file.path for file in files} | {skip.path for skip in unreadable}
    kept_folders = tuple(f"{skip.path}/" for skip in unreadable if skip.is_folder)
    gone = {
        path: before.sha256 if before.status == "indexed" else None
        for path, before in stored.items()
        if path not in kept and not path.startswith(kept_folders)
    }
    away = tuple(
        skip.path
        for skip in skipped
        if skip.reason == Reason.NOTHING_THERE
        and any(path.startswith(f"{skip.path}/") for path in stored)
    )
    return RunPlan(changed, gone, unchanged, away)


def newest_first(
    changed: Sequence[tuple[SourceFile, str | None]], now_ns: int
) -> list[tuple[SourceFile, str | None]]:
    """Return the files to read with the latest changed ones first: those of the last day, of the week, month, year.

    Files of the same age stay in the order of their paths, so that a folder that was just copied is read in this order,
    whatever the order in which its files were copied.
    """
    ages = [limit * 86_400 * 10**9 for limit in _AGES]
    return sorted(changed, key=lambda item: bisect_left(ages, now_ns - item[0].mtime_ns))


def nothing_to_index(folders: Folders, reasons: Counter[str], indexed_before: bool) -> str:
    """Return the error message for folders without any passage; `reasons` counts the skipped files by reason."""
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    message = f"no text to index in {as_text(folders.paths)} (skipped: {left_out or 'nothing'})."
    if indexed_before:
        message += " The index was not changed. If you moved the folder, run: seewhy move INDEX FOLDER"
    return message
