"""Reader for OpenDocument: texts, sheets and slides of LibreOffice, as zip archives or as one XML file.

It runs in the child process of `search.corpus.reader`, like the readers in `search.corpus.office`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from search.corpus.office import archive_of, local, write_sheet
from search.corpus.sources import Reason, Skipped
from search.corpus.writing import Writing
from search.errors import ReadError
from search.records.documents import ParsedDocument

Element = ElementTree.Element

# Deleted text, comments, tables of contents, alternative texts, and fields that show a page's number.
_UNSEEN = frozenset(
    "tracked-changes annotation table-of-content title desc page-number forms event-listeners shapes"
    " index-title-template sequence-decls".split()
)
_PROPERTIES = {"initial-creator": "author", "creation-date": "created", "date": "modified"}
_PROPERTIES |= {name: name for name in ("subject", "description", "keyword")}
_SPACE = re.compile(r"[ \t\r\n]+")
_MOST_SPACES = 100


def document(path: str, raw: bytes, kind: str) -> list[ParsedDocument | Skipped]:
    """Read a text, a spreadsheet or a presentation. Notes come at the end, speaker notes below their slide."""
    content, properties = _roots(path, raw)
    writing = Writing(path, kind, len(raw))
    for body in content.iterfind("{*}body/*"):
        _Body(writing).write(body)
    metadata = {local(item): item.text or "" for item in properties.iterfind(".//{*}meta/*")}
    values = {key: metadata.get(name, "") for name, key in _PROPERTIES.items()}
    return [writing.done(metadata.get("title", ""), values)]


def _roots(path: str, raw: bytes) -> tuple[Element, Element]:
    """Return the root elements of content and properties; in a flat file both are the same."""
    if raw.lstrip().startswith(b"<"):
        root = ElementTree.fromstring(raw)
        return root, root
    archive = archive_of(path, raw)
    names = archive.namelist()
    manifest = "META-INF/manifest.xml"
    if manifest in names and b"encryption-data" in archive.read(manifest):
        raise ReadError(path, Reason.ENCRYPTED, "password-protected")
    content = ElementTree.fromstring(archive.read("content.xml"))
    return content, ElementTree.fromstring(archive.read("meta.xml")) if "meta.xml" in names else content


class _Body:
    """Adds the elements of a body to a document."""

    def __init__(self, writing: Writing) -> None:
        self._writing = writing
        self._notes: list[str] = []
        self._is_sheet = False

    def write(self, body: Element) -> None:
        self._is_sheet = local(body) == "spreadsheet"
        self._children(body, 2)
        for note in self._notes:
            self._writing.paragraph(note)

    def _children(self, element: Iterable[Element], line_ends: int) -> None:
        for child in element:
            name = local(child)
            if name in ("h", "p"):
                self._paragraph(child, line_ends)
            elif name == "table":
                self._table(child)
            elif name == "page":
                self._slide(child)
            elif name not in _UNSEEN:
                self._children(child, 1 if name == "list" else line_ends)

    def _paragraph(self, element: Element, line_ends: int) -> None:
        words = self._words(element).strip()
        if local(element) == "h":
            self._writing.heading(words, int(_value(element, "outline-level") or 1))
        else:
            self._writing.add(words, line_ends)

    def _words(self, element: Element) -> str:
        """Return the text of a paragraph; text boxes in it become lines."""
        pieces = [_SPACE.sub(" ", element.text or "")]
        for child in element:
            name = local(child)
            if name == "s":
                pieces.append(" " * min(int(_value(child, "c") or 1), _MOST_SPACES))
            elif name == "note":
                pieces.append(self._note(child))
            elif name not in _UNSEEN:
                words = {"tab": "\t", "line-break": "\n"}.get(name) or self._words(child)
                pieces.append(f"\n{words}\n" if name in ("p", "h") else words)
            pieces.append(_SPACE.sub(" ", child.tail or ""))
        return "".join(pieces)

    def _note(self, element: Element) -> str:
        citation, *bodies = (self._words(child).strip() for child in element)
        self._notes += [f"[{citation}] {body}" for body in bodies]
        return f"[{citation}]"

    def _table(self, table: Element) -> None:
        if self._is_sheet:
            self._writing.page()
            self._writing.section(_value(table, "name"), 2)
        write_sheet(self._writing, self._rows(table))

    def _rows(self, table: Element) -> Iterator[tuple[list[str], bool]]:
        """Yield each row: its cells, and True if they look like column names. Repeated empty rows are yielded once."""
        for line in table.iter():
            if local(line) != "table-row":
                continue
            cells = [child for child in line if local(child).endswith("table-cell")]
            words = [(self._words(cell).strip(), _repeated(cell, "columns")) for cell in cells]
            while words and not words[-1][0]:  # thousands of empty cells may follow the last filled one
                words.pop()
            row = [word for word, times in words for _ in range(times)]
            types = {_value(cell, "value-type") for cell in cells} - {""}
            is_header = self._is_sheet and len(row) > 1 and types == {"string"}
            for _ in range(_repeated(line, "rows") if row else 1):
                yield row, is_header

    def _slide(self, slide: Element) -> None:
        self._writing.page()
        titles = [shape for shape in slide if _value(shape, "class") == "title"]
        heading = " ".join(self._words(title) for title in titles)
        if not self._writing.heading(heading, 1):
            self._writing.section("", 1)
        notes = slide.findall("{*}notes")
        for shape in slide:
            if shape not in titles and shape not in notes:
                self._children([shape], 2)
        for note in notes:
            self._writing.section("Speaker notes", 2)
            self._children(note, 2)


def _value(element: Element, name: str) -> str:
    """Return an attribute, whatever its namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _repeated(element: Element, unit: str) -> int:
    return int(_value(element, f"number-{unit}-repeated") or 1)
