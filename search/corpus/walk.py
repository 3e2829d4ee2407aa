"""Find the files of a folder, in a fixed order, and say why each of the others is left out; and its `.seewhy.toml`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from search.corpus.files import (
    MAX_BYTES,
    Reason,
    Skipped,
    SourceFile,
    is_secret,
    readable,
    refusal,
    regular_bytes,
    unreadable,
)
from search.corpus.patterns import IGNORE_FILES, Patterns, Rules, built_in_rules, ignores, parse, with_file
from search.errors import InputError
from search.files import toml


def walk(
    root: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> Iterator[SourceFile | Skipped]:
    """Every file beneath `root`, or the reason why it is left out.

    The order is the same on every run and system: names sorted by their bytes, files and folders
    mixed, a folder's contents where its name stands. Symbolic links are never followed, except that
    `root` may be one. A folder that is not entered yields one `Skipped` with `is_folder`.

    Args:
        root: the folder.
        include: patterns as in .gitignore; if any are given, other files are "excluded".
        exclude: patterns as in .gitignore; matching files and folders are "excluded". Beats `include`.
        max_bytes: larger files are "too large".

    Raises:
        InputError: `root` is no folder or cannot be listed, or a pattern is not valid. Raised at the
            call, before the first item is asked for.
    """
    root = Path(os.path.abspath(root))  # noqa: PTH100 (resolve() would follow links)
    filters = _Filters(_patterns("include", include), _patterns("exclude", exclude), max_bytes)
    return _walk(_first_level(root), filters)


class _Filters:
    """What the caller wants, apart from what the folder's own ignore files say."""

    def __init__(self, include: Patterns | None, exclude: Patterns | None, max_bytes: int) -> None:
        self.include, self.exclude, self.max_bytes = include, exclude, max_bytes
        self.readable = readable()

    def excludes(self, path: str) -> bool:
        """Whether a file, or a folder (with a slash at the end), is not wanted."""
        if self.exclude is not None and self.exclude.verdict(path):
            return True
        # A folder that no include pattern names may still hold files that one does.
        return self.include is not None and not path.endswith("/") and not self.include.cover(path)


def _patterns(option: str, globs: Sequence[str]) -> Patterns | None:
    if isinstance(globs, str):
        raise InputError(f"{option} must be a list of patterns, not the string '{globs}'; write ['{globs}']")
    for glob in globs:
        if parse(glob) is None:
            raise InputError(f"{option} pattern '{glob}' matches nothing; write it as in .gitignore: '*.md'")
    return Patterns(globs) if globs else None


def _first_level(root: Path) -> _Level:
    try:
        return _Level("", str(root), built_in_rules())
    except FileNotFoundError:
        problem = "does not exist; check the spelling, or mount the drive it is on"
    except NotADirectoryError:
        problem = f"is not a folder; name the folder that holds it, '{root.parent}'"
    except PermissionError:
        problem = "cannot be listed: permission denied; check its permissions"
    except OSError as error:
        problem = f"cannot be listed ({error.strerror}); check the drive it is on"
    raise InputError(f"{root} {problem}")


def _walk(first: _Level, filters: _Filters) -> Iterator[SourceFile | Skipped]:
    # One level a folder, so that no depth of folders meets Python's recursion limit.
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
    """A folder that is being walked: what of it remains, and the rules that hold in it.

    All of its entries and rules or an error, never half of them: what is missing from a list counts as deleted.
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
    """The verdict on one entry; None for a folder that is to be entered."""
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
    if is_folder:
        return None
    if status.st_size > filters.max_bytes:
        large = f"{status.st_size:,} bytes; the limit is {filters.max_bytes:,}"
        return Skipped(path, Reason.TOO_LARGE, large)
    return SourceFile(path, entry.path, status.st_size, status.st_mtime_ns, status.st_ino)


def _unwanted(path: str, name: str, rules: Rules, filters: _Filters) -> tuple[str, str] | None:
    """The first thing that speaks against a path (a folder with a slash at the end), or None.

    It is a reason and a detail.
    """
    is_file = not path.endswith("/")
    if is_file and is_secret(name):
        return Reason.SECRET, ""
    if ignores(rules, path):
        return Reason.IGNORED, ""
    if name.startswith("."):
        return Reason.HIDDEN, ""
    if filters.excludes(path):
        return Reason.EXCLUDED, ""
    return unreadable(name, filters.readable) if is_file else None


def _is_junction(status: os.stat_result) -> bool:
    """Windows' other kind of link between folders, which does not count as a symbolic link."""
    tag = getattr(status, "st_reparse_tag", 0)
    return bool(tag) and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)


# A folder may be anybody's. So nothing else can be said there: no model, no command, no place.
FOLDER_FILE = ".seewhy.toml"
_LARGEST_FOLDER_FILE = 1 << 16  # bytes
_LISTS, _TEXTS = ("include", "exclude"), ("text_field", "title_field")


def folder_file(folder: Path) -> dict[str, Any] | None:
    """All four choices, those that are not there as None or (); None where the folder has no such file.

    Raises:
        InputError: it cannot be read, or says what it may not.
    """
    path = folder / FOLDER_FILE
    try:
        text = regular_bytes(path, _LARGEST_FOLDER_FILE).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' cannot be read: {error}. Mend it, or remove it.") from None
    found = toml(text, f"'{path}'")
    for name, value in found.items():
        if name not in _LISTS + _TEXTS:
            raise InputError(
                f"'{path}' says '{name}', which a folder cannot choose, but only {', '.join(_LISTS + _TEXTS)}. "
                "Remove it."
            )
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not (is_list if name in _LISTS else isinstance(value, str)):
            wanted = "a list of patterns, such as ['*.md']" if name in _LISTS else "a name in quotes"
            raise InputError(f"'{path}' says {name} = {value!r:.80}; it has to be {wanted}.")
    return {
        **{name: tuple(found.get(name, ())) for name in _LISTS},
        **{name: found.get(name) for name in _TEXTS},
    }
