"""The sentences of a passage that answer a query: the one nearest to it by meaning, with its neighbours.

In 25 passages that answer a question about the PEPs (benchmarks/spoken/peps-lines.json), 300 characters around the
sentence with the highest cosine hold the answer in 19, around the most keywords in 17, around the largest contributions
in 15.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.encoding import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.explanations import Highlight

Span = tuple[int, int]

# Where a sentence, a paragraph or an item of a list ends.
_END = re.compile(r"(?<=[.!?…:;])[\"'”’)\]]*\s+|[。！？]|\n[^\S\n]*\n\s*|\n(?=[^\S\n]*[-*•|+]\s)")
LONGEST_SENTENCE = 300  # characters
_LINE = re.compile(r"\n")
_SPACE = re.compile(r"\s")


def sentence_spans(text: str, most: int) -> list[Span]:
    """Return the spans of the sentences of a text, without white space around them.

    Args:
        most: maximum number of characters. A longer sentence is cut at its lines, a longer line at a space.
    """
    spans: list[Span] = []
    for start, end in _parts(text, 0, len(text), _END):
        lines = [(start, end)] if end - start <= most else _parts(text, start, end, _LINE)
        spans += [part for line in lines for part in _cut(text, *line, most)]
    return spans


def _parts(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Yield the parts of a span between the matches of a pattern that are not white space only."""
    after = start
    for match in pattern.finditer(text, start, end):
        yield from _stripped(text, after, match.end())
        after = match.end()
    yield from _stripped(text, after, end)


def _cut(text: str, start: int, end: int, most: int) -> Iterator[Span]:
    """Yield parts of a span with at most `most` characters."""
    while end - start > most:
        spaces = [match.start() for match in _SPACE.finditer(text, start + most // 2, start + most)]
        stop = spaces[-1] if spaces else start + most
        yield from _stripped(text, start, stop)
        start = stop
    yield from _stripped(text, start, end)


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    if part.strip():
        yield start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


Part = tuple[int, Span]
"""The number of a text, and a span in it."""
Scores = Callable[[Sequence[Part]], list[float]]
"""Function from sentences to numbers; the highest is the one that answers."""


def by_meaning(encoder: Encoder, query: NDArray[np.float32], texts: Sequence[str]) -> Scores:
    """Return a function that scores sentences by their cosines with the (d,) embedding of a query."""

    def score(parts: Sequence[Part]) -> list[float]:
        read = [texts[number][start:end] for number, (start, end) in parts]
        cosines = encoder.encode(read, role="document", truncate=True) @ query
        return [float(cosine) for cosine in cosines]

    return score


def by_keywords(marks: Sequence[Sequence[Highlight]]) -> Scores:
    """Return a function that scores sentences by the contributions of the query's words in them.

    Args:
        marks: the highlights of each text.
    """

    def score(parts: Sequence[Part]) -> list[float]:
        return [
            sum(mark.weight for mark in marks[number] if start <= mark.start < end)
            for number, (start, end) in parts
        ]

    return score


class AnsweringSentences:
    """The sentences of some texts that answer a query; those of a text are scored once, when it is too long to show."""

    def __init__(self, texts: Sequence[str], scores: Scores) -> None:
        self._texts, self._scores = texts, scores
        self._sentences: dict[int, tuple[list[Span], list[float]]] = {}

    def spans(self, most: int) -> list[Span]:
        """Return the span of each text that answers, with at most `most` characters; all of a text that is not longer.

        From the best sentence on, the better one of both neighbours is added while there is room.
        """
        long = [number for number, text in enumerate(self._texts) if len(text) > most]
        self._read([number for number in long if number not in self._sentences])
        spans = [(0, len(text)) for text in self._texts]
        for number in long:
            spans[number] = _grown(*self._sentences[number], most)
        return spans

    def _read(self, numbers: Sequence[int]) -> None:
        """Keep the sentences of some texts, with their scores."""
        own = {number: sentence_spans(self._texts[number], LONGEST_SENTENCE) for number in numbers}
        parts = [(number, span) for number, spans in own.items() for span in spans]
        scores = iter(self._scores(parts) if parts else ())
        for number, spans in own.items():
            self._sentences[number] = spans, [next(scores) for _ in spans]


def _grown(spans: Sequence[Span], scores: Sequence[float], most: int) -> Span:
    """Return the span of the best sentence and of those around it, as far as there is room."""
    first = last = int(np.argmax(scores))
    start, end = spans[first]
    if end - start > most:
        return start, start + most
    while True:
        choices = []
        if first > 0 and spans[last][1] - spans[first - 1][0] <= most:
            choices.append((scores[first - 1], first - 1, last))
        if last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= most:
            choices.append((scores[last + 1], first, last + 1))
        if not choices:
            return spans[first][0], spans[last][1]
        _, first, last = max(choices)
