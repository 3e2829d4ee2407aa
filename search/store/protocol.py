"""What an index says of passages, documents and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.records.contents import StoredFile, StoredPassage


@dataclass(frozen=True)
class StoredDocument:
    """A document as it lies in the index, with its passages, at least one, in their order."""

    id: int
    name: str
    path: str
    title: str
    metadata: Mapping[str, Any]
    file: StoredFile
    passages: tuple[StoredPassage, ...]


@dataclass(frozen=True)
class Copied:
    """A text that stands in `documents` documents, by a number that all passages with it share."""

    text: int
    documents: int


@dataclass(frozen=True)
class Place:
    """What a path means in an index.

    Attributes:
        name: relative to the indexed folder, with forward slashes; None for what lies outside it.
        record: number of a record of the file, None for the whole file.
        line: 1-based line of the file, None for all of it.
        location: where the file is, or would be.
        passages: ids of the passages that are stored for it.
    """

    name: str | None
    record: int | None
    line: int | None
    location: Path
    passages: tuple[int, ...] = ()

    @property
    def document(self) -> str:
        """The document's name, as a `Hit` gives it; the path of what lies outside."""
        return (self.name or str(self.location)) + (f"#{self.record}" if self.record else "")
