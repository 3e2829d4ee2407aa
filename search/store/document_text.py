"""Text of documents: joined from stored passages, or read from an unchanged file.

A passage is a span of its document's text, and only whitespace and markup separate two passages. The length of such a
gap follows from the spans, and its number of line breaks from the line numbers, if these count lines of the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import InputError, ReadError
from search.records.contents import DocumentText, Gap, StoredPassage
from search.records.documents import CONVERTED_KINDS, PLAIN_KINDS, ParsedDocument
from search.records.hits import Hit, Surroundings
from search.store.freshness import since_indexed

if TYPE_CHECKING:
    from search.store.snapshot import Store

_WITHOUT_MARKS = ("code",)
_LINE_END = re.compile(r"\r\n|\r|\n")


def passage_text(store: Store, id_: int) -> StoredPassage:
    """See `Index.passage`."""
    with store.reading() as snapshot:
        return snapshot.passage(id_)


def document_text(store: Store, id_: int) -> DocumentText:
    """See `Index.document`."""
    with store.reading() as snapshot:
        stored, generation = snapshot.document(id_), snapshot.facts.generation
    text, gaps = joined_text(stored.passages)
    return DocumentText(
        id_,
        generation,
        stored.name,
        stored.path,
        stored.file.kind,
        stored.title,
        stored.metadata,
        since_indexed(stored.path, stored.file).changed,
        text,
        stored.passages,
        gaps,
    )


def joined_text(passages: Sequence[StoredPassage]) -> tuple[str, tuple[Gap, ...]]:
    """Join passages into the text of a document; return it, and the gaps between the passages."""
    pieces: list[str] = []
    gaps: list[Gap] = []
    offset, line = 0, 1
    end = "\r\n" if any("\r\n" in passage.text for passage in passages) else "\n"
    for passage in passages:
        if passage.start > offset:
            gap, filling = _gap(offset, line, end, passage)
            gaps.append(gap)
            pieces.append(filling)
        pieces.append(passage.text[max(0, offset - passage.start) :])
        offset, line = max(offset, passage.end), passage.line_end
    return "".join(pieces), tuple(gaps)


def _gap(offset: int, line: int, end: str, passage: StoredPassage) -> tuple[Gap, str]:
    """Return the gap before a passage, and the text that fills it.

    Args:
        offset, line: offset and line number of the end of the previous passage.
        end: the document's newline sequence.
    """
    length = passage.start - offset
    has_lines = passage.kind not in CONVERTED_KINDS
    breaks = min(max(0, passage.line_start - line) if has_lines else 2, length // len(end))
    filling = (end * breaks).ljust(length)
    blank = has_lines and (passage.kind in _WITHOUT_MARKS or len(end) * breaks == length)
    return Gap(offset, passage.start, breaks if has_lines else None, blank), filling


def file_text(store: Store, document: int) -> str | None:
    """Read a document's text from its file; see `Searcher.file_text`."""
    with store.reading() as snapshot:
        stored = snapshot.document(document)
    if stored.file.kind not in (*PLAIN_KINDS, "notebook"):
        return None
    try:
        text = _text(stored.name, stored.path, stored.file.kind, stored.file.sha256)
    except (OSError, ReadError):
        return None
    spans = (text[passage.start : passage.end] == passage.text for passage in stored.passages)
    return text if text and all(spans) else None


def surroundings(hit: Hit, lines: int) -> Surroundings:
    """Read the lines of the source file around a hit.

    Args:
        lines: number of lines before the hit and after it, at least 0.

    Returns:
        The lines; or none and a note with the reason, if the file has changed or its format has no lines (PDF).

    Raises:
        InputError: `lines` is below 0.
    """
    if lines < 0:
        raise InputError(f"the number of lines is {lines}; the minimum is 0.")
    texts, note = _file_lines(hit)
    first, last = hit.line_start, hit.line_end
    numbered = list(enumerate(texts, 1))
    start, match, _ = "".join(texts[first - 1 : first]).partition(_LINE_END.split(hit.text)[0])
    return Surroundings(
        tuple(numbered[max(0, first - 1 - lines) : first - 1]),
        tuple(numbered[last : last + lines]),
        note,
        start if match else "",
    )


def _file_lines(hit: Hit) -> tuple[list[str], str]:
    """Return the lines of a hit's file, and ""; if they cannot be shown, [] and the reason."""
    if hit.kind not in (*PLAIN_KINDS, *CONVERTED_KINDS):
        return [], f"{hit.document} is not a text file, so it has no lines to show"
    if not hit.path:
        return [], f"{hit.document} comes from no file, so the lines around it are not shown"
    try:
        text = _text(hit.document, hit.path, "text", None if hit.changed == "moved" else hit.file.sha256)
    except FileNotFoundError:
        return [], f"{hit.document} is gone, so its lines are not shown"
    except (OSError, ReadError) as error:
        return [], f"{hit.document} cannot be read: {error}"
    if not text:
        return [], f"{hit.document} has changed since it was indexed, so its lines are not shown"
    return _LINE_END.split(text), ""


def _text(name: str, path: str, kind: str, sha256: str | None) -> str:
    """Return the text of a file; "" if its content has another SHA-256. Only notebooks are parsed.

    Raises:
        OSError, ReadError: the file cannot be read.
    """
    from search.corpus.parsing import Request
    from search.corpus.reader import items
    from search.corpus.sources import regular_bytes
    from search.corpus.text import decode

    raw = regular_bytes(Path(path))
    if sha256 not in (None, hashlib.sha256(raw).hexdigest()):
        return ""
    if kind != "notebook":
        return decode(name, raw)
    return next(item.text for item in items(Request(name, kind, raw)) if isinstance(item, ParsedDocument))


def span_lines(hit: Hit, start: int, end: int) -> tuple[int, int, int | None]:
    """Return first line, last line and page of a span of a hit's document.

    In a converted file, such as a PDF, these are the lines and the page of the whole hit.
    """
    from search.corpus.text import line_map

    if hit.kind not in PLAIN_KINDS:
        return hit.line_start, hit.line_end, hit.page
    first, last = line_map(hit.text).span(start - hit.start, end - hit.start)
    return hit.line_start + first - 1, hit.line_start + last - 1, hit.page
