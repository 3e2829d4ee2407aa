"""Cut a long text in time that grows with its length, and no faster.

semantic-text-splitter picks good places to cut, but looks ahead through all of the text that is left:
64,000 characters without a space take it ten times as long per character as 2,000 do. So it sees one
window at a time, and the next window starts where the last passage of this one did, because only that
one's end was decided by the window and not by the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Protocol


class Splitter(Protocol):
    """What TextSplitter and MarkdownSplitter have in common."""

    def chunk_indices(self, text: str) -> list[tuple[int, str]]:
        """Chunks and the offsets in characters where they start."""
        ...


def spans(splitter: Splitter, text: str, start: int, end: int, window: int) -> Iterator[tuple[int, int]]:
    """Cut [start, end) of `text` into spans that follow each other, or overlap if the splitter's do.

    Every character that is no whitespace is in a span: without overlap, a span ends where the next
    one starts, whatever the splitter says. Spans may carry whitespace at their ends.

    Args:
        splitter: decides where.
        text: the whole text.
        start, end: the part of it to cut.
        window: characters that the splitter sees at a time; no span is longer.
    """
    while start < end:
        stop = end if end - start <= window else safe_stop(text, start, start + window)
        chunks = splitter.chunk_indices(text[start:stop])
        starts = [start + offset for offset, _ in chunks]
        ends = [first + len(chunk) for first, (_, chunk) in zip(starts, chunks, strict=True)]
        if not chunks:
            starts, ends = [start], [stop]
        starts[0] = start
        ends = [max(*pair) for pair in zip(ends, [*starts[1:], stop], strict=True)]
        if stop < end and len(starts) > 1:
            yield from zip(starts[:-1], ends[:-1], strict=True)
            start = starts[-1]
        else:
            yield from zip(starts, ends, strict=True)
            start = stop


def safe_stop(text: str, start: int, stop: int) -> int:
    """The last place in [start, stop] where a cut hurts least: after a line, a space, else a character."""
    middle = (start + stop) // 2
    for mark in "\n\r ":
        found = text.rfind(mark, middle, stop)
        if found >= 0 and not _joins(text, found + 1):
            return found + 1
    for place in range(stop, middle, -1):
        if not _joins(text, place):
            return place
    return stop


def _joins(text: str, place: int) -> bool:
    """Whether the characters before and after `place` are seen as one, as far as is easily told."""
    before, after = text[place - 1], text[place]
    return (
        unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\u200d" in (before, after)  # joins emoji
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")  # flags
        or (before == "\r" and after == "\n")
    )
