"""Folders and settings that an index stores."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from search.errors import IndexDamaged, InputError, quoted
from search.records.fingerprint import Fingerprint
from search.records.options import MULTI
from search.records.reports import MEMORY

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.records.options import SourceOptions


# Errors of reading stored values.
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


@contextmanager
def readable(subject: str) -> Iterator[None]:
    """Convert errors of reading stored values to IndexDamaged; `subject` names the values in the message."""
    try:
        yield
    except IndexDamaged:
        raise
    except UNREADABLE as error:
        raise unreadable(subject, error) from error


def unreadable(subject: str, error: Exception) -> IndexDamaged:
    """Return the error for stored values that cannot be read; `subject` names them in the message."""
    detail = f"{type(error).__name__}: {error}"
    return IndexDamaged(f"{subject} cannot be read ({detail:.100}). {IndexDamaged.CHECK}")


FolderPaths: TypeAlias = "str | Path | Sequence[str | Path]"
"""Path of a folder, or the paths of several folders."""


@dataclass(frozen=True)
class Folders:
    """The indexed folder, or several folders.

    Attributes:
        root: absolute path of the folder, or of the common parent of several; names of documents are
            relative to it.
        names: paths of several folders relative to the root, with forward slashes, sorted; () if the root is the
            folder.

    `Folders()` belongs to an index of documents from memory.
    """

    root: Path = Path()
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, folders: FolderPaths | Folders) -> Folders:
        """Return the folders at the paths that a user typed, after checking that they exist.

        For the `Folders` of an existing index, only the root is checked.

        Raises:
            InputError: a folder is missing, is a file or is inside another; or they have no common parent.
        """
        if isinstance(folders, Folders):
            folders.require_files()
            if not folders.root.is_dir():
                raise InputError(
                    f"{folders.described} {'are' if folders.names else 'is'} gone. If you moved it, "
                    "run: seewhy move INDEX FOLDER"
                )
            return folders
        for folder in [folders] if isinstance(folders, str | os.PathLike) else folders:
            _require_folder(folder)
        paths = absolute(folders)
        if len(paths) == 1:
            return cls(paths[0])
        for outer, inner in pairwise(paths):
            if inner.is_relative_to(outer):
                raise InputError(
                    f"'{inner}' is inside '{outer}', or is the same folder. Give only '{outer}'."
                )
        try:
            root = Path(os.path.commonpath(paths))
        except ValueError:  # Windows
            raise InputError(
                f"{as_text(paths)} are on different drives. Create an index for each, then query "
                "both with two --index."
            ) from None
        return cls(root, tuple(path.relative_to(root).as_posix() for path in paths))

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Folders:
        """Read the folders from the meta values of an index.

        Raises:
            IndexDamaged: the values cannot be read.
        """
        with readable("the folders of the index"):
            names = tuple(meta["source"].get("folders", ()))
            if not all(isinstance(name, str) for name in names):
                raise TypeError("the name of a folder is not text")
            return cls(Path(meta["root"]), names)

    @cached_property
    def memory(self) -> bool:
        """True if the index has documents from memory."""
        return self.root == Path()

    def require_memory(self) -> None:
        """Raise InputError if the index belongs to a folder."""
        if not self.memory:
            raise InputError(f"this index belongs to {self.described}. For texts, use Index.create.")

    def require_files(self) -> None:
        """Raise InputError if the index has documents from memory."""
        if self.memory:
            raise InputError("this index has documents from memory, not from a folder. Use upsert().")

    @property
    def paths(self) -> tuple[Path, ...]:
        if self.memory:
            return ()
        return tuple(self.root / name for name in self.names) or (self.root,)

    @property
    def several(self) -> tuple[str, ...]:
        """Paths of the folders if there are several; () for a single folder, which is the root."""
        return tuple(map(str, self.paths)) if self.names else ()

    @property
    def typed(self) -> str:
        """The folders as arguments for a shell command."""
        return " ".join(map(quoted, self.paths))

    @property
    def described(self) -> str:
        """The folders in a message: "the folder" or "the folders" with their paths."""
        if self.memory:
            return str(self)
        noun = "folders" if self.names else "folder"
        return f"the {noun} {as_text(self.paths)}"

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths)) or MEMORY


def absolute(folders: FolderPaths) -> list[Path]:
    """Return the absolute path of each folder, existing or not, sorted."""
    typed = [folders] if isinstance(folders, str | os.PathLike) else folders
    return sorted(Path(folder).expanduser().resolve() for folder in typed)


def as_text(paths: Sequence[Path]) -> str:
    """Join paths in quotes, for a message."""
    return " and ".join(f"'{path}'" for path in paths)


def _require_folder(typed: str | Path) -> None:
    path = Path(typed).expanduser()
    if path.is_dir():
        return
    if path.is_file():
        raise InputError(f"'{typed}' is a file. Give the folder that contains it.")
    raise InputError(f"no folder '{typed}'. Check the spelling.")


@dataclass(frozen=True)
class PassageSettings:
    """Settings for cutting documents into passages; part of an index's fingerprint.

    Attributes:
        passage_tokens: maximum number of tokens of a passage's own text; chosen with benchmarks/passages.py.
        context_tokens: maximum number of tokens of the context that is encoded before it.
        heading_context: encode title and headings before each passage of a file. The title of a record is always
            encoded.
    """

    passage_tokens: int = 180
    context_tokens: int = 48
    overlap: int = 0
    heading_context: bool = True

    def as_json(self) -> str:
        """Serialise the settings for a fingerprint."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PassageSettings:
        """Read the settings from a fingerprint; raise IndexDamaged if they cannot be read."""
        with readable("the passage settings of the index"):
            return cls(**json.loads(text))


