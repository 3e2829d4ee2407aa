"""The folders that an index is of: one, or several beneath a folder that they have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from search.errors import InputError, quoted

Named: TypeAlias = "str | Path | Sequence[str | Path]"
"""A folder, or several, as they are typed."""


@dataclass(frozen=True)
class Folders:
    """One folder, or several.

    Attributes:
        root: what the names of documents are relative to: the folder, or what several have in common; resolved.
        names: of several, relative to the root, with forward slashes, sorted; () where the root is the folder.
    """

    root: Path
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, named: Named | Folders) -> Folders:
        """Folders that are there; of those of an index one may be away.

        Raises:
            InputError: one is a file, is not there or lies within another; or they have nothing in common.
        """
        if isinstance(named, Folders):
            if not named.root.is_dir():
                raise InputError(
                    f"{named.described} {'are' if named.names else 'is'} gone. Is a drive not mounted? Was it moved: "
                    "seewhy move INDEX FOLDER"
                )
            return named
        for folder in [named] if isinstance(named, str | os.PathLike) else named:
            _require_folder(folder)
        paths = absolute(named)
        if len(paths) == 1:
            return cls(paths[0])
        for outer, inner in pairwise(paths):
            if inner.is_relative_to(outer):
                raise InputError(f"'{inner}' lies in '{outer}', or is the same. Name the outer one, once.")
        try:
            root = Path(os.path.commonpath(paths))
        except ValueError:  # Windows
            raise InputError(
                f"{as_text(paths)} lie on different drives, and one index cannot hold both. Make an index of each, "
                "and ask both with: seewhy query TEXT --index NAME --index NAME"
            ) from None
        return cls(root, tuple(path.relative_to(root).as_posix() for path in paths))

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Folders:
        """As an index remembers them."""
        return cls(Path(meta["root"]), tuple(meta["source"].get("folders", ())))

    @property
    def paths(self) -> tuple[Path, ...]:
        """Each of them."""
        return tuple(self.root / name for name in self.names) or (self.root,)

    @property
    def several(self) -> tuple[str, ...]:
        """The paths of several, () for one; for a report beside the root."""
        return tuple(map(str, self.paths)) if self.names else ()

    @property
    def typed(self) -> str:
        """As arguments of a command."""
        return " ".join(map(quoted, self.paths))

    @property
    def described(self) -> str:
        """As a sentence names them."""
        return f"the folder{'s' * bool(self.names)} {as_text(self.paths)}"

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))


def absolute(named: Named) -> list[Path]:
    """Each folder that is named, whether or not it is there, sorted."""
    typed = [named] if isinstance(named, str | os.PathLike) else named
    return sorted(Path(folder).expanduser().resolve() for folder in typed)


def as_text(paths: Sequence[Path]) -> str:
    """Each in quotes, for a message."""
    return " and ".join(f"'{path}'" for path in paths)


def _require_folder(typed: str | Path) -> None:
    path = Path(typed).expanduser()
    if path.is_dir():
        return
    what = (
        "is a file, not a folder. Name the folder it is in"
        if path.is_file()
        else "does not exist. Check the spelling"
    )
    raise InputError(f"the folder '{typed}' {what}.")
