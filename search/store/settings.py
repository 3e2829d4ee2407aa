"""The folders that an index is of, and the choices that it is made with and remembers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from search.errors import InputError, quoted
from search.records.fingerprint import Fingerprint

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.records.options import SourceOptions


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
                    f"{named.described} {'are' if named.names else 'is'} gone. Was it moved: seewhy move INDEX FOLDER"
                )
            return named
        for folder in [named] if isinstance(named, str | os.PathLike) else named:
            _require_folder(folder)
        paths = absolute(named)
        if len(paths) == 1:
            return cls(paths[0])
        for outer, inner in pairwise(paths):
            if inner.is_relative_to(outer):
                raise InputError(
                    f"'{inner}' lies in '{outer}', or is the same. Name the outer one, once."
                )
        try:
            root = Path(os.path.commonpath(paths))
        except ValueError:  # Windows
            raise InputError(
                f"{as_text(paths)} lie on different drives. Make an index of each, and ask both with two --index."
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
    problem = (
        "is a file, not a folder. Name the folder it is in"
        if path.is_file()
        else "does not exist. Check the spelling"
    )
    raise InputError(f"the folder '{typed}' {problem}.")


@dataclass(frozen=True)
class PassageSettings:
    """How documents are cut; part of an index's fingerprint.

    Attributes:
        passage_tokens: most tokens of a passage's own text; chosen with benchmarks/passages.py.
        context_tokens: most tokens of what is encoded before it.
        heading_context: encode title and headings before each passage of a file. The title of a record
            is encoded in any case.
    """

    passage_tokens: int = 180
    context_tokens: int = 48
    overlap: int = 0
    heading_context: bool = True

    def as_json(self) -> str:
        """As they stand in a fingerprint."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PassageSettings:
        """As they stand in a fingerprint."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Source:
    """Which files of a folder are indexed, which fields of records are read, what is kept of passages besides
    their embeddings; remembered with the index."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    text_field: str | None = None
    title_field: str | None = None
    token_vectors: bool = False
    folders: tuple[str, ...] = ()  # of several, their names beneath the root

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Source:
        lists = ("include", "exclude", "folders")
        read: dict[str, Any] = values | {name: tuple(values.get(name, ())) for name in lists}
        return cls(**read)

    def changed(self, **options: Unpack[SourceOptions]) -> Source:
        """With what was asked for now; None leaves a choice as it is, an empty pattern lifts earlier ones."""
        values: dict[str, Any] = {
            name: value for name, value in options.items() if value not in (None, "")
        }
        values |= {
            name: tuple(filter(None, values[name])) for name in ("include", "exclude") if name in values
        }
        return replace(self, **values)


@dataclass(frozen=True)
class Facts:
    """What an index says of itself.

    Attributes:
        passages: how many there are.
        generation: a number that is another one after every change of what answers are made of.
        root: the folder that was indexed.
        source: which of its files are indexed, and how records are read.
        fingerprint: what the embeddings were made with.
        server: that the passages are on (`search.store.milvus.collections.Server`); {} for this machine.
    """

    passages: int
    generation: int
    root: Path
    source: Source
    fingerprint: Fingerprint
    server: Mapping[str, Any]

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Facts:
        """As table `meta` has it."""
        return cls(
            passages=meta.get("passages", 0),
            generation=meta.get("generation", 0),
            root=Path(meta["root"]),
            source=Source.from_dict(meta["source"]),
            fingerprint=Fingerprint(**meta["fingerprint"]),
            server=meta.get("server", {}),
        )

    @property
    def folders(self) -> Folders:
        return Folders(self.root, self.source.folders)


MOST_BOILERPLATE = 4_000  # keys that are kept
