"""Where a span of a document stands in its file: lines and page of a stretch that is shorter than a passage.

The index keeps the lines of passages. In a text file those of a span follow by counting line ends. Where a document's
text is not its file (HTML, PDF and the like) the file is read once more, if it is the one that was indexed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from search.corpus import SourceFile, documents, load
from search.corpus.files import kind_of
from search.corpus.text import line_map
from search.errors import SearchError
from search.records.documents import Document
from search.records.hits import Hit

if TYPE_CHECKING:
    from search.store.vectors import LoadedVectors

_RECORDS = ("csv", "jsonl")  # every span of a record stands where the record does
_TEXTS = ("markdown", "rst", "code", "text")


class Placer:
    """Called with a hit and a span of its document: first and last line, page, and what has to be said of them.

    Each file is read once at most.
    """

    def __init__(self, loaded: LoadedVectors) -> None:
        self._loaded = loaded
        self._files: dict[str, list[Document]] = {}

    def __call__(self, hit: Hit, start: int, end: int) -> tuple[int, int, int | None, str]:
        kind = kind_of(hit.document)
        name = hit.document.rpartition("#")[0]
        if kind_of(name) in _RECORDS and name:
            return hit.line_start, hit.line_end, hit.page, ""
        lines = line_map(hit.text)
        first, last = lines.span(0, hit.end - hit.start)
        if kind in _TEXTS and last - first == hit.line_end - hit.line_start:
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
        for one in self._files[hit.path]:
            if one.name == hit.document and one.text[hit.start : hit.end] == hit.text:
                return one
        return None

    def _read(self, hit: Hit) -> list[Document]:
        """The documents of a file as it was indexed; none if it has changed or cannot be read."""
        with self._loaded.reader.reading() as connection:
            row = connection.execute(
                """SELECT files.sha256 FROM passages JOIN documents ON documents.id = document
                   JOIN files ON files.id = file WHERE passages.id = ?""",
                (hit.passage_id,),
            ).fetchone()
        try:
            stat = Path(hit.path).stat()
            file = SourceFile(hit.document, Path(hit.path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
            contents = load(file)
            if row is None or contents.sha256 != row[0]:
                return []
            return [one for one in documents(file, contents) if isinstance(one, Document)]
        except (OSError, SearchError):
            return []
