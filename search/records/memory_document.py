"""Documents that a program gives to an index, in contrast to files of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, Literal, TypeAlias

from search.errors import InputError
from search.records.rows import Table


@dataclass(frozen=True)
class MemoryDocument:
    """A document from memory.

    Attributes:
        id: any text but ""; hits have it as `document`. Slashes make folders, for filters like "path:web/**".
        text: text to search. A document without text and title is stored, but never found.
        title: title, which is encoded with each passage; "" for none.
        metadata: JSON values to filter by.
        kind: "text", or "markdown" to use headings and front matter, and to ignore markup.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["text", "markdown"] = "text"

    @classmethod
    def of(cls, source: MemoryDocument | Mapping[str, Any]) -> MemoryDocument:
        """Return a checked document; keys of a mapping that are not fields become metadata, as in JSON Lines.

        Raises:
            InputError: a field is missing or has a wrong type.
        """
        if isinstance(source, Mapping):
            values = dict(source)
            own = {name: values.pop(name) for name in _FIELDS & values.keys()}
            if values:
                own["metadata"] = {**values, **own.get("metadata", {})}
            if "id" in own:
                own["id"] = document_id(own["id"])
            missing = [name for name in ("id", "text") if name not in own]
            if missing:
                raise InputError(f"a document has no '{missing[0]}': {str(source)[:80]}")
            source = cls(**own)
        if not isinstance(source, cls):
            raise InputError(f"{str(source)[:80]!r} is neither a Document nor a mapping.")
        source._check()
        return source

    @classmethod
    def stored(cls, id_: str, content: str) -> MemoryDocument:
        """Return a checked document from its ID and its `content`.

        Raises:
            ValueError, TypeError: the content is not that of a document.
        """
        document = cls(id_, **json.loads(content))
        document._check()
        return document

    def _check(self) -> None:
        for name in ("id", "text", "title"):
            if not isinstance(value := getattr(self, name), str):
                raise InputError(f"the {name} of {self.id!r} is of type {type(value).__name__}.")
        if not isinstance(self.metadata, Mapping):
            raise InputError(f"the metadata of document {self.id!r} are not a mapping.")
        if self.kind not in ("text", "markdown"):
            raise InputError(f"kind={self.kind!r} is unknown. Choose from: text, markdown.")
        if not self.id or self.id.encode(errors="replace").decode() != self.id:
            raise InputError(f"{self.id!r} cannot be the ID of a document: it is empty or not Unicode.")

    @property
    def content(self) -> str:
        """Everything but the ID, as JSON."""
        values = {name: value for name, value in vars(self).items() if name != "id"}
        return json.dumps(values, ensure_ascii=False, sort_keys=True)

    @property
    def record(self) -> dict[str, Any]:
        """The document as a mapping that `of` reads back; what is empty or the default is left out."""
        values = {"id": self.id, "text": self.text, "title": self.title, "metadata": dict(self.metadata)}
        values |= {"kind": self.kind} if self.kind != "text" else {}
        return {name: value for name, value in values.items() if value or name in ("id", "text")}


def document_id(value: Any) -> Any:
    """Return a whole number, also one of NumPy, as the ID of a document; other values are returned as they are.

    Example:
        >>> document_id(12), document_id("T-1")
        ('12', 'T-1')
    """
    return str(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


@dataclass(frozen=True)
class DamagedDocument:
    """A document from memory that its index does not give back as it was stored.

    Attributes:
        id: its ID; the number of its row if the ID cannot be read.
        problem: what is wrong with it.
        document: the document as it is now, if it can still be read; None if not.
    """

    id: str
    problem: str
    document: MemoryDocument | None = None

    def __str__(self) -> str:
        return f"'{self.id}': {self.problem}"


_FIELDS = {item.name for item in fields(MemoryDocument)}
Document = MemoryDocument  # the public name
Documents: TypeAlias = "Iterable[Document | Mapping[str, Any]] | Document | Mapping[str, Any] | Table"
"""Documents, mappings, a single one of these, or a table: see `Index.upsert`."""
