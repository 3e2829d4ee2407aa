"""Cut a long block where its text goes on least, as somebody who can tell says.

The splitter takes all that fits. Here the places between paragraphs and between sentences are weighed first, and
of those in the second half of what would fit the one is taken behind which the text follows least surely.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from search.corpus.windows import even_stop, joins

Follows = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""(text before, text behind) pairs -> how surely each second text follows its first; higher is surer."""

AT_ONCE = 64  # pairs; between two such batches the work can be stopped

# A gap between paragraphs; the end of a sentence, but for "e.g. this".
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]\s*")
_ROW = re.compile(r"^[^\S\n]*\|.*$", re.MULTILINE)
_FENCE = re.compile(r"^[^\S\n]{0,3}(?:```|~~~)", re.MULTILINE)


@dataclass(frozen=True)
class Boundaries:
    """Places of a text where a cut may fall, in order, and how surely the text goes on behind each."""

    places: tuple[int, ...]
    surely: tuple[float, ...]

    def lowest(self, first: int, last: int) -> list[int]:
        """The places in [first, last], the one where a cut is best first; of equal ones the later."""
        within = range(bisect_left(self.places, first), bisect_right(self.places, last))
        return [self.places[i] for i in sorted(within, key=lambda i: (self.surely[i], -i))]

    def middle(self, text: str, start: int, end: int) -> int | None:
        """The best place in the middle third of [start, end); where there is none, as `even_stop`."""
        third = (end - start) // 3
        best = self.lowest(start + third, end - third)
        return best[0] if best else even_stop(text, start, end)


def pairs(places: Sequence[int], text: str, start: int, end: int) -> list[tuple[str, str]]:
    """What stands on both sides of each place in [start, end), as far as the next one."""
    edges = [start, *places, end]
    return list(pairwise(text[one:two].strip() for one, two in pairwise(edges)))


def parted(
    text: str,
    start: int,
    end: int,
    boundaries: Boundaries,
    longest: Callable[[int], int],
    fits: Callable[[str], bool],
) -> Iterator[tuple[int, int]]:
    """Spans that follow each other and cover [start, end).

    Args:
        longest: tells where a span that begins at a place would end at the latest.
        fits: tells whether a text is short enough for a passage.
    """
    while start < end:
        stop = longest(start)
        if stop < end:
            best = boundaries.lowest(start + max(1, (stop - start) // 2), stop)
            stop = next((place for place in best if fits(text[start:place])), stop)
        yield start, stop
        start = stop


def possible(text: str, start: int, end: int, *, markdown: bool) -> list[int]:
    """Where in (start, end) a paragraph or a sentence ends, behind the space after it.

    Not before a lower-case letter, unless a paragraph begins there; in Markdown neither in a fenced block nor in a
    row of a table. What has no letter or digit, such as a rule, belongs to what stands before it.
    """
    paragraphs = {match.end() for match in _PARAGRAPH.finditer(text, start, end)}
    sentences = {match.end() for match in _SENTENCE.finditer(text, start, end)}
    found = sorted(paragraphs | {at for at in sentences if at < end and not text[at].islower()})
    if markdown:
        fences = [match.start() for match in _FENCE.finditer(text, start, end)]
        rows = [match.span() for match in _ROW.finditer(text, start, end)]
        found = [at for at in found if bisect_right(fences, at - 1) % 2 == 0 and not _within(rows, at)]
    places: list[int] = []
    for at in found:
        before = places[-1] if places else start
        if at == end or joins(text, at):
            continue
        if any(map(str.isalnum, text[before:at])):
            places.append(at)
        elif places:
            places[-1] = at
    while places and not any(map(str.isalnum, text[places[-1] : end])):
        places.pop()
    return places


def _within(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether a place is inside one of the spans, which follow each other."""
    i = bisect_left(spans, (at, 0)) - 1
    return i >= 0 and at < spans[i][1]
