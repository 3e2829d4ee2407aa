"""Builds the text of a document piece by piece, with its headings and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from search.corpus.sources import MAX_BYTES, Reason, file_stem, most_characters
from search.corpus.text import Heading, line_map, one_line, sections, whole_characters
from search.errors import ReadError
from search.records.documents import LineMap, ParsedDocument

# Characters that are removed: controls except tab and line end, and Unicode's noncharacters.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

# Titles that programs write by themselves.
_NO_TITLE = ("untitled", "(anonymous)", "(unspecified)", "powerpoint presentation", "title")
_MADE_BY = re.compile(r"\A(?:Microsoft (?:Office )?(?:Word|PowerPoint|Excel)) - ", re.IGNORECASE)


class Writing:
    """Builder of a document: text is added piece by piece, in order.

    Args:
        path, kind: path and kind of the document.
        n_bytes: size of its file, which limits the text.

    Attributes:
        line: source line of the next pieces; 0 to report the line numbers of the text itself.
    """

    def __init__(self, path: str, kind: str, n_bytes: int) -> None:
        self._path, self._kind = path, kind
        self._most = min(MAX_BYTES, most_characters(kind, n_bytes))
        self._pieces: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[int] = []
        self._marks: list[int] = []
        self._tables: list[int] = []
        self.line = 0
        self._lines: tuple[list[int], list[int]] = [], []
        self._start = 0  # of the last piece
        # What begins with the next piece: pages, and headings as (level, words).
        self._next_pages = 0
        self._next_headings: list[tuple[int, str]] = []

    def add(self, piece: str, line_ends: int, is_mark: bool = False) -> bool:
        """Add a piece of text, `line_ends` lines below the previous one; return False if it is empty.

        With `is_mark`, the piece is hidden like markup, for example a page number.

        Raises:
            ReadError: "too large".
        """
        piece = "\n".join(line.rstrip(" \t") for line in clean(piece).split("\n")).strip("\n")
        if not piece.strip():
            return False
        if self._length:
            piece = "\n" * line_ends + piece
        self._start = start = self._length + (line_ends if self._length else 0)
        self._length += len(piece)
        if self._length > self._most:
            raise ReadError(self._path, Reason.TOO_LARGE, f"more than {self._most:,} characters of text")
        if self.line:
            self._lines[0].append(start)
            self._lines[1].append(self.line)
        self._pages += [start] * self._next_pages
        self._headings += [Heading(start, level, words) for level, words in self._next_headings]
        self._next_pages, self._next_headings = 0, []
        self._pieces.append(piece)
        self._marks += (start, self._length) if is_mark else ()
        return True

    def row_of_table(self, is_header: bool) -> None:
        """Mark the last piece as the header of a table, or as a row below it."""
        if is_header:
            self._tables += (self._start, self._length, self._length)
        else:
            self._tables[-1] = self._length

    def paragraph(self, piece: str) -> bool:
        """Add a piece after a blank line."""
        return self.add(piece, 2)

    def group(self, lines: Iterable[str]) -> None:
        """Add lines, with a blank line before the first one that is not empty."""
        line_ends = 2
        for line in lines:
            if self.add(line, line_ends):
                line_ends = 1

    def heading(self, words: str, level: int) -> bool:
        """Add a paragraph that is a heading; level 1 is the outermost, 0 the title of the document."""
        words = one_line(clean(words))
        if not words:
            return False
        self.section(words, level)
        return self.paragraph(words)

    def section(self, words: str, level: int) -> None:
        """Begin a section: its heading may be missing in the text, and is "" if there is none."""
        self._next_headings.append((level, one_line(clean(words))))

    def page(self) -> None:
        """Start a new page."""
        self._next_pages += 1

    def done(self, title: str = "", metadata: Mapping[str, Any] | None = None) -> ParsedDocument:
        """Return the finished document. Its default title is the first heading of level 0 or 1."""
        text = "".join(self._pieces)
        headings = (h.words for h in self._headings if h.level <= 1 and h.words)
        return ParsedDocument(
            path=self._path,
            kind=self._kind,
            text=text,
            title=real_title(title) or next(headings, "") or file_stem(self._path),
            lines=LineMap(*self._lines) if self.line else line_map(text),
            sections=sections(self._headings, 0, len(text)),
            metadata=metadata_values(metadata or {}),
            pages=(*self._pages, *[len(text)] * self._next_pages),
            marks=tuple(self._marks),
            tables=tuple(self._tables),
        )


def metadata_values(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Join non-empty values as lines of text."""
    values = {name: one_line(clean(str(value or ""))) for name, value in metadata.items()}
    return {name: value for name, value in values.items() if value}


def row(cells: Iterable[str]) -> str:
    """Join the cells of a table row with tabs."""
    return "\t".join(cell and one_line(clean(cell)) for cell in cells).rstrip("\t")


def clean(piece: str) -> str:
    """Normalise line ends to "\n" and remove characters that are not text."""
    return _NO_TEXT.sub("", _LINE_END.sub("\n", whole_characters(piece)))


def real_title(title: str) -> str:
    """Return a title from metadata; "" for a placeholder that a program wrote.

    Example:
        >>> real_title("Microsoft Word - Report.doc"), real_title("Untitled")
        ('Report.doc', '')
    """
    title = _MADE_BY.sub("", one_line(clean(title)))
    return "" if title.lower() in _NO_TITLE else title
