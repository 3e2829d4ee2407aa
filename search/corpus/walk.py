"""List the files of a folder in a fixed order, and say why each other entry is left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from search.corpus.patterns import BUILT_IN, IGNORE_FILES, Patterns, Rules, ignores, with_file
from search.corpus.sources import (
    MAX_BYTES,
    Reason,
    Skipped,
    SourceFile,
    generated,
    is_secret,
    readable,
    refusal,
    unreadable,
)
from search.errors import InputError


def walk(
    root: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
    images: bool = False,
) -> Iterator[SourceFile | Skipped]:
    """Yield every file below `root`, or the reason why it is left out.

    The order is the same on every run and system: names sorted by their bytes, files and folders mixed, a folder's
    contents in place of its name. Symbolic links are not followed, except `root` itself. A folder that is not entered
    yields one `Skipped` with `is_folder`.

    Args:
        root: the folder.
        include: patterns as in .gitignore; if given, all other files are "excluded".
        exclude: patterns as in .gitignore; matching files and folders are "excluded". Overrides `include`.
        max_bytes: larger files are "too large".
        images: images are files to read; else they are "binary".

    Raises:
        InputError: `root` is not a folder or cannot be listed. Raised at the call, before the first item.
    """
    root = Path(os.path.abspath(root))  # noqa: PTH100 (resolve() would follow links)
    filters = _Filters(_patterns("include", include), _patterns("exclude", exclude), max_bytes, images)
    return _walk(_first_level(root), filters)


class _Filters:
    """Patterns and size limit of the caller, which filter files in addition to ignore files."""

    def __init__(
        self, include: Patterns | None, exclude: Patterns | None, max_bytes: int, images: bool
    ) -> None:
        self.include, self.exclude, self.max_bytes = include, exclude, max_bytes
        self.readable = readable() | {"image"} if images else readable()

    def excludes(self, path: str) -> bool:
        """Return True if a file, or a folder (with a slash at the end), is left out."""
        # A folder that matches no include pattern may contain files that match one.
        left_out = self.include and not path.endswith("/") and not self.include.cover(path)
        return bool(left_out or (self.exclude and self.exclude.verdict(path)))

    def names(self, path: str) -> bool:
        """Return True if an include pattern matches a file itself, not only a folder above it."""
        return bool(self.include and self.include.verdict(path))


def _patterns(option: str, globs: Sequence[str]) -> Patterns | None:
    if isinstance(globs, str):
        raise InputError(f"{option} is the string '{globs}', not a list of patterns. Write: ['{globs}']")
    return Patterns(globs) if globs else None


def _first_level(root: Path) -> _Level:
    """Return the level of the root folder, from which a walk goes down; raise InputError if it cannot be listed."""
    try:
        return _Level("", str(root), BUILT_IN)
    except OSError as error:
        raise InputError(f"cannot list the folder '{root}': {error.strerror}") from None


def _walk(first: _Level, filters: _Filters) -> Iterator[SourceFile | Skipped]:
    # A stack of folders, because recursion could exceed Python's limit.
    levels = [first]
    while levels:
        entry = next(levels[-1].remaining, None)
        if entry is None:
            levels.pop()
            continue
        verdict = _judged(entry, levels[-1], filters)
        if verdict is not None:
            yield verdict
            continue
        path = levels[-1].folder + entry.name
        try:
            levels.append(_Level(path + "/", entry.path, levels[-1].rules))
        except FileNotFoundError:
            yield Skipped(path, Reason.VANISHED, is_folder=True)
        except OSError as error:
            yield Skipped(path, Reason.UNREADABLE_FOLDER, error.strerror or "", is_folder=True)


class _Level:
    """A folder that is being walked: its remaining entries, and its ignore rules.

    Creating it either reads all entries and rules or fails: a missing entry would count as deleted.
    """

    def __init__(self, folder: str, location: str, outer: Rules) -> None:
        with os.scandir(location) as entries:
            listed = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        self.folder, self.rules, self.remaining = folder, outer, iter(listed)
        # Sorted by name they come weakest first: .gitignore, .ignore, .seewhyignore.
        for entry in listed:
            if entry.name in IGNORE_FILES and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # gone since it was listed
                    self.rules = with_file(self.rules, folder, Path(entry.path))


def _judged(entry: os.DirEntry[str], level: _Level, filters: _Filters) -> SourceFile | Skipped | None:
    """Return the file, or the reason to skip an entry; None for a folder to enter."""
    path = level.folder + entry.name
    try:
        # os.lstat rather than entry.stat, which knows no inode on Windows.
        status = os.lstat(entry.path)
    except OSError as error:
        return Skipped(path, *refusal(error))
    if stat.S_ISLNK(status.st_mode) or _is_junction(status):
        return Skipped(path, Reason.SYMBOLIC_LINK)
    is_folder = stat.S_ISDIR(status.st_mode)
    if not is_folder and not stat.S_ISREG(status.st_mode):
        return Skipped(path, Reason.NOT_REGULAR)
    unwanted = _unwanted(path + "/" if is_folder else path, entry.name, level.rules, filters)
    if unwanted is not None:
        return Skipped(path, *unwanted, is_folder)
    if _is_flagged_hidden(status):
        return Skipped(path, Reason.HIDDEN, "", is_folder)
    if is_folder:
        return None
    if status.st_size > filters.max_bytes:
        large = f"{status.st_size:,} bytes; the limit is {filters.max_bytes:,}"
        return Skipped(path, Reason.TOO_LARGE, large)
    state = status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns
    return SourceFile(path, entry.path, *state, filters.names(path))


def _unwanted(path: str, name: str, rules: Rules, filters: _Filters) -> tuple[str, str] | None:
    """Return reason and detail for leaving out a path (folders with a slash at the end), or None."""
    is_file = not path.endswith("/")
    if is_file and is_secret(name):
        return Reason.SECRET, ""
    if ignores(rules, path):
        return Reason.IGNORED, ""
    if name.startswith("."):
        return Reason.HIDDEN, ""
    if filters.excludes(path):
        return Reason.EXCLUDED, ""
    if is_file and (detail := generated(name)) and not filters.names(path):
        return Reason.GENERATED, detail
    return unreadable(name, filters.readable) if is_file else None


def _is_flagged_hidden(status: os.stat_result) -> bool:
    """Return True if Windows or macOS hide a file or folder by an attribute, like `~/Library`."""
    attributes, flags = getattr(status, "st_file_attributes", 0), getattr(status, "st_flags", 0)
    return bool(attributes & stat.FILE_ATTRIBUTE_HIDDEN or flags & stat.UF_HIDDEN)


def _is_junction(status: os.stat_result) -> bool:
    """Return True for a Windows junction, a link between folders that does not count as a symbolic link."""
    tag = getattr(status, "st_reparse_tag", 0)
    return bool(tag) and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
