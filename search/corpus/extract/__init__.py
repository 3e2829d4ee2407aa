"""PDF, Word, PowerPoint, Excel and EPUB files become documents. The extra `documents` brings what it takes.

    documents(path, kind, raw)  ->  Document, perhaps a Skipped

Such files are small programs for large libraries, and come from anybody. So each is taken apart in a child
process, with limits on time, memory and unpacked size.

    reader.py      the child process, seen from outside      child.py       the same, from inside
    limits.py      how much a file may cost                  writing.py     a text as it is put together
    pdf.py  docx.py  pptx.py  xlsx.py  epub.py               a file -> Extracted
    paragraphs.py  lines of a PDF -> paragraphs              archive.py     zip and XML from strangers
    office.py      what docx and pptx have in common
"""

from __future__ import annotations

from collections.abc import Iterator

from search.corpus import reasons
from search.corpus.extract.reader import Reader, own_reader
from search.corpus.lines import line_map
from search.corpus.packages import require
from search.corpus.source import Skipped, file_stem
from search.errors import ReadError
from search.records.documents import Document, Section

__all__ = ["documents"]


def documents(path: str, kind: str, raw: bytes, reader: Reader | None = None) -> Iterator[Document | Skipped]:
    """The document in a file, and what of the file is not in it, if anything.

    Args:
        path: of the file.
        kind: "pdf", "docx", "pptx", "xlsx" or "epub".
        raw: the file.
        reader: the process to ask; by default the calling thread's own.

    Raises:
        ReadError: "empty", "damaged", "encrypted", "no text", "too large when unpacked", "took too long",
            "needs too much memory" or "crashed its reader".
        OptionalDependency: the extra `documents` is not installed.
    """
    require(kind, path)
    if not raw:
        raise ReadError(path, reasons.EMPTY)
    found = (reader or own_reader()).ask(path, kind, raw)
    text = found["text"]
    if not text.strip():
        raise ReadError(path, reasons.NO_TEXT)
    yield Document(
        path=path,
        kind=kind,
        text=text,
        title=found["title"] or file_stem(path),
        lines=line_map(text),
        sections=tuple(Section(s["start"], s["end"], tuple(s["trail"])) for s in found["sections"]),
        metadata=found["metadata"],
        pages=tuple(found["pages"]),
    )
    reason, detail = found["left_out"]
    if reason:
        yield Skipped(path, reason, detail)
