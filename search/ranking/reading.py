"""Documents and passages to be read, as the index holds them: a text is put together from passages, never from disk.

A passage is a span of its document's text, and between two of them there is nothing but blank space and marks. How
long that is follows from the spans, and how many line breaks are in it from the lines, where these are of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from search.ranking.freshness import since_indexed
from search.records.contents import DocumentText, Gap, StoredPassage

if TYPE_CHECKING:
    from search.store.sqlite import Store

LINES_OF_THEIR_OWN = ("html", "csv", "jsonl")  # kinds whose lines are not those of the text
_WITHOUT_MARKS = ("code",)


def passage_text(store: Store, id_: int) -> StoredPassage:
    """See `Index.passage`."""
    with store.reading() as snapshot:
        return snapshot.passage(id_)


def document_text(store: Store, id_: int) -> DocumentText:
    """See `Index.document`."""
    with store.reading() as snapshot:
        stored, generation = snapshot.document(id_), snapshot.facts.generation
    text, gaps = together(stored.passages)
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


def together(passages: Sequence[StoredPassage]) -> tuple[str, tuple[Gap, ...]]:
    """The text of a document, and what of it no passage holds."""
    pieces: list[str] = []
    gaps: list[Gap] = []
    at, line = 0, 1
    end = "\r\n" if any("\r\n" in passage.text for passage in passages) else "\n"
    for passage in passages:
        if passage.start > at:
            gap, filling = _gap(at, line, end, passage)
            gaps.append(gap)
            pieces.append(filling)
        pieces.append(passage.text[max(0, at - passage.start) :])
        at, line = max(at, passage.end), passage.line_end
    return "".join(pieces), tuple(gaps)


def _gap(at: int, line: int, end: str, passage: StoredPassage) -> tuple[Gap, str]:
    """What stands before a passage, and what is put in its place.

    Args:
        at, line: where the passage before it ends.
        end: what a line ends with.
    """
    length = passage.start - at
    known = passage.kind not in LINES_OF_THEIR_OWN
    breaks = min(max(0, passage.line_start - line) if known else 2, length // len(end))
    filling = (end * breaks).ljust(length)
    blank = known and (passage.kind in _WITHOUT_MARKS or len(end) * breaks == length)
    return Gap(at, passage.start, breaks if known else None, blank), filling
