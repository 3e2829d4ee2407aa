"""From a file to its documents: load the bytes, decode them, hand the text to the parser for its kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from search.corpus import table
from search.corpus.cut import as_read
from search.corpus.files import (
    DOCUMENT_KINDS,
    Contents,
    Reason,
    Skipped,
    SourceFile,
    file_name,
    kind_of,
    refusal,
    regular_bytes,
    require,
)
from search.corpus.reader import MARKUP_KINDS, own_reader, parse
from search.corpus.text import Decoded, decode
from search.errors import ReadError
from search.records.documents import Document, Section

# Characters of HTML, Markdown or reStructuredText that are parsed in this process: of 110 texts made to be hard, those
# of so many characters took at most 16 seconds on a busy machine, most of them less than 5, and at most 150 MB. To
# start another process takes 0.2 seconds, and handing over a file some milliseconds.
_LARGEST_HERE = 2**16

_MOST_SECTIONS = 100_000  # a passage each, which takes 2 kB
_MOST_NAMED = 1_000  # records that are left out of one file
_LONGEST_DETAIL = 200
_NOTHING_BELOW = "there is nothing below its header"


def load(file: SourceFile) -> Contents:
    """The file's bytes and their hash.

    Raises:
        ReadError: "vanished", "permission denied", "unreadable file"; or what has become of it since it was
            found: "symbolic link", "not a regular file", "too large".
    """
    try:
        raw = regular_bytes(file.absolute)
    except OSError as error:
        raise ReadError(file.path, *refusal(error)) from error
    return Contents(raw, hashlib.sha256(raw).hexdigest())


def documents(
    file: SourceFile,
    contents: Contents,
    *,
    text_field: str | None = None,
    title_field: str | None = None,
) -> Iterator[Document | Skipped]:
    """The documents in a file that has been loaded: one, or one for each record of a table.

    Args:
        file: where the contents come from; its name decides how they are parsed.
        contents: from `load`.
        text_field: the CSV column or JSONL key that is searched. By default a well-known name
            ("text", "body", "abstract", ...), else the one with the most characters.
        title_field: likewise for the title.

    Yields:
        Documents, and for each record that gives none a `Skipped` named `path#record`: "empty" or
        "damaged". For a PDF of which some pages give none, or markup that is read as plain text, a `Skipped`
        named `path`.

    Raises:
        ReadError: "binary", "secret", "empty", "undecodable", "damaged", "no text" or
            "no such column", and for PDF, Office files and EPUB those of `Reader.parse`. Raised while
            iterating; "no text" after the last record.
        OptionalDependency: the file needs the extra `documents`; `walk` leaves such files out.
    """
    for item in _items(file, contents, text_field, title_field):
        if isinstance(item, Skipped) or _has_text(item):
            yield item
        elif item.record:
            yield Skipped(item.name, Reason.NO_TEXT, _NOTHING_BELOW)
        else:
            raise ReadError(file.path, Reason.NO_TEXT, _NOTHING_BELOW if item.text.strip() else "")


def _has_text(document: Document) -> bool:
    """Whether there is anything to cut passages from."""
    read, _ = as_read(document)
    return any(read.text[part.start : part.end].strip() for part in read.sections)


def _items(
    file: SourceFile, contents: Contents, text_field: str | None, title_field: str | None
) -> Iterator[Document | Skipped]:
    path, kind = file.path, kind_of(file.path)
    if kind in DOCUMENT_KINDS:
        require(kind, path)
        if not contents.raw:
            raise ReadError(path, Reason.EMPTY)
        yield from own_reader().parse(kind, path, contents.raw)
        return
    decoded = decode(path, contents.raw)
    if kind in ("csv", "jsonl"):
        yield from _some(path, table.documents(path, kind, decoded, text_field, title_field))
    else:
        yield from _text_items(path, kind, decoded)


def _text_items(path: str, kind: str, decoded: Decoded) -> list[Document | Skipped]:
    """The document; and why it is but the plain text, if it is."""
    plain = decoded.document(path, kind, file_name(path), (Section(0, len(decoded.text)),))
    if kind not in MARKUP_KINDS:
        return [plain]
    try:
        parser = own_reader().parse if len(decoded.text) > _LARGEST_HERE else parse
        (document,) = parser(kind, path, decoded)
        if isinstance(document, Document) and len(document.sections) <= _MOST_SECTIONS:
            return [document]
        problem = f"it has more than {_MOST_SECTIONS:,} headings"
    except ReadError as error:
        if error.reason == Reason.NO_TEXT:
            raise
        problem = f"its markup {error.reason}" + (f": {error.detail}" if error.detail else "")
    except Exception as error:  # a defect of a parser, on markup that nobody thought of
        problem = f"its markup is damaged: {type(error).__name__}: {error}"[:_LONGEST_DETAIL]
    return [plain, Skipped(path, Reason.AS_PLAIN, problem)]


def _some(path: str, items: Iterator[Document | Skipped]) -> Iterator[Document | Skipped]:
    """The items as they are, unless there is no document among them: then the file is no use, and says so.

    Of those left out the first are named, and the others counted: a file may have millions.
    """
    n_documents, n_skipped = 0, 0
    for item in items:
        if isinstance(item, Document):
            n_documents += 1
        else:
            n_skipped += 1
            if n_skipped > _MOST_NAMED:
                continue
        yield item
    if n_documents == 0:
        raise ReadError(path, Reason.NO_TEXT, f"none of its {n_skipped} records holds text")
    if n_skipped > _MOST_NAMED:
        yield Skipped(path, Reason.DAMAGED, f"{n_skipped - _MOST_NAMED:,} more records are empty or damaged")
