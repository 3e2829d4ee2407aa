"""Readers for Word, RTF, PowerPoint, Excel and EPUB, using mammoth, striprtf, python-pptx, openpyxl and `html`.

They run in the child process of `search.corpus.reader`, which limits time and memory and reports all other errors as
"damaged".
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from search.corpus import html
from search.corpus.sources import Reason, Skipped, most_characters
from search.corpus.text import decode, line_map
from search.corpus.writing import Writing, metadata_values, real_title, row
from search.errors import ReadError
from search.records.documents import ParsedDocument

# Office files before 2007. A newer one is wrapped in this format when a password protects it.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MARKUP = (".xml", ".xhtml", ".html", ".htm")
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


def archive_of(path: str, raw: bytes) -> zipfile.ZipFile:
    """Open a file as a zip archive."""
    if raw.startswith(_OLE) and _ENCRYPTED_PACKAGE in raw:
        raise ReadError(path, Reason.ENCRYPTED, "password-protected")
    try:
        return zipfile.ZipFile(io.BytesIO(raw))
    except zipfile.BadZipFile:
        raise ReadError(path, Reason.DAMAGED, "not a valid zip archive") from None


def _require_small(path: str, kind: str, archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Raise ReadError "too large" if unpacking a file's XML gives more than its documents may hold.

    For formats that are converted to HTML, which takes long for a text that is refused in the end.
    """
    unpacked = sum(entry.file_size for entry in archive.infolist() if entry.filename.endswith(_MARKUP))
    if unpacked > (most := most_characters(kind, n_bytes)):
        raise ReadError(path, Reason.TOO_LARGE, f"more than {most:,} characters of text")


def _properties(archive: zipfile.ZipFile) -> tuple[str, dict[str, str]]:
    """Return title and metadata of an Office file."""
    try:
        root = ElementTree.fromstring(archive.read("docProps/core.xml"))
    except (KeyError, ElementTree.ParseError):
        return "", {}
    values = {local(element): element.text or "" for element in root}
    names = ("subject", "keywords", "description", "created", "modified")
    metadata = {name: values.get(name, "") for name in names}
    return values.get("title", ""), {"author": values.get("creator", ""), **metadata}


def local(element: ElementTree.Element) -> str:
    """Return the name of an XML element without its namespace."""
    return element.tag.rpartition("}")[2]


# mammoth: a cell's text is a paragraph of its own, a footnote ends with a link back to where it belongs.
_IN_CELL = re.compile(r"(<t[dh]\b[^>]*>)<p>|</p>(?=</t[dh]>)")
_BACK_LINK = re.compile(r'\s*<a href="#[^"]*note-ref-[^"]*">↑</a>')
_STYLES = "p[style-name='Title'] => h1:fresh"


def docx(path: str, raw: bytes) -> list[ParsedDocument | Skipped]:
    """Read a Word file through mammoth's HTML. Notes come at the end; page headers and footers are left out."""
    import mammoth

    archive = archive_of(path, raw)
    _require_small(path, "docx", archive, len(raw))
    title, metadata = _properties(archive)
    result = mammoth.convert_to_html(io.BytesIO(raw), style_map=_STYLES, convert_image=lambda image: [])
    source = _BACK_LINK.sub("", _IN_CELL.sub(r"\1", result.value))
    document = html.document(path, source)
    return [
        replace(
            document,
            kind="docx",
            title=real_title(title) or document.title,
            lines=line_map(document.text),
            metadata=metadata_values(metadata),
            apart=(),
        )
    ]


_LONGEST_RTF_HEADER = 100_000
_RTF_INFO = re.compile(r"\{\\(title|author|subject) ([^{}\\]*)\}")


def rtf(path: str, raw: bytes) -> list[ParsedDocument | Skipped]:
    """Read an RTF file: its text and tables, without notes, page headers and footers, which striprtf leaves out."""
    from striprtf.striprtf import rtf_to_text

    if not raw.startswith(b"{\\rtf"):
        raise ReadError(path, Reason.DAMAGED, "not an RTF file")
    source = raw.decode("latin-1")
    writing = Writing(path, "rtf", len(raw))
    writing.paragraph(rtf_to_text(source, errors="replace"))  # type: ignore[no-untyped-call, unused-ignore]
    metadata = dict(_RTF_INFO.findall(source[:_LONGEST_RTF_HEADER]))
    return [writing.done(metadata.pop("title", ""), metadata)]


def pptx(path: str, raw: bytes) -> list[ParsedDocument | Skipped]:
    """Read a PowerPoint file: one page per slide, with its title as heading, its shapes and its speaker notes."""
    from pptx import Presentation

    title, metadata = _properties(archive_of(path, raw))
    writing = Writing(path, "pptx", len(raw))
    for slide in Presentation(io.BytesIO(raw)).slides:
        writing.page()
        heading = slide.shapes.title
        if heading is None or not writing.heading(heading.text_frame.text, 1):
            writing.section("", 1)
        for shape in slide.shapes:
            if heading is None or shape.shape_id != heading.shape_id:
                _write_shape(writing, shape)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
            writing.section("Speaker notes", 2)
            writing.paragraph(notes.text)
    return [writing.done(title, metadata)]


