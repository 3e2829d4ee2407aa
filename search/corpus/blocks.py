"""Blocks: the sections of a document, with their contexts, cut or joined to the size of a passage.

A heading stays with the text below it; the headings above are encoded before the text, as its context.

Long text is cut in linear time. semantic-text-splitter picks good places to cut, but scans all of the remaining text:
64,000 characters without a space take ten times as long per character as 2,000. So it sees one window at a time. The
next window starts where the last passage of the window started, because the end of that passage was decided by the
window, not by the text.

The splitter also leaves very short pieces, for example five words at the end. They rank too high, because they contain
little that does not match. `even_out` joins such a piece to its neighbour, or cuts both again in the middle.

Short sections are joined with their neighbours, so that a passage makes sense on its own. Otherwise a link below a
heading would match everything that resembles the title. Sections are joined while they fit into one passage, following
the tree of headings: the deepest first, then sections below the same heading, then a heading's own text with its first
sections. The headings they share become the context; headings that they do not share must be in the text. A very short
remainder is appended to the text before it, even if that makes the passage a little too long.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from search.corpus.boilerplate import FEWEST_APART, WORD, repeatable
from search.corpus.leads import lead_in
from search.corpus.text import KEPT_LINE, one_line
from search.records.documents import ParsedDocument, Section

if TYPE_CHECKING:
    from semantic_text_splitter import TextSplitter

# Characters of a span without letters or digits, and at most as many tokens.
_LONGEST_SCRAP = 16
# Where a text is best cut in two: between paragraphs, lines, sentences, words.
_ENDS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"[\n\r]\s*"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]"),
    re.compile(r"\s+"),
)

_LONGEST_TITLE = 1_000  # characters of a title or header that may be a context

# Joining stops here, so that an outline of nothing but headings does not become one block.
_MOST_BARE_HEADINGS = 8

# A chunk is very short if a passage has room for more than three of its size.
_VERY_SHORT_PER_PASSAGE = 3

_LONGEST_HEADING = 10  # lines of one heading


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document on its way to becoming a passage.

    A chunk starts as a block: a section, together with the preceding sections that consist of a heading only. Blocks
    that are too long are cut, small ones are joined, and each gets a context.

    Attributes:
        start, end: span in the document's text.
        body: end of the headings at the start of the chunk; `start` if there are none.
        trail: headings above the text of the chunk, outermost first; they are its context. In a block, those above its
            last section.
        headings: headings inside the chunk; in a block, those in [start, body).
        above: number of headings in `trail` that come before the chunk.
        shared: number of headings in `trail` that apply to the whole chunk.
        names: for joined chunks, the headings of the parts below the shared ones.
        apart: 0 for ordinary text, -1 for boilerplate, otherwise the number of the set-apart span (such as
            navigation). Only chunks with equal numbers are joined.
        n_tokens: approximate number of tokens of its text; 0 until they are counted.
        context: text that is encoded before it; "" until it is chosen.
    """

    start: int
    body: int
    end: int
    trail: tuple[str, ...]
    headings: tuple[str, ...]
    above: int
    shared: int
    names: tuple[str, ...] = ()
    apart: int = 0
    n_tokens: int = 0
    context: str = ""

    @property
    def heading(self) -> str:
        """Headings above the chunk, followed by `names`."""
        headings = self.trail[: self.shared]
        if self.names:
            headings += (" \u00b7 ".join(self.names),)
        return " > ".join(headings)

    def part(self, start: int, end: int) -> Chunk:
        """Return the part [start, end) of the chunk. The headings inside the chunk belong to its first part."""
        if start == self.start:
            return replace(self, end=end)
        return replace(self, start=start, body=start, end=end, headings=(), above=len(self.trail))


