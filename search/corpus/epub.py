"""EPUB: the chapters in the order of reading, each read as the HTML that it is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import unquote

from search.corpus import html
from search.corpus.archive import Archive, attribute, child, local
from search.corpus.files import Reason
from search.corpus.text import decode, one_line
from search.corpus.writing import Extracted, Writing
from search.errors import ReadError

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_METADATA = {
    "creator": "author",
    "subject": "subject",
    "description": "description",
    "publisher": "publisher",
    "date": "created",
    "language": "language",
}

# <title/> is whole in XML. In HTML it has only begun, and all that follows belongs to it.
_CLOSED_AT_ONCE = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([A-Za-z][\w:-]*)"
    r"((?:\s[^<>]*?)?)/>"
)


def extract(path: str, raw: bytes) -> Extracted:
    """An EPUB book. A chapter without a heading has the words of the table of contents as one.

    Raises:
        ReadError: "damaged", "encrypted" (protected by DRM) or "too large when unpacked".
    """
    archive = Archive(path, raw)
    root = archive.xml(_CONTAINER)
    package = next((attribute(file, "full-path") for file in root.iter("{*}rootfile")), "")
    book = archive.xml(package)
    items = {attribute(item, "id"): item for item in book.iter("{*}item")}
    chapters = list(_spine(package, book, items))
    if not any(name in archive for name in chapters):
        raise ReadError(path, Reason.DAMAGED, "it names no chapter that is in it")
    if _encrypted(archive) & {name.lower() for name in chapters}:
        raise ReadError(path, Reason.ENCRYPTED, "it is protected against copying")
    labels = _labels(archive, package, items)
    writing = Writing(path)
    unread = [name for name in chapters if not _write(writing, archive, name, labels.get(name, ""))]
    left_out = f"{len(unread)} of {len(chapters)} chapters, the first is '{unread[0]}'" if unread else ""
    if len(unread) == len(chapters):
        raise ReadError(path, Reason.DAMAGED, left_out)
    return writing.done(*_title_and_metadata(book), (Reason.DAMAGED if unread else "", left_out))


def _target(base: str, reference: str) -> str:
    """The name in the archive that a reference in the entry `base` means."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path)) if path else ""


def _spine(package: str, book: Any, items: dict[str, Any]) -> Iterator[str]:
    """The entries that hold the chapters, in order."""
    for reference in book.iter("{*}itemref"):
        item = items.get(attribute(reference, "idref"))
        if item is not None and attribute(item, "media-type") in _CHAPTERS:
            yield _target(package, attribute(item, "href"))


def _encrypted(archive: Archive) -> set[str]:
    """Entries that are encrypted, in small letters. Fonts often are, in books that can be read."""
    if _ENCRYPTION not in archive:
        return set()
    root = archive.xml(_ENCRYPTION)
    return {unquote(attribute(item, "URI")).lower() for item in root.iter("{*}CipherReference")}


def _labels(archive: Archive, package: str, items: dict[str, Any]) -> dict[str, str]:
    """Entry -> what the table of contents first calls it; empty without a table that can be read."""
    labels: dict[str, str] = {}
    for item in items.values():
        is_nav = "nav" in attribute(item, "properties").split()
        if not is_nav and attribute(item, "media-type") != "application/x-dtbncx+xml":
            continue
        name = _target(package, attribute(item, "href"))
        try:
            table = archive.xml(name, recover=True)
        except ReadError:
            continue
        for target, label in _contents(table):
            labels.setdefault(_target(name, target), one_line(unescape(label)))
    return labels


def _contents(table: Any) -> Iterator[tuple[str, str]]:
    """Targets and labels of a table of contents: links, or the points of the older kind."""
    for link in table.iter("{*}a"):
        yield attribute(link, "href"), "".join(link.itertext())
    for point in table.iter("{*}navPoint"):
        label, content = child(point, "navLabel", "text"), child(point, "content")
        if label is not None and content is not None:
            yield attribute(content, "src"), label.text or ""


def _write(writing: Writing, archive: Archive, name: str, label: str) -> bool:
    """Add a chapter. False if it cannot be read."""
    try:
        decoded = decode(name, archive.read(name))
        source = _CLOSED_AT_ONCE.sub(r"<\1\2></\1>", decoded.text)
        chapter = html.document(name, replace(decoded, text=source))
    except ReadError as error:
        if error.reason in (Reason.TOO_LARGE_UNPACKED, Reason.ENCRYPTED):
            raise
        return error.reason in (Reason.NO_TEXT, Reason.EMPTY)  # a cover, say
    has_headings = any(section.trail for section in chapter.sections)
    for section in chapter.sections:
        trail = section.trail or (() if has_headings else (label,))
        writing.section(trail[-1] if trail else "", max(len(trail), 1))
        writing.paragraph(chapter.text[section.start : section.end])
    return True


def _title_and_metadata(book: Any) -> tuple[str, dict[str, str]]:
    title, metadata = "", dict[str, str]()
    for item in book.iter():
        name, value = local(item), one_line(item.text or "") if isinstance(item.tag, str) else ""
        if not value or "purl.org/dc/elements" not in str(item.tag):
            continue
        if name == "title":
            title = title or value
        elif name in _METADATA:
            key = _METADATA[name]
            metadata[key] = f"{metadata[key]}, {value}" if key in metadata else value
    return title, metadata
