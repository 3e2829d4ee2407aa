"""Documents and passages, what the corpus stage makes; and what models say of passages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from search.errors import quoted
from search.records.shown import Spans, visible

# How deep metadata may be nested: nobody's is, and what is deeper no program can print.
DEEPEST = 50


@dataclass(frozen=True)
class LineMap:
    """Which line of the source file an offset of a document's text stands on.

    Attributes:
        offsets: increasing offsets into the text, the first one 0.
        lines: for each offset, the 1-based line of the source file where the text from there on stands.
        whole: the document is one record of a file (a CSV row, say): every span of it
            is reported as the record's whole line range, `lines[0]` to `lines[-1]`.
    """

    offsets: Sequence[int]
    lines: Sequence[int]
    whole: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (1-based, both included) of the characters [start, end)."""
        if self.whole:
            return self.lines[0], self.lines[-1]
        first = self.lines[bisect_right(self.offsets, start) - 1]
        last = self.lines[bisect_right(self.offsets, max(start, end - 1)) - 1]
        return first, max(first, last)


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document under one heading.

    `[start, end)` runs from the heading's first character to the next heading (of any level) or the
    end of the text; text before the first heading is a section with an empty trail.
    `trail` holds the headings from the outermost to this one.
    """

    start: int
    end: int
    trail: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """One file, or one record of a JSONL or CSV file, and its extracted text.

    Attributes:
        path: relative to the indexed folder, with forward slashes. Bytes that are not valid in the
            file system's encoding are kept as surrogates (PEP 383).
        record: 1-based number of the record in its file; 0 when the document is the whole file.
        kind: "markdown", "rst", "html", "csv", "jsonl", "code", "text", "pdf", "docx", "pptx", "xlsx", "epub" or
            "notebook".
        text: what passages are spans of. For text formats, the decoded file itself.
        title: from the metadata, the first heading, or the file's name.
        metadata: JSON-compatible values: front matter, field list, other columns or keys.
        sections: in order, without overlap; what lies outside (front matter) is metadata, not passages.
        lines: where each offset of the text stands in the source file.
        marks: the offsets in the text where its markup begins and ends, in turn, as far as its parser knows them; what
            else a reader does not read as words `search.corpus.markup` finds.
        pages: for a format with pages, the offset in the text where each of them begins, the first one 0.
        apart: the offsets in the text where what is set apart from it begins and ends, in turn: navigation, a page's
            head and foot. It shares no passage with the rest.
        tables: of each table with a header row the offsets in the text where that row begins and ends and where the
            table ends, in turn; by where the header ends. Of a table that is cut each passage is encoded with it.
    """

    path: str
    kind: str
    text: str
    title: str
    lines: LineMap
    sections: tuple[Section, ...]
    record: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    marks: Sequence[int] = ()
    apart: Sequence[int] = ()
    tables: Sequence[int] = ()

    @property
    def name(self) -> str:
        """`path`, or `path#record` for one record of a file: unique within a folder."""
        return f"{self.path}#{self.record}" if self.record else self.path

    def page(self, offset: int) -> int | None:
        """The 1-based page on which a character stands; None for a format without pages."""
        return bisect_right(self.pages, offset) or None


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of a document: `document.text[start:end] == text`.

    Attributes:
        heading: the headings above the passage, outermost first, joined with " > "; of several sections the last
            part names each, joined with " · ".
        context: what is encoded before the text (title, headings, a table's header row); "" for none.
        line_start, line_end: 1-based lines of the source file, both included.
        n_tokens: tokens of context and text together, special tokens included.
        page: 1-based page, slide, sheet or cell on which the passage begins; None for a format without.
        hidden: the spans of `text` that are markup: neither encoded nor counted as words.
    """

    start: int
    end: int
    text: str
    heading: str
    context: str
    line_start: int
    line_end: int
    n_tokens: int
    page: int | None = None
    hidden: Spans = ()

    @property
    def shown(self) -> str:
        """The text without its markup: what is encoded behind the context."""
        return visible(self.text, self.hidden)

    @property
    def encoded(self) -> str:
        """All that is encoded: the context, a line break, the text without its markup."""
        return f"{self.context}\n{self.shown}" if self.context else self.shown


PLAIN_KINDS = ("markdown", "rst", "code", "text")  # of documents whose text is that of the file
BUILT_IN_FIELDS = ("path", "name", "kind", "title", "heading", "page", "size", "mtime")
"""Names that a filter takes for a document's or passage's own; no annotation can have them."""


@dataclass(frozen=True)
class NamedDocument:
    """A document that can be chosen.

    Attributes:
        id: in the index, as long as that is of the same `Index.generation`.
        name: within the indexed folder, with forward slashes; "table.csv#12" for record 12 of a file.
        title: of its own; "" for none.
    """

    id: int
    name: str
    title: str


@dataclass(frozen=True)
class Mention:
    """A span that an annotation is about: an entity, a word.

    Attributes:
        field: what it is, "person" for instance.
        text: `document.text[start:end]`.
        start, end: half-open span in the document's text.
        score: of the model that found it, in [0, 1].
    """

    field: str
    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Annotation:
    """What one annotator says of one passage.

    Attributes:
        values: field -> a text, number, or truth value, or a list of them; a field without a value is left out.
        spans: where in the document the values were found; () where they are of the whole passage.
    """

    passage_id: int
    values: Mapping[str, Any]
    spans: tuple[Mention, ...] = ()


@dataclass(frozen=True)
class Annotator:
    """Who annotated the passages of an index, and how far that is done.

    Attributes:
        made_with: what made the annotations; those of another maker are never mixed with them. "command" is what
            goes on with it where passages lack an annotation, "called" the maker's name.
        fields: the names under which filters find the values.
        annotated: passages that have an annotation, with or without values.
        passages: how many the index holds.
    """

    name: str
    made_with: Mapping[str, Any]
    fields: tuple[str, ...]
    annotated: int
    passages: int

    @property
    def complete(self) -> bool:
        return self.annotated == self.passages

    @property
    def progress(self) -> str:
        """As it is said to people: "ner: 120 of 140 passages"."""
        done = "all" if self.complete else f"{self.annotated:,} of"
        return f"{self.name}: {done} {self.passages:,} passage{'' if self.passages == 1 else 's'}"


_KEYWORDS = ("and", "or", "not", "in", "has")
_SPECIAL = frozenset('"$`\\!')  # within double quotes, to one shell or another


def in_filter(name: str, value: str) -> str:
    """The condition that a field has a value.

    Example:
        >>> in_filter("person", "Ada Lovelace"), in_filter("not", "don't")
        ("person='Ada Lovelace'", "'not'='don''t'")
    """
    return f"{field_in_filter(name)}={field_in_filter(value)}"


def field_in_filter(name: str) -> str:
    """A field's name, in quotes where it is no plain word; a value likewise."""
    if name.isidentifier() and name.casefold() not in _KEYWORDS:
        return name
    return "'" + name.replace("'", "''") + "'"


def filter_argument(text: str) -> str:
    """A filter as one argument of a command: in double quotes, which every shell takes, where it can be."""
    return quoted(text) if _SPECIAL.intersection(text) or not text.isprintable() else f'"{text}"'
