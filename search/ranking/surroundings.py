"""What stands around a hit: lines of its file; and the lines of a span of it.

The index keeps the lines of passages. What else is asked of lines is read from the file, if that is the one that was
indexed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from search.corpus import SourceFile, documents, load
from search.corpus.files import DOCUMENT_KINDS, kind_of
from search.corpus.text import decode, line_map
from search.errors import InputError, ReadError, SearchError
from search.ranking.freshness import RECORDS
from search.records.documents import PLAIN_KINDS, Document
from search.records.hits import Hit, Surroundings

if TYPE_CHECKING:
    from search.corpus import Contents
    from search.store.sqlite import Store

_LINE_END = re.compile(r"\r\n|\r|\n")


def surroundings(store: Store, hit: Hit, lines: int) -> Surroundings:
    """See `Index.surroundings`."""
    if lines < 0:
        raise InputError(f"{lines} is no number of lines; use 0 for none.")
    with store.reading() as snapshot:
        stored = snapshot.stored([hit.passage_id]).get(hit.passage_id)
    if stored is None or stored.start != hit.start:
        return Surroundings(note="the passage has left the index since it was found")
    texts, note = _lines(hit, stored.file.sha256)
    first, last = hit.line_start, hit.line_end
    numbered = list(enumerate(texts, 1))
    span_lines, begins = SpanLines(), [0, *(end.end() for end in _LINE_END.finditer(hit.text))]
    start, found, _ = "".join(texts[first - 1 : first]).partition(_LINE_END.split(hit.text)[0])
    return Surroundings(
        tuple(numbered[max(0, first - 1 - lines) : first - 1]),
        tuple(numbered[last : last + lines]),
        note,
        start if found else "",
        tuple(span_lines(hit, hit.start + at, hit.start + at + 1)[0] for at in begins if hit.kind == "html"),
    )


def _lines(hit: Hit, sha256: str) -> tuple[list[str], str]:
    """The lines of a hit's file; or none, and why."""
    if hit.kind in DOCUMENT_KINDS:
        return [], f"{hit.document} is no text file, so it has no lines to show"
    name = hit.document.rpartition("#")[0] if hit.kind in RECORDS else hit.document
    try:
        contents = _contents(name, hit.path)[1]
        if contents.sha256 != sha256 and hit.changed != "moved":
            return [], f"{hit.document} has changed since it was indexed, so its lines are not shown"
        return _LINE_END.split(decode(name, contents.raw).text), ""
    except FileNotFoundError:
        return [], f"{hit.document} is gone, so its lines are not shown"
    except (OSError, ReadError) as error:
        return [], f"{hit.document} cannot be read now: {error}"


def file_text(store: Store, document: int) -> str | None:
    """See `Index.file_text`."""
    with store.reading() as snapshot:
        stored = snapshot.document(document)
    if stored.file.kind in PLAIN_KINDS:
        with suppress(OSError, ReadError):
            contents = _contents(stored.name, stored.path)[1]
            if contents.sha256 == stored.file.sha256:
                return decode(stored.name, contents.raw).text
    return None


def _contents(name: str, path: str) -> tuple[SourceFile, Contents]:
    """A file as it is now."""
    stat = Path(path).stat()
    file = SourceFile(name, Path(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return file, load(file)


class SpanLines:
    """Called with a hit and a span of its document: first and last line, page, and what has to be said of them.

    In a text file they follow by counting line ends. Where a document's text is not its file (HTML, PDF and the like)
    the file is read, once at most.
    """

    def __init__(self) -> None:
        self._files: dict[str, list[Document]] = {}

    def __call__(self, hit: Hit, start: int, end: int) -> tuple[int, int, int | None, str]:
        name = hit.document.rpartition("#")[0]
        if name and kind_of(name) in RECORDS:
            return hit.line_start, hit.line_end, hit.page, ""
        lines = line_map(hit.text)
        first, last = lines.span(0, hit.end - hit.start)
        if kind_of(hit.document) in PLAIN_KINDS and last - first == hit.line_end - hit.line_start:
            first, last = lines.span(start - hit.start, end - hit.start)
            return hit.line_start + first - 1, hit.line_start + last - 1, hit.page, ""
        if hit.line_start == hit.line_end and hit.page is None:
            return hit.line_start, hit.line_end, None, ""
        document = self._document(hit)
        if document is None:
            note = f"{hit.document} is not as it was indexed: lines and page are those of the whole passage"
            return hit.line_start, hit.line_end, hit.page, note
        return (*document.lines.span(start, end), document.page(start), "")

    def _document(self, hit: Hit) -> Document | None:
        """The document of a hit, from its file; None if that has changed or cannot be read."""
        if hit.path not in self._files:
            self._files[hit.path] = self._read(hit)
        for document in self._files[hit.path]:
            if document.name == hit.document and document.text[hit.start : hit.end] == hit.text:
                return document
        return None

    def _read(self, hit: Hit) -> list[Document]:
        """The documents of a file as it was indexed; none if it has changed or cannot be read."""
        try:
            file, contents = _contents(hit.document, hit.path)
            if contents.sha256 != hit.file.sha256:
                return []
            return [item for item in documents(file, contents) if isinstance(item, Document)]
        except (OSError, SearchError):
            return []
