"""Documents and passages, the output of the corpus stage; and annotations that models add to passages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from search.errors import quoted
from search.records.visible_text import Spans, visible

# Maximum nesting of metadata; deeper values could not be printed.
DEEPEST = 50


@dataclass(frozen=True)
class LineMap:
    """Mapping from offsets of a document's text to lines of its source file.

    Attributes:
        offsets: increasing offsets into the text; the first is 0.
        lines: for each offset, the 1-based source line of the text that begins there.
        whole: True if the document is one record of a file, such as a CSV row. Every span then has the lines of the
            whole record, `lines[0]` to `lines[-1]`.
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
    """Part of a document under one heading.

    `[start, end)` runs from the heading's first character to the next heading (of any level) or the
    end of the text; text before the first heading is a section with an empty trail.
    `trail` holds the headings from the outermost to this one.
    """

    start: int
    end: int
    trail: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParsedDocument:
    """One file, or one record of a JSONL or CSV file or of a mailbox, and its extracted text.

    Attributes:
        path: relative to the indexed folder, with forward slashes. Bytes that are not valid in the
            file system's encoding are kept as surrogates (PEP 383).
        record: 1-based number of the record, message or attachment in its file; 0 when the document is the whole file.
        kind: one of `search.ranking.where.KINDS`: "markdown", "pdf", "text" and so on.
        text: the extracted text; passages are spans of it. For text formats, the whole decoded file.
        title: title in the metadata; else the first heading; else the file's name.
        metadata: JSON-compatible values: front matter, field list, other columns or keys.
        sections: in order, without overlap; text outside of them (front matter) is metadata and in no passage.
        lines: the source line of each offset of the text.
        marks: start and end offsets of the markup that the parser reports, alternating; `search.corpus.markup`
            finds further markup.
        pages: for a format with pages, the start offset of each page; the first is 0.
        apart: start and end offsets, alternating, of text that is never in one passage with other text: navigation,
            page headers and footers.
        tables: three offsets for each table with a header row: start and end of that row, end of the table; sorted by
            the end of the row. If a table is cut, each of its passages is encoded with the header row.
        records: number of entries, conversations or other records that its text plainly consists of; 0 for other texts.
        language: ISO 639-1 code, as from `search.languages`; "" if it is not known.
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
    records: int = 0
    language: str = ""

    @property
    def name(self) -> str:
        """`path`, or `path#record` for one record of a file: unique within a folder."""
        return f"{self.path}#{self.record}" if self.record else self.path

    def page(self, offset: int) -> int | None:
        """1-based page of the character at an offset; None for a format without pages."""
        return bisect_right(self.pages, offset) or None


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of a document: `document.text[start:end] == text`.

    Attributes:
        heading: the headings above the passage, outermost first: "Keys > Rotation". A passage that covers two sections
            names both: "Keys > Rotation · Backup".
        context: text that is encoded before the passage (title, headings, a table's header row); "" for none.
        line_start, line_end: 1-based lines of the source file, both included.
        n_tokens: tokens of context and text together, special tokens included; 0 if `vector` is given.
        page: 1-based page, slide, sheet or cell on which the passage begins; None for a format without pages.
        hidden: markup spans of `text`, which are neither encoded nor counted as words.
        vector: its embedding, if a program gives it: unit length, little-endian float32; b"" to encode it.
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
    vector: bytes = b""

    @property
    def visible_text(self) -> str:
        """The text without its markup, as it is encoded after the context."""
        return visible(self.text, self.hidden)

    @property
    def encoded(self) -> str:
        """Input of the encoder: the context, a line break, the text without its markup."""
        return f"{self.context}\n{self.visible_text}" if self.context else self.visible_text


PLAIN_KINDS = tuple("markdown rst org asciidoc tex code text".split())  # their text is the decoded file
CONVERTED_KINDS = ("html", "csv", "jsonl", "mail", "man", "subtitles", "ics", "vcf")
"""Kinds that are converted to text, with line numbers of the file."""
BUILT_IN_FIELDS = ("path", "name", "kind", "title", "heading", "page", "size", "mtime", "text")
"""Filter names of a document's or passage's own fields; no annotation can use them."""


OCR_PAGES = "ocr_pages"
"""Name of the metadata that lists the pages whose text was recognised in a picture."""


@dataclass(frozen=True)
class NamedDocument:
    """Name, title and ID of a document in an index.

    Attributes:
        id: valid for one `Index.generation`.
        name: path within the indexed folder, with forward slashes; "table.csv#12" for record 12 of a file.
        title: the document's own title; "" for none.
        passage_id: ID of its first passage.
    """

    id: int
    name: str
    title: str
    passage_id: int = 0


@dataclass(frozen=True)
class Mention:
    """Annotated span of a document: an entity or a word.

    Attributes:
        field: kind of the span, "person" for instance.
        text: `document.text[start:end]`.
        start, end: half-open span in the document's text.
        score: probability of the annotation according to the model, in [0, 1].
    """

    field: str
    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Annotation:
    """Annotation of one passage by one annotator.

    Attributes:
        values: field -> a text, number or truth value, or a list of them; a field without a value is left out.
        spans: spans of the document that the values come from; () if they apply to the whole passage.
    """

    passage_id: int
    values: Mapping[str, Any]
    spans: tuple[Mention, ...] = ()


@dataclass(frozen=True)
class Annotator:
    """An annotator of an index, and its progress.

    Attributes:
        made_with: model and settings of the annotator; annotations with different settings are never mixed. "command"
            is the command that annotates the remaining passages, "called" the display name of the model.
        fields: names under which filters find the values.
        annotated: number of passages that have an annotation, with or without values.
        passages: number of passages in the index.
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
        """Progress as text: "ner: 120 of 140 passages"."""
        done = "all" if self.complete else f"{self.annotated:,} of"
        return f"{self.name}: {done} {self.passages:,} passage{'' if self.passages == 1 else 's'}"


_KEYWORDS = ("and", "or", "not", "in", "has")
_SPECIAL = frozenset('"$`\\!')  # special within double quotes in some shell


def in_filter(name: str, value: str) -> str:
    """Return a filter for one value of a field.

    Example:
        >>> in_filter("person", "Ada Lovelace"), in_filter("not", "don't")
        ("person='Ada Lovelace'", "'not'='don''t'")
    """
    return f"{field_in_filter(name)}={field_in_filter(value)}"


def field_in_filter(name: str) -> str:
    """Quote a field's name or a value for a filter; a plain word stays as it is."""
    if name.isidentifier() and name.casefold() not in _KEYWORDS:
        return name
    return "'" + name.replace("'", "''") + "'"


def filter_argument(text: str) -> str:
    """Quote a filter as one argument of a shell command, if possible in double quotes, which all shells accept."""
    return quoted(text) if _SPECIAL.intersection(text) or not text.isprintable() else f'"{text}"'
