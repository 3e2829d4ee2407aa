"""Resolve paths in an index: absolute, from the current folder, or from the indexed folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from search.errors import InputError

_PARTS = re.compile(r"(?P<path>.+?)(?:#(?P<record>\d+))?(?::(?P<line>\d+)(?:-\d+)?)?", re.DOTALL)


@dataclass(frozen=True)
class ResolvedPath:
    """A path that was resolved in an index.

    Attributes:
        name: path relative to the indexed folder, with forward slashes; None for a path outside of it.
        record: number of a record in the file; None for the whole file.
        line: line number in the file, from 1; None for the whole file.
        location: absolute path of the file, which may not exist.
        passages: IDs of the stored passages of the file, the record, or the line.
    """

    name: str | None
    record: int | None
    line: int | None
    location: Path
    passages: tuple[int, ...] = ()

    @property
    def document(self) -> str:
        """Name of the document, as in a `Hit`; for a path outside of the indexed folder, the path."""
        return (self.name or str(self.location)) + (f"#{self.record}" if self.record else "")


PassagesOf: TypeAlias = Callable[[ResolvedPath], list[tuple[int, int, int]]]
"""Function that returns the ID, first and last line of each stored passage of a file or record."""


def resolve_path(root: Path, typed: str | Path, rows: PassagesOf) -> ResolvedPath:
    """Resolve a path.

    If a path has several meanings, an indexed file is preferred to other existing files, and a file named "a.md:3" to
    line 3 of the file "a.md".

    Args:
        typed: a path, also with a record or lines as in a list of hits: "table.csv#12", "keys.md:31-35".
        rows: returns the stored passages of a file or record.

    Raises:
        InputError: the path is a folder, or no passage contains the line.
    """
    if root == Path():  # documents from memory, which have an ID and no path
        resolved = ResolvedPath(str(typed), None, None, Path())
        return replace(resolved, passages=_passages(resolved, rows))
    meanings = list(_meanings(root, str(typed)))
    stored = [meaning for meaning in meanings if meaning.name is not None and rows(meaning)]
    if stored:
        return replace(stored[0], passages=_passages(stored[0], rows))
    existing = [meaning for meaning in meanings if os.path.lexists(meaning.location)]
    if existing and existing[0].location.is_dir() and not existing[0].location.is_symlink():
        raise InputError(f"'{typed}' is a folder. Give a file in it.")
    inside = [meaning for meaning in meanings if meaning.name is not None]
    # If no such file exists, take the last meaning: a path that was split from its record and line.
    return (existing or inside[-1:] or meanings[-1:])[0]


def _meanings(root: Path, typed: str) -> Iterator[ResolvedPath]:
    """Yield the meanings that a typed path can have: the path itself, then without its record or line ("a.md:3").

    Each is resolved from the current folder, then from the root.
    """
    match = _PARTS.fullmatch(typed)
    parts: list[tuple[str, int | None, int | None]] = [(typed, None, None)]
    if match and match["path"] != typed:
        record, line = (int(digits) if digits else None for digits in match.group("record", "line"))
        parts.append((match["path"], record, line))
    for path, record, line in parts:
        for base in (Path.cwd(), root):
            location = Path(os.path.abspath(base / Path(path).expanduser()))  # noqa: PTH100 (keeps links)
            yield ResolvedPath(_name(root, location), record, line, location)


def _name(root: Path, location: Path) -> str | None:
    """Return a path relative to the root, after resolving links if needed; None if it is outside of the root."""
    for candidate in (location, location.parent.resolve() / location.name):
        if candidate != root and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def _passages(resolved: ResolvedPath, rows: PassagesOf) -> tuple[int, ...]:
    if resolved.line is None:
        return tuple(id_ for id_, _, _ in rows(resolved))
    ids = tuple(id_ for id_, first, last in rows(resolved) if first <= resolved.line <= last)
    if not ids:
        raise InputError(
            f"no passage of '{resolved.document}' covers line {resolved.line}. Leave the line out to get the best "
            "passage."
        )
    return ids
