"""From the content of a file to its documents: unpack it, decode it, and call the parser for its kind.

This runs in the child process of `search.corpus.reader`; only short texts are parsed in the calling process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from search.corpus import calendars, table
from search.corpus.cut import without_markup
from search.corpus.dates import dated
from search.corpus.entries import with_entries
from search.corpus.separators import with_records
from search.corpus.sources import (
    DOCUMENT_KINDS,
    Reason,
    Skipped,
    file_name,
    generated_text,
    kind_of,
    most_characters,
    readable,
    unreadable,
)
from search.corpus.text import decoded, file_document, unpacked
from search.errors import ReadError
from search.records.documents import ParsedDocument, Section

MARKUP_KINDS = ("markdown", "rst", "html", "org", "asciidoc", "tex", "man", "subtitles")
Item: TypeAlias = "ParsedDocument | Skipped"
Place: TypeAlias = "tuple[int, ...]"

# A constant, because an except clause may have no memory for a tuple. Python raises either error.
SHORT_OF_MEMORY = (MemoryError, SystemError)

# Skipped records of one file that are listed; further ones are counted.
_MOST_NAMED = 1_000

_LONGEST_DETAIL = 200


@dataclass(frozen=True)
class Request:
    """A request to parse a file, an attachment or a text from memory.

    Attributes:
        path: as in `ParsedDocument`.
        kind: decides how it is parsed, see `kind_of`.
        content: bytes of a file; or a text from memory, which becomes one document without a date.
        is_named: read it even if it is generated, see `SourceFile`.
        text_field, title_field: see `search.corpus.documents`.
        recognized: text of the pages of a PDF file that are images, by page; None without OCR.
    """

    path: str
    kind: str
    content: bytes | str = field(repr=False)
    is_named: bool = False
    text_field: str | None = None
    title_field: str | None = None
    recognized: Mapping[int, str] | None = field(default=None, repr=False)


Read: TypeAlias = "Callable[[Request], Iterable[Item]]"


class FileParts:
    """The parts of a file whose parsers may break a limit: the file itself, or its messages and their attachments.

    Each has a place: its number within the part around it. A file whose parser broke a limit is parsed again without
    the part that was begun last.

    Args:
        broken: the parts to leave out, with reason and detail.
        report: called with the place of a part when it begins, and with the place of the part around it when it ends.
    """

    def __init__(
        self,
        broken: Mapping[Place, tuple[str, str]] | None = None,
        report: Callable[[Place], object] = lambda place: None,
    ) -> None:
        self._broken, self._report = broken or {}, report
        self._place: Place = ()
        self._begun = Counter[Place]()

    @contextmanager
    def begin(self, path: str) -> Iterator[None]:
        """Parse the next part within the block.

        Raises:
            ReadError: the part is one of those to leave out.
        """
        around = self._place
        place = (*around, self._begun[around])
        self._begun[around] += 1
        if place in self._broken:
            raise ReadError(path, *self._broken[place])
        self._move(place)
        try:
            yield
        except SHORT_OF_MEMORY:
            raise  # the process ends, and its parent knows the part
        except BaseException:
            self._move(around)
            raise
        self._move(around)

    def _move(self, place: Place) -> None:
        self._place = place
        self._report(place)


def parsed(request: Request, parts: FileParts | None = None, read: Read | None = None) -> Iterator[Item]:
    """Yield the documents of a file, and what was left out, as `search.corpus.documents` does.

    Args:
        read: reads an attachment; by default this function.

    Raises:
        ReadError: the file cannot be parsed; also for unexpected errors of a parser.
    """
    parts = parts or FileParts()
    read = read or partial(parsed, parts=parts)
    try:
        if isinstance(request.content, bytes):
            content = unpacked(request.path, request.content)
            yield from _limited(request, len(content), _items(request, content, parts, read))
        else:
            yield from _text_items(request.path, request.kind, request.content, parts)
    except (ReadError, *SHORT_OF_MEMORY):
        raise
    except Exception as error:  # libraries raise errors of any class
        raise _damaged(request.path, error) from error


def _damaged(path: str, error: Exception) -> ReadError:
    if isinstance(error, RecursionError):
        return ReadError(path, Reason.DAMAGED, "nested too deeply")
    detail = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_DETAIL]
    return ReadError(path, Reason.DAMAGED, detail)


def _limited(request: Request, n_bytes: int, items: Iterable[Item]) -> Iterator[Item]:
    """Yield items until they hold too much for a file of `n_bytes`.

    Raises:
        ReadError: "too large".
    """
    most = most_characters(request.kind, n_bytes)
    size = 0
    for item in items:
        if isinstance(item, ParsedDocument):
            # Names of columns do not count: many rows may share one long name.
            size += len(item.text) + len(item.title) + len(str([*item.metadata.values()]))
        if size > most:
            raise ReadError(request.path, Reason.TOO_LARGE, f"more than {most:,} characters of text")
        yield item


def _items(request: Request, raw: bytes, parts: FileParts, read: Read) -> Iterator[Item]:
    path, kind = request.path, request.kind
    if kind == "mail" and raw.strip():
        from search.corpus import mail

        yield from _some(path, mail.documents(path, raw, partial(_attachment, read), parts.begin))
        return
    if kind in DOCUMENT_KINDS:
        if not raw:
            raise ReadError(path, Reason.EMPTY)
        with parts.begin(path):
            items = _extractor(request)(path, raw)
        yield from map(_complete, items)
        return
    text = decoded(path, raw)
    if not request.is_named and (detail := generated_text(kind, text)):
        raise ReadError(path, Reason.GENERATED, detail)
    if kind in ("csv", "jsonl"):
        fields = request.text_field, request.title_field
        yield from _some(path, table.documents(path, kind, text, *fields))
    elif kind in ("ics", "vcf"):
        yield from _some(path, calendars.documents(path, kind, text))
    else:
        yield from map(_complete, _text_items(path, kind, text, parts))


def _attachment(read: Read, name: str, raw: bytes) -> list[Item]:
    """Return the documents of a file in a message, or the reason for leaving it out, as in a folder."""
    kind = kind_of(name)
    if left_out := unreadable(name, readable() if kind in DOCUMENT_KINDS else ()):
        return [Skipped(name, *left_out)]
    try:
        return list(read(Request(name, kind, raw)))
    except ReadError as error:
        return [Skipped(name, error.reason, error.detail)]


def _text_items(path: str, kind: str, text: str, parts: FileParts) -> list[Item]:
    """Parse a text; if its markup cannot be parsed, return it as plain text with a `Skipped` that gives the reason."""
    plain = file_document(path, kind, text, file_name(path), sections=(Section(0, len(text)),))
    if kind not in MARKUP_KINDS:
        return [with_entries(with_records(plain)) if kind == "text" else plain]
    try:
        with parts.begin(path):
            return [_parser(kind)(path, text)]
    except SHORT_OF_MEMORY:
        raise
    except Exception as error:
        problem = error if isinstance(error, ReadError) else _damaged(path, error)
    if problem.reason == Reason.NO_TEXT:
        raise problem
    detail = f"its markup {problem.reason}" + (f": {problem.detail}" if problem.detail else "")
    return [plain, Skipped(path, Reason.AS_PLAIN, detail)]


def _parser(kind: str) -> Callable[[str, str], ParsedDocument]:
    from search.corpus import html, lightweight_markup, man, markdown, rst, subtitles

    parsers = {"markdown": markdown.document, "rst": rst.document, "html": html.document}
    parsers |= {"man": man.document, "subtitles": subtitles.document}
    parsers |= {
        kind: partial(lightweight_markup.document, kind=kind) for kind in lightweight_markup.FORMATS
    }
    return parsers[kind]


def _extractor(request: Request) -> Callable[[str, bytes], list[Item]]:
    from search.corpus import markdown, office, opendocument, pdf

    extractors: dict[str, Callable[[str, bytes], list[Item]]] = {
        "pdf": partial(pdf.extract, recognized=request.recognized)
    }
    extractors |= {"notebook": markdown.notebook, "docx": office.docx}
    extractors |= {"pptx": office.pptx, "xlsx": office.xlsx, "epub": office.epub, "rtf": office.rtf}
    extractors |= {kind: partial(opendocument.document, kind=kind) for kind in ("odt", "ods", "odp")}
    return extractors[request.kind]


def _complete(item: Item) -> Item:
    """Return a document with its date.

    Raises:
        ReadError: "no text" for a document without any passage.
    """
    if not isinstance(item, ParsedDocument):
        return item
    if item.kind not in ("text", "code"):  # these have one section, and `decoded` refuses blank ones
        read, _ = without_markup(item)
        if not any(read.text[part.start : part.end].strip() for part in read.sections):
            detail = "nothing after the header" if item.text.strip() else ""
            raise ReadError(item.path, Reason.NO_TEXT, detail)
    return dated(item)


def _some(path: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, and raise ReadError if none of them is a document.

    Only the first skipped records are yielded, the others are counted, because a file may have millions.
    """
    n_documents, n_skipped, skipped = 0, 0, None
    for item in items:
        if isinstance(item, ParsedDocument):
            n_documents += 1
            yield dated(item)
        else:
            n_skipped, skipped = n_skipped + 1, item
            if n_skipped <= _MOST_NAMED:
                yield item
    if n_documents == 0 and n_skipped == 1 and skipped:
        raise ReadError(path, skipped.reason, skipped.detail)
    if n_documents == 0:
        raise ReadError(path, Reason.NO_TEXT, f"none of the {n_skipped} records contains text")
    if n_skipped > _MOST_NAMED:
        yield Skipped(path, Reason.DAMAGED, f"{n_skipped - _MOST_NAMED:,} more empty or damaged records")