@dataclass(frozen=True)
class Source:
    """Selection of files and fields to index, and data to store besides embeddings; stored with the index."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    text_field: str | None = None
    title_field: str | None = None
    token_vectors: bool = False
    folders: tuple[str, ...] = ()  # paths of several folders, relative to the root
    ocr: bool = False
    ocr_language: str = MULTI

    @property
    def ocr_language_if_on(self) -> str | None:
        """Language in which text in pictures is read; None if it is not read."""
        return self.ocr_language if self.ocr else None

    @property
    def fields(self) -> dict[str, str | None]:
        """Arguments of `search.corpus.documents` that decide how files are read."""
        return {
            "text_field": self.text_field,
            "title_field": self.title_field,
            "ocr": self.ocr_language_if_on,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Source:
        """Read the selection from the meta value `source`; raise IndexDamaged if it cannot be read."""
        lists = ("include", "exclude", "folders")
        with readable("the settings of the index"):
            read: dict[str, Any] = values | {name: tuple(values.get(name, ())) for name in lists}
            return cls(**read)

    def changed(self, **options: Unpack[SourceOptions]) -> Source:
        """Return a copy with changed options; None keeps an option, an empty pattern removes all earlier patterns."""
        values: dict[str, Any] = {
            name: value for name, value in options.items() if value not in (None, "")
        }
        values |= {
            name: tuple(filter(None, values[name])) for name in ("include", "exclude") if name in values
        }
        return replace(self, **values)


def fingerprint_of(meta: Mapping[str, Any]) -> Fingerprint:
    """Read the fingerprint from the meta values of an index; raise IndexDamaged if it cannot be read."""
    with readable("the fingerprint of the index"):
        fingerprint = Fingerprint(**meta["fingerprint"])
        for name, value in vars(fingerprint).items():
            if not isinstance(value, str):
                raise TypeError(f"{name} is not text")
        prompts = json.loads(fingerprint.prompts)
        if not all(isinstance(text, str) for text in prompts.values()):
            raise TypeError("a prompt is not text")
        if int(fingerprint.dimension) < 1 or int(fingerprint.max_tokens) < 1:
            raise ValueError("dimension and max_tokens are above 0")
        return fingerprint


@dataclass(frozen=True)
class IndexMeta:
    """Facts that an index stores about itself.

    Attributes:
        passages: number of passages.
        generation: a number that increases with every change that can affect the results of queries.
        root: the indexed folder, or the common parent of several.
        source: selection of the indexed files and fields.
        fingerprint: model and settings of the embeddings.
        server: server with the passages (`search.store.milvus.collections.Server`); {} for this machine.
        foreign_cosine: median of the highest cosines of questions that the index hardly answers (see
            `search.indexing.sampling`); None if it was not measured.
        unread: number of files that a run in progress has not read yet.
    """

    passages: int
    generation: int
    root: Path
    source: Source
    fingerprint: Fingerprint
    server: Mapping[str, Any]
    foreign_cosine: float | None = None
    unread: int = 0

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> IndexMeta:
        """Read the facts from table `meta`; raise IndexDamaged if a value cannot be read."""
        with readable("the settings of the index"):
            cosine = meta.get("foreign", {}).get("cosine")
            return cls(
                passages=index(meta.get("passages", 0)),
                generation=index(meta.get("generation", 0)),
                root=Path(meta["root"]),
                source=Source.from_dict(meta["source"]),
                fingerprint=fingerprint_of(meta),
                server=dict(meta.get("server", {})),
                foreign_cosine=None if cosine is None else float(cosine),
                unread=index(meta.get("unread", 0)),
            )

    @cached_property
    def folders(self) -> Folders:
        return Folders(self.root, self.source.folders)
