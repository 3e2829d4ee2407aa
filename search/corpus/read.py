"""From a file to its documents: load the bytes, decode them, hand the text to the parser for its kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from search.corpus import html, markdown, rst, table
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
)
from search.corpus.text import Decoded, decode
from search.errors import ReadError
from search.records.documents import Document, Section


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
        "damaged". For a PDF of which some pages give none, a `Skipped` named `path`.

    Raises:
        ReadError: "binary", "secret", "empty", "undecodable", "damaged", "no text" or
            "no such column", and for PDF, Office files and EPUB those of `reader.extracted`. Raised while
            iterating; "no text" after the last record.
        OptionalDependency: the file needs the extra `documents`; `walk` leaves such files out.
    """
    kind = kind_of(file.path)
    if kind in DOCUMENT_KINDS:
        from search.corpus.reader import extracted

        yield from extracted(file.path, kind, contents.raw)
        return
    decoded = decode(file.path, contents.raw)
    if kind in ("csv", "jsonl"):
        records = table.documents(file.path, kind, decoded, text_field, title_field)
        yield from _some(file.path, records)
    else:
        document = _PARSERS.get(kind, _plain)(file.path, decoded)
        if not any(document.text[part.start : part.end].strip() for part in document.sections):
            raise ReadError(file.path, Reason.NO_TEXT, "there is nothing below its header")
        yield document


def _plain(path: str, decoded: Decoded) -> Document:
    return decoded.document(path, kind_of(path), file_name(path), (Section(0, len(decoded.text)),))


_PARSERS = {"markdown": markdown.document, "rst": rst.document, "html": html.document}


def _some(path: str, items: Iterator[Document | Skipped]) -> Iterator[Document | Skipped]:
    """`found` as it is, unless there is no document in it: then the file is no use, and says so."""
    n_records, n_documents = 0, 0
    for item in items:
        n_records += 1
        n_documents += isinstance(item, Document)
        yield item
    if n_documents == 0:
        raise ReadError(path, Reason.NO_TEXT, f"none of its {n_records} records holds text")
