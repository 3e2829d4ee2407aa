"""What an index holds of a document, put together from its passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from search.records.shown import Spans, visible


@dataclass(frozen=True)
class StoredFile:
    """A file as it was when it was indexed, and what kind of document it holds."""

    kind: str = "text"
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Location:
    """A span of a document, and where its source file has it.

    Attributes:
        path: absolute path of the source file; "" where a text was given.
        document: the document's name within the indexed folder, with forward slashes;
            "table.csv#12" for record 12 of a file.
        text: the span; `document.text[start:end] == text`, as it was indexed.
        line_start, line_end: 1-based lines of the source file, both included; of its extracted text where
            the format has pages.
        page: 1-based page, slide, sheet or cell on which the span begins; None for a format without.
    """

    path: str
    document: str
    text: str
    start: int
    end: int
    line_start: int
    line_end: int
    page: int | None = None


@dataclass(frozen=True, kw_only=True)
class StoredPassage(Location):
    """A passage as the index holds it.

    Attributes:
        document_id: of its document in the index, as long as that is of the same `Index.generation`.
        context: what is encoded before the text: title and headings, one a line.
        hidden: the spans of `text` that are markup, which is neither encoded nor counted as words.
        annotations: field -> value or values, what models say of the passage (`seewhy lab tag`, `label`).
        file: as it was when it was indexed.
    """

    passage_id: int
    document_id: int = 0
    title: str = ""
    heading: str = ""
    context: str = ""
    hidden: Spans = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    file: StoredFile = field(default=StoredFile(), repr=False, compare=False)

    @property
    def kind(self) -> str:
        """Of document, as in `Document`."""
        return self.file.kind

    @property
    def shown(self) -> str:
        """The text without its markup: what is encoded behind the context, and has words."""
        return visible(self.text, self.hidden)


@dataclass(frozen=True)
class Gap:
    """What stands between two passages of a document, or before the first. The index does not keep it.

    All of a document but blank space, marks (the fence of code, the ruler of a table) and what is metadata (front
    matter) is in a passage, so nothing that could be found is in a gap.

    Attributes:
        start, end: half-open span of the document's text.
        breaks: how many line breaks are in it; None where that cannot be told.
        blank: there is nothing but blank space in it. False where that cannot be told.
    """

    start: int
    end: int
    breaks: int | None
    blank: bool


@dataclass(frozen=True)
class DocumentText:
    """A document as far as the index holds it; what follows its last passage is not known.

    Attributes:
        document_id: as long as the index is of this `generation`.
        document, path, kind, title, metadata: as in a `Hit`.
        changed: what has become of the file since it was indexed: "" for nothing, "changed" or "gone".
        text: `document.text[passage.start:passage.end] == passage.text` for every passage. In gaps there are line
            breaks, as many as are known, then spaces.
        passages: in order; they overlap where the index was made so.
        gaps: the spans of `text` that are in no passage, in order.
    """

    document_id: int
    generation: int
    document: str
    path: str
    kind: str
    title: str
    metadata: Mapping[str, Any]
    changed: Literal["", "changed", "gone"]
    text: str
    passages: tuple[StoredPassage, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class FacetValue:
    """One value of a field.

    Attributes:
        documents: how many have it.
        where: the filter that these pass, and no other.
    """

    value: str
    documents: int
    where: str


@dataclass(frozen=True)
class Facet:
    """The most frequent values of a field, by which documents can be told apart.

    Attributes:
        field: "kind", "folder", or a name from the metadata or from annotations.
        documents: how many have a value.
        values: the most frequent first.
        others: how many more values there are.
    """

    field: str
    documents: int
    values: tuple[FacetValue, ...]
    others: int
