"""Stored passages, documents assembled from them, and facets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from search.records.visible_text import Spans, visible


@dataclass(frozen=True)
class StoredFile:
    """State of a source file when it was indexed, and the kind of its document."""

    kind: str = "text"
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Location:
    """Span of a document, and its lines in the source file.

    Attributes:
        path: absolute path of the source file; "" for a text that comes from no file.
        document: the document's name within the indexed folder, with forward slashes;
            "table.csv#12" for record 12 of a file.
        text: the text of the span as indexed: `document.text[start:end] == text`.
        line_start, line_end: 1-based lines of the source file, both included; for a format with pages, lines of
            its extracted text.
        page: 1-based page, slide, sheet or cell on which the span begins; None for a format without pages.
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
    """A passage as the index stores it.

    Attributes:
        passage_id: ID of the passage; stays the same as long as the passage is in the index.
        document_id: ID of its document, valid for one `Index.generation`.
        context: text that is encoded before the passage: title and headings, one per line.
        hidden: markup spans of `text`, which are neither encoded nor counted as words.
        annotations: field -> value or values, added by models (`seewhy lab tag`, `label`).
        file: state of the source file when it was indexed.
        own_vector: True if a program gave its embedding, so that no token of the text adds to its cosine.
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
    own_vector: bool = field(default=False, repr=False)

    @property
    def kind(self) -> str:
        """Kind of the document, as in `ParsedDocument.kind`."""
        return self.file.kind

    @property
    def visible_text(self) -> str:
        """The text without its markup, as it is encoded and searched for keywords."""
        return visible(self.text, self.hidden)


@dataclass(frozen=True)
class Gap:
    """Text that the index does not store, between two passages of a document or before the first.

    Passages leave out only white space, marks (a code fence, the ruler of a table) and metadata (front matter), so a
    gap contains nothing that a query could match.

    Attributes:
        start, end: half-open span of the document's text.
        breaks: number of line breaks in the gap; None if unknown.
        blank: True if the gap is known to contain white space only.
    """

    start: int
    end: int
    breaks: int | None
    blank: bool


@dataclass(frozen=True)
class DocumentText:
    """Text of a document as far as the index stores it: up to the end of the last passage.

    Attributes:
        document_id: ID of the document, valid for this `generation`.
        document, path, kind, title, metadata: as in a `Hit`.
        changed: status of the file since it was indexed: "" for unchanged, "changed" or "gone".
        text: the passages joined, so that `document.text[passage.start:passage.end] == passage.text`. A gap is filled
            with its line breaks, if their number is known, then with spaces.
        passages: passages in the order of the text; they overlap if the index was built with overlap.
        gaps: spans of `text` that are in no passage, in order.
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
        documents: number of documents with this value.
        where: filter that exactly these documents pass.
    """

    value: str
    documents: int
    where: str


@dataclass(frozen=True)
class Facet:
    """Most frequent values of a field that can narrow a search.

    Attributes:
        field: "kind", "folder", or a name from the metadata or from annotations.
        documents: number of documents that have a value.
        values: most frequent first.
        others: number of further values, which are not listed.
    """

    field: str
    documents: int
    values: tuple[FacetValue, ...]
    others: int