def _write_shape(writing: Writing, shape: Any) -> None:
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
        for member in shape.shapes:
            _write_shape(writing, member)
    elif shape.has_text_frame:
        writing.group(paragraph.text for paragraph in shape.text_frame.paragraphs)
    elif getattr(shape, "has_table", False):
        writing.group(row(cell.text for cell in line.cells) for line in shape.table.rows)
    elif getattr(shape, "has_chart", False) and shape.chart.has_title:
        writing.paragraph(shape.chart.chart_title.text_frame.text)


_DIGITS = ".15g"  # Excel shows no more digits


def xlsx(path: str, raw: bytes) -> list[ParsedDocument | Skipped]:
    """Read an Excel file: one page and section per sheet, one line per row, tabs between cells.

    A cell has the value it showed when the file was saved; a formula has its result. Hidden sheets, rows and columns
    are included; charts, drawings and comments are not.
    """
    from openpyxl import load_workbook

    title, metadata = _properties(archive_of(path, raw))
    book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
    writing = Writing(path, "xlsx", len(raw))
    for name in book.sheetnames:
        writing.page()
        writing.section(name, 2)  # level 2, so that no sheet's name becomes the document's title
        if hasattr(sheet := book[name], "reset_dimensions"):  # a sheet that is one chart has no cells
            sheet.reset_dimensions()  # a sheet's own statement of its size is often wrong
            lines = sheet.iter_rows()
            write_sheet(writing, (([*map(_cell_text, line)], _is_header(line)) for line in lines))
    return [writing.done(title, metadata)]


def write_sheet(writing: Writing, rows: Iterable[tuple[list[str], bool]]) -> None:
    """Add the rows of a sheet: each has its cells, and True if they look like column names."""
    apart, in_table = True, False
    for cells, is_header in rows:
        if any(cells):
            added = writing.add(row(cells), 2 if apart else 1)
            in_table = added and is_header if apart else in_table
            if in_table:
                writing.row_of_table(is_header=apart)
        apart = not any(cells)


def _is_header(line: Any) -> bool:
    """Return True if a first row looks like column names: several cells, all of them text."""
    values = [cell.value for cell in line if cell.value is not None]
    return len(values) > 1 and all(isinstance(value, str) for value in values)


def _cell_text(cell: Any) -> str:
    """Return a cell's value as text; a percentage ends with "%"."""
    value = cell.value
    if isinstance(value, float):
        is_share = "%" in (cell.number_format or "")
        return format(100 * value, _DIGITS) + "%" if is_share else format(value, _DIGITS)
    return "" if value is None else str(value).removesuffix(" 00:00:00")


_CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_BOOK_METADATA = {"creator": "author", "date": "created"}
_BOOK_METADATA |= {name: name for name in ("subject", "description", "publisher", "language")}
# In XML, <title/> is complete. HTML parsers take it for a start tag, and all that follows for its content.
_SELF_CLOSING = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([A-Za-z][\w:-]*)"
    r"((?:\s[^<>]*?)?)/>"
)


def epub(path: str, raw: bytes) -> list[ParsedDocument | Skipped]:
    """Read an EPUB book: its chapters in order, each as HTML. A chapter without a heading has its title as heading."""
    archive = archive_of(path, raw)
    _require_small(path, "epub", archive, len(raw))
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(container.iterfind(".//{*}rootfile")).get("full-path", "")
    book = ElementTree.fromstring(archive.read(package))
    chapters = list(_spine(posixpath.dirname(package), book))
    title, metadata = _book_properties(book)
    writing = Writing(path, "epub", len(raw))
    unread = [name for name in chapters if not _write_chapter(writing, archive, name, title)]
    document = writing.done(title, metadata)
    if not unread:
        return [document]
    left_out = f"could not read {len(unread)} of {len(chapters)} chapters; the first is '{unread[0]}'"
    return [document, Skipped(path, Reason.DAMAGED, left_out)]


def _spine(folder: str, book: ElementTree.Element) -> Iterator[str]:
    """Yield the archive entries of the chapters, in order."""
    items = {item.get("id"): item for item in book.iterfind(".//{*}item")}
    for reference in book.iterfind(".//{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _CHAPTERS:
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))


def _book_properties(book: ElementTree.Element) -> tuple[str, dict[str, str]]:
    properties = defaultdict[str, list[str]](list)
    for item in book.iter():
        if "purl.org/dc/elements" in item.tag:
            properties[local(item)].append((item.text or "").strip())
    metadata = {key: ", ".join(filter(None, properties[name])) for name, key in _BOOK_METADATA.items()}
    return next(iter(properties["title"]), ""), metadata


def _write_chapter(writing: Writing, archive: zipfile.ZipFile, name: str, book_title: str) -> bool:
    """Add a chapter; return False if it is missing or damaged."""
    try:
        source = _SELF_CLOSING.sub(r"<\1\2></\1>", decode(name, archive.read(name)))
        chapter = html.document(name, source)
    except ReadError as error:
        return error.reason in (Reason.NO_TEXT, Reason.EMPTY)  # a cover, say
    except (KeyError, zipfile.BadZipFile):
        return False
    titles = (book_title, posixpath.splitext(posixpath.basename(name))[0])
    has_headings = any(section.trail for section in chapter.sections)
    untitled = () if has_headings or chapter.title in titles else (chapter.title,)
    for section in chapter.sections:
        trail = section.trail or untitled
        writing.section(trail[-1] if trail else "", max(len(trail), 1))
        writing.paragraph(chapter.text[section.start : section.end])
    return True
