"""Documents and passages: what the corpus stage makes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class LineMap:
    """Which line of the source file an offset of a document's text stands on.

    Attributes:
        offsets: increasing offsets into the text, the first one 0.
        lines: for each offset, the 1-based line of the source file where the text from there on stands.
        whole: the document is one record of a file (a CSV row, say): every span of it
            is reported as the record's whole line range, `lines[0]` to `lines[-1]`.
    """

    offsets: tuple[int, ...]
    lines: tuple[int, ...]
    whole: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (1-based, both included) of the characters [start, end)."""
        if self.whole:
            return self.lines[0], self.lines[-1]
        first = self.lines[bisect_right(self.offsets, start) - 1]
        last = self.lines[bisect_right(self.offsets, max(start, end - 1)) - 1]
        return first, max(first, last)


@dataclass(frozen=True)
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
        kind: "markdown", "rst", "html", "csv", "jsonl", "code", "text", "pdf", "docx", "pptx", "xlsx" or "epub".
        text: what passages are spans of. For text formats, the decoded file itself.
        title: from the metadata, the first heading, or the file's name.
        metadata: JSON-compatible values: front matter, field list, other columns or keys.
        sections: in order, without overlap; what lies outside (front matter) is metadata, not passages.
        lines: where each offset of the text stands in the source file.
        pages: for a format with pages, the offset in the text where each of them begins, the first one 0.
        encoding: the character encoding the file was decoded from.
    """

    path: str
    kind: str
    text: str
    title: str
    lines: LineMap
    sections: tuple[Section, ...]
    record: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    pages: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """`path`, or `path#record` for one record of a file: unique within a folder."""
        return f"{self.path}#{self.record}" if self.record else self.path

    def page(self, offset: int) -> int | None:
        """The 1-based page on which a character stands; None for a format without pages."""
        return bisect_right(self.pages, offset) or None


@dataclass(frozen=True)
class Passage:
    """A span of a document: `document.text[start:end] == text`.

    Attributes:
        heading: the headings above the passage, outermost first, joined with " > ".
        context: what is encoded before the text (title and headings); "" for none.
        line_start, line_end: 1-based lines of the source file, both included.
        n_tokens: tokens of context and text together, special tokens included.
        page: 1-based page, slide or sheet on which the passage begins; None for a format without.
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