def split_apart(document: ParsedDocument, block: Chunk, boilerplate: frozenset[int]) -> Iterator[Chunk]:
    """Split a block into ordinary text, set-apart spans and boilerplate. Its headings stay with the first part.

    A part of a few words is not split off: it would be useless as a passage.
    """
    text, at = document.text, block.start
    for start, end, apart in sorted(_apart(document, block)) or _common(text, block, boilerplate):
        end = end if WORD.search(text, end, block.end) else block.end
        if WORD.search(text, max(at, block.body), start):
            yield replace(block.part(at, start), apart=0)
            at = start
        yield replace(block.part(at, end), apart=apart)
        at = end
    if at < block.end:
        yield replace(block.part(at, block.end), apart=0)


def _apart(document: ParsedDocument, block: Chunk) -> Iterator[tuple[int, int, int]]:
    """Yield the set-apart spans within a block as (start, end, number)."""
    first = bisect_right(document.apart, block.start) // 2 * 2
    for number in range(first, bisect_left(document.apart, block.end), 2):
        start, end = document.apart[number : number + 2]
        if _is_enough(document.text, start, end):
            yield max(start, block.start), min(end, block.end), number + 1


def _common(text: str, block: Chunk, boilerplate: frozenset[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the boilerplate spans of a block as (start, end, -1), where -1 marks boilerplate."""
    runs: list[tuple[int, int]] = []
    for start, end, key in sorted(repeatable(text, block.body, block.end)) if boilerplate else ():
        if key in boilerplate:
            if runs and not WORD.search(text, runs[-1][1], start):
                start, before = runs.pop()
                end = max(end, before)
            runs.append((start, end))
    for start, end in runs:
        if _is_enough(text, start, end):
            yield start, end, -1


def _is_enough(text: str, start: int, end: int) -> bool:
    return len(list(islice(WORD.finditer(text, start, end), FEWEST_APART))) == FEWEST_APART


def blocks(document: ParsedDocument) -> Iterator[Chunk]:
    """Yield the blocks of a document without markup, in order. Together they cover its sections.

    A section that consists of its heading only is joined to the next one, unless there is a gap between them.
    """
    following = (*document.sections[1:], None)
    start, headings, above = -1, tuple[str, ...](), 0
    for section, next_section in zip(document.sections, following, strict=False):
        depth = len(section.trail)
        start, above = (start, min(above, depth)) if start >= 0 else (section.start, depth)
        body = _end_of_heading(document, section)
        if body > section.start:
            headings += section.trail[-1:]
            above = min(above, depth - 1)
            is_bare = not document.text[body : section.end].strip()
            is_followed = next_section is not None and next_section.start == section.end
            if is_bare and is_followed and len(headings) < _MOST_BARE_HEADINGS:
                continue
        yield Chunk(start, body, section.end, section.trail, headings, above, shared=depth)
        start, headings = -1, ()


def _end_of_heading(document: ParsedDocument, section: Section) -> int:
    """Return where the text below a section's heading starts; `section.start` if the section has no heading."""
    letters, words = "", _letters(section.trail[-1]) if section.trail else ""
    if words:
        for line in islice(
            KEPT_LINE.finditer(document.text, section.start, section.end), _LONGEST_HEADING
        ):
            letters += _letters(line[0])
            if letters == words:
                return line.end()
            if not words.startswith(letters):
                break
    return section.start


def _letters(text: str) -> str:
    """Normalise a heading, or the line of text that contains it: letters and digits only, lower case."""
    return "".join(character for character in text if character.isalnum()).casefold()


class Contexts:
    """Builds the contexts of one document's passages.

    Args:
        title: title of the document.
        most: maximum number of tokens of a context, including its line end.
        count: returns the number of tokens of a text, without special tokens.
    """

    def __init__(self, title: str, most: int, count: Callable[[str], int]) -> None:
        self._most, self._count = most, count
        self._title = title if len(title) <= _LONGEST_TITLE else ""
        self._costs: dict[str, int] = {"": 0}

    def of(self, trail: Sequence[str], own: Sequence[str] = ()) -> str:
        """Return the longest context that fits, for a passage that begins with the headings `own`."""
        if self._most == 0:
            return ""
        return next(text for text in choices(self._title, trail, own) if self.cost(text) <= self._most)

    def with_line(self, context: str, line: str) -> str:
        """Append a line to a context, if there is room: the header row of a table, or a note's aliases."""
        both = "\n".join(filter(None, (context, one_line(line))))
        return both if len(line) <= _LONGEST_TITLE and self.cost(both) <= self._most else context

    def cost(self, context: str) -> int:
        """Return the number of tokens that a context takes from the room for text."""
        if context not in self._costs:
            self._costs[context] = self._count(context + "\n")
        return self._costs[context]


def choices(title: str, trail: Sequence[str], own: Sequence[str] = ()) -> Iterator[str]:
    """Yield the possible contexts of a passage, from the longest to "".

    In this order: title and all headings; title and innermost heading; that heading alone; the title alone; "". One
    line per heading. A title that equals the outermost heading appears once.

    Args:
        title: title of the document.
        trail: headings above the passage, outermost first.
        own: headings at the start of the passage's own text; they are left out, and so is a title that equals one.

    Example:
        >>> list(choices("Guide", ("Guide", "Keys", "Rotation")))
        ['Guide\nKeys\nRotation', 'Guide\nRotation', 'Rotation', 'Guide', '']
    """
    folded = {_folded(words) for words in own}
    headings = [words for words in trail if _folded(words) not in folded]
    if headings and _folded(headings[0]) == _folded(title):
        headings = headings[1:]
    titles = [title] if title and _folded(title) not in folded else []
    innermost = headings[-1:]
    offered: tuple[list[str], ...] = (titles + headings, titles + innermost, innermost, titles, [])
    yield from dict.fromkeys("\n".join(parts) for parts in offered)


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold()


def spans(
    splitter: TextSplitter, text: str, start: int, end: int, window: int
) -> Iterator[tuple[int, int]]:
    """Cut [start, end) of `text` into consecutive spans; they overlap if the splitter's do.

    Every character except whitespace is in a span: without overlap, each span ends where the next one starts. Spans may
    begin or end with whitespace. A span ends before a lead-in (see `search.corpus.leads`).

    Args:
        splitter: chooses where to cut.
        text: the whole text.
        start, end: the part to cut.
        window: number of characters that the splitter sees at a time; no span is longer.
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
        is_part = stop < end and len(starts) > 1
        following = starts[-1] if is_part else stop
        for first, last in zip(starts[: len(starts) - is_part], ends, strict=False):
            start = lead_in(text, first, last) if last < end else last
            yield first, start
            if start < last:
                break  # the rest is cut again, from the lead-in on
        else:
            start = following


def without_scraps(text: str, cuts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join each span without letters or digits (such as a code fence or a rule) to the span before it."""
    span: tuple[int, int] | None = None
    for start, end in cuts:
        scrap = text[start:end].strip()
        if span and len(scrap) <= _LONGEST_SCRAP and not any(character.isalnum() for character in scrap):
            span = span[0], end
            continue
        if span:
            yield span
        span = start, end
    if span:
        yield span


def even_out(
    text: str,
    cuts: Iterable[tuple[int, int]],
    body: int,
    fits: Callable[[str], bool],
    is_short: Callable[[str], bool],
) -> Iterator[tuple[int, int]]:
    """Return spans that cover the same text, with as few short spans as possible.

    A short span is joined to the next one, the last span to the one before it, if both fit together. Otherwise both are
    cut again near their middle. If that does not fit either, they stay unchanged.

    Args:
        cuts: consecutive spans of `text`, possibly overlapping.
        body: end of the headings of the first span; they stay with the text after them.
        fits: returns True if a text is short enough for a passage.
        is_short: returns True if a text is too short for a passage of its own.
    """
    queue: list[tuple[int, int]] = []
    for span in cuts:
        if queue and is_short(text[slice(*queue[-1])]):
            queue += _recut(text, queue.pop(), span, body, fits)
        else:
            queue.append(span)
        while len(queue) > 2:
            yield queue.pop(0)
    if len(queue) > 1 and is_short(text[slice(*queue[-1])]):
        last = queue.pop()
        queue += _recut(text, queue.pop(), last, body, fits)
    yield from queue


def _recut(
    text: str,
    first: tuple[int, int],
    second: tuple[int, int],
    body: int,
    fits: Callable[[str], bool],
) -> list[tuple[int, int]]:
    """Return two neighbouring spans as one, as two of about equal length, or unchanged."""
    start, end = first[0], second[1]
    if fits(text[start:end]):
        return [(start, end)]
    middle = even_stop(text, max(start, body), end)
    if middle and fits(text[start:middle]) and fits(text[middle:end]):
        return [(start, middle), (middle, end)]
    return [first, second]


def even_stop(text: str, start: int, end: int) -> int | None:
    """Return the best place to cut in the middle third of [start, end): after a paragraph, line, sentence or word.

    Of equally good places, the one nearest the middle; None if the middle third has no such place.
    """
    third, middle = (end - start) // 3, (start + end) // 2
    for pattern in _ENDS:
        ends = (match.end() for match in pattern.finditer(text, start + third, end - third))
        if stops := [stop for stop in ends if stop < end]:
            return lead_in(text, start, min(stops, key=lambda stop: abs(stop - middle)))
    return None


def safe_stop(text: str, start: int, stop: int) -> int:
    """Return the last good place to cut in [start, stop]: after a line, else after a space, else after a character."""
    for mark in "\n\r ":
        if after := text.rfind(mark, (start + stop) // 2, stop) + 1:
            return after
    return stop


def join_chunks(
    parts: Iterable[Chunk], most: int, room: int, breaks: Container[int] = frozenset()
) -> list[Chunk]:
    """Join neighbouring chunks as far as possible, in the order of the document.

    Args:
        most: maximum number of tokens of a joined chunk.
        room: maximum for a chunk that was joined with a very short one; a little over `most`.
        breaks: offsets that no chunk may cross: the starts of slides.
    """
    merged, room = list(parts), min(room, most + most // _VERY_SHORT_PER_PASSAGE)
    for depth in range(max((len(part.trail) for part in merged), default=0), -1, -1):
        before, merged = merged, []
        for part in before:
            if (
                merged
                and part.start not in breaks
                and _fit(merged[-1], part, most)
                and _n_shared(merged[-1], part) >= depth
            ):
                part = _together(merged.pop(), part)
            merged.append(part)
    before, merged = merged, []
    for part in before:
        if (
            merged
            and part.start not in breaks
            and min(merged[-1].n_tokens, part.n_tokens) * _VERY_SHORT_PER_PASSAGE < most
            and _fit(merged[-1], part, room, False)
        ):
            part = _together(merged.pop(), part)
        merged.append(part)
    return merged


def _fit(a: Chunk, b: Chunk, most: int, whole: bool = True) -> bool:
    """Return True if one passage can hold chunk `a`, chunk `b` and all headings of `b` (with `whole`, of both)."""
    shared = _n_shared(a, b)
    lost = b.above > shared or (whole and a.above > shared)
    return a.end == b.start and a.apart == b.apart and a.n_tokens + b.n_tokens <= most and not lost


def _n_shared(a: Chunk, b: Chunk) -> int:
    """Return the number of headings that two chunks share."""
    shared = min(a.shared, b.shared)
    pairs = zip(a.trail[:shared], b.trail[:shared], strict=True)
    return next((i for i, (heading, other) in enumerate(pairs) if heading != other), shared)


def _together(a: Chunk, b: Chunk) -> Chunk:
    shared = _n_shared(a, b)
    return replace(
        a,
        end=b.end,
        trail=a.trail[: max(shared, a.above)],
        headings=a.headings + b.headings,
        shared=shared,
        names=tuple(dict.fromkeys(_names(a, shared) + _names(b, shared))),
        n_tokens=a.n_tokens + b.n_tokens,
    )


def _names(part: Chunk, shared: int) -> tuple[str, ...]:
    """Return the first heading of a chunk below the shared ones, or the headings of the chunks it was joined from."""
    return part.trail[shared : part.shared][:1] or part.names
