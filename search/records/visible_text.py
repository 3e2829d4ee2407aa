"""Visible text: a source text without its markup, with a mapping from its offsets to the source's.

Markup is *hidden*: spans of the source that are neither encoded nor counted as words. The visible text is the source
with these spans deleted, so an offset in it is smaller than in the source by the length of the hidden spans before it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeAlias

Spans: TypeAlias = "tuple[tuple[int, int], ...]"
"""Half-open spans of a text, increasing and disjoint."""


class VisibleText:
    """Source text without its hidden spans, and the mapping of offsets between the two.

    Attributes:
        text: the visible text.
    """

    def __init__(self, source: str, hidden: Sequence[tuple[int, int]]) -> None:
        self._hidden = hidden
        pieces: list[str] = []
        self._gaps: list[int] = []  # offsets in `text` where a hidden span was deleted
        self._lengths: list[int] = []  # total length of the hidden spans up to each gap
        at = length = 0
        for start, end in hidden:
            pieces.append(source[at:start])
            self._gaps.append(start - length)
            length += end - start
            self._lengths.append(length)
            at = end
        self.text = "".join(pieces) + source[at:] if hidden else source

    def source_offset(self, offset: int) -> int:
        """Convert an offset in `text` to one in the source."""
        gap = bisect_right(self._gaps, offset)
        return offset + self._lengths[gap - 1] if gap else offset

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Convert a span of `text` to the smallest span of the source that contains its characters."""
        first = self.source_offset(start)
        return first, max(first, self.source_offset(end - 1) + 1)

    def visible_offset(self, offset: int) -> int:
        """Convert an offset in the source to one in `text`; a hidden character has that of the next visible one."""
        gap = bisect_left(self._hidden, (offset, offset))
        before = self._lengths[gap - 1] if gap else 0
        if gap and self._hidden[gap - 1][1] > offset:
            before -= self._hidden[gap - 1][1] - offset
        return offset - before

    def between(self, start: int, end: int) -> str:
        """Return the visible text of a span of the source."""
        return self.text[self.visible_offset(start) : self.visible_offset(end)]

    def with_marks(self, source: str, start: int, end: int, after: int) -> tuple[int, int]:
        """Extend a span of the source by adjacent hidden spans on the same lines.

        Args:
            after: lowest offset at which the extended span may begin.
        """
        first = bisect_left(self._hidden, (start, start)) - 1
        while first >= 0 and self._hidden[first][1] == start and self._hidden[first][0] >= after:
            mark = source[self._hidden[first][0] : start]
            if "\n" in mark or mark[:1].isspace():
                break
            start, first = self._hidden[first][0], first - 1
        last = bisect_left(self._hidden, (end, end))
        while last < len(self._hidden) and self._hidden[last][0] == end:
            mark = source[end : self._hidden[last][1]]
            if "\n" in mark or mark[-1:].isspace():
                break
            end, last = self._hidden[last][1], last + 1
        return start, end

    def hidden(self, start: int, end: int) -> Spans:
        """Return the hidden spans between two offsets of the source, relative to the first offset."""
        first = bisect_right(self._hidden, start, key=lambda span: span[1])
        last = bisect_left(self._hidden, end, key=lambda span: span[0])
        return tuple((max(a, start) - start, min(b, end) - start) for a, b in self._hidden[first:last])


def visible(text: str, hidden: Spans) -> str:
    """Return a text without its hidden spans."""
    return VisibleText(text, hidden).text if hidden else text
