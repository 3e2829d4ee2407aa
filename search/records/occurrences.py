"""Occurrences of a word in passages, by their likeness to the word in a given text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from search.records.contents import StoredPassage
from search.records.visible_text import VisibleText

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, kw_only=True)
class WordOccurrence(StoredPassage):
    """A word in its passage.

    Attributes:
        rank: 1 for the best.
        cosine: cosine of the word's vector with that of the word in the given text, in [-1, 1].
        word: the word as it stands in the passage, without markup.
        word_start, word_end: its span in `text`.
    """

    rank: int
    cosine: float
    word: str
    word_start: int
    word_end: int

    @property
    def line_number(self) -> int:
        """1-based line of the source file with the word; for a format with pages, a line of its extracted text."""
        before = len(_LINE_END.findall(self.text, 0, self.word_start))
        return min(self.line_start + before, self.line_end)

    @property
    def line(self) -> str:
        """The line of `text` with the word, as indexed."""
        start, end = self._line_span
        return self.text[start:end]

    @property
    def span(self) -> tuple[int, int]:
        """The span of the word in `line`."""
        start, _ = self._line_span
        return self.word_start - start, self.word_end - start

    @property
    def before(self) -> str:
        """The visible text of the passage before the word, in one line."""
        return " ".join(self._visible.between(0, self.word_start).split())

    @property
    def after(self) -> str:
        """The visible text of the passage after the word, in one line."""
        return " ".join(self._visible.between(self.word_end, len(self.text)).split())

    @property
    def _visible(self) -> VisibleText:
        return VisibleText(self.text, self.hidden)

    @property
    def _line_span(self) -> tuple[int, int]:
        ends = [match.span() for match in _LINE_END.finditer(self.text)]
        start = max((end for _, end in ends if end <= self.word_start), default=0)
        return start, min((begin for begin, _ in ends if begin >= self.word_end), default=len(self.text))
