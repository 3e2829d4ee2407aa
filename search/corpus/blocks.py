"""Blocks, the stretches of a document that are cut: their contexts, and how a long one is cut.

Each heading stays with the text beneath it, and is encoded in front of the rest.

A long text is cut in time that grows with its length, and no faster. semantic-text-splitter picks good places to cut,
but looks ahead through all of the text that is left: 64,000 characters without a space take it ten times as long per
character as 2,000 do. So it sees one window at a time, and the next window starts where the last passage of this one
did, because only that one's end was decided by the window and not by the text.

It also leaves short pieces: each span takes all that fits, and the rest at the end, or between two long
paragraphs, may be five words. Those rank too high, as there is little in them that does not match. `evened` joins
them to the text beside them, or cuts both again in the middle.

Short sections are joined with their neighbours, so that a passage can stand alone. A link beneath a heading, or half
a sentence, is nearest to whatever resembles the title that is encoded with it. So neighbours are joined while they
fit into one passage, along the tree of headings: the deepest first, then sections beneath the same heading, a
heading's own text with its first sections. What they share stays their context; the headings that they do not share
are in their text, or they are not joined. A very short rest goes to the text before it, or
behind it, and may make that a little too long.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from search.corpus.boilerplate import FEWEST_APART, WORD, repeatable
from search.corpus.text import KEPT_LINE, one_line
from search.records.documents import Document, Section

if TYPE_CHECKING:
    from semantic_text_splitter import TextSplitter

_LONGEST_SCRAP = 16  # characters; each is a token at most, and the model has room for them
# Where a text is best cut in two: between paragraphs, lines, sentences, words.
_ENDS = tuple(
    map(re.compile, (r"\n[^\S\n]*\n\s*", r"[\n\r]\s*", r"[.!?…][\"'”’)\]]*\s+|[。！？]", r"\s+"))
)

_LONGEST_TITLE = 1_000  # characters of a title or header that may be a context

# Joining stops here, so that an outline of nothing but headings does not become one block.
_MOST_BARE_HEADINGS = 8

_VERY_SHORT = 3  # times as much fits into a passage

_LONGEST_HEADING = 10  # lines that it could take


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A section, together with the sections before it that hold nothing but their heading.

    Attributes:
        start, end: its span in the document's text.
        body: where the headings that it begins with end; `start` if it begins with none.
        trail: the headings above the block's text, outermost first: its last section's.
        headings: those between `start` and `body`.
        above: how many headings of the trail are above the block, not in it.
        apart: 0 for a document's own text. What is set apart has a number of its own, boilerplate has -1.
    """

    start: int
    body: int
    end: int
    trail: tuple[str, ...]
    headings: tuple[str, ...]
    above: int
    apart: int = 0


def parted(document: Document, block: TextBlock, boilerplate: frozenset[int]) -> Iterator[TextBlock]:
    """A block in pieces that are set apart, are boilerplate, or neither; its headings stay with the first.

    A piece of a few words stays in place: a passage of its own would say next to nothing.
    """
    text, at = document.text, block.start
    for start, end, apart in sorted(_apart(document, block)) or _common(text, block, boilerplate):
        end = end if WORD.search(text, end, block.end) else block.end
        if WORD.search(text, max(at, block.body), start):
            yield _piece(block, at, start, 0)
            at = start
        yield _piece(block, at, end, apart)
        at = end
    if at < block.end:
        yield _piece(block, at, block.end, 0)


def _apart(document: Document, block: TextBlock) -> Iterator[tuple[int, int, int]]:
    """Spans of a block that the document sets apart, each with its number."""
    first = bisect_right(document.apart, block.start) // 2 * 2
    for number in range(first, bisect_left(document.apart, block.end), 2):
        start, end = document.apart[number : number + 2]
        if _is_enough(document.text, start, end):
            yield max(start, block.start), min(end, block.end), number + 1


def _common(text: str, block: TextBlock, boilerplate: frozenset[int]) -> Iterator[tuple[int, int, int]]:
    """The stretches of a block that are boilerplate."""
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


def _piece(block: TextBlock, start: int, end: int, apart: int) -> TextBlock:
    if start == block.start:
        return replace(block, end=end, apart=apart)
    return TextBlock(start, start, end, block.trail, (), len(block.trail), apart)


def blocks(document: Document) -> Iterator[TextBlock]:
    """The blocks of a document without its markup, in order; together they cover its sections.

    A heading alone says little as a passage, and the section below it lacks something without it. So
    a section that holds only its heading is joined to the next one, unless there is a gap between them.
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
        yield TextBlock(start, body, section.end, section.trail, headings, above)
        start, headings = -1, ()


def _end_of_heading(document: Document, section: Section) -> int:
    """Start of the text beneath a section's heading; `section.start` if no heading begins it."""
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
    """Letters and digits of a heading or its line, in lower case, without marks."""
    return "".join(character for character in text if character.isalnum()).casefold()


class Contexts:
    """The contexts of one document's passages.

    Args:
        title: the document's.
        most: tokens that a context may have, its line end included.
        count: tells the tokens of a text, without special ones.
    """

    def __init__(self, title: str, most: int, count: Callable[[str], int]) -> None:
        self._most, self._count = most, count
        self._title = title if len(title) <= _LONGEST_TITLE else ""
        self._costs: dict[str, int] = {"": 0}

    def of(self, trail: Sequence[str], own: Sequence[str] = ()) -> str:
        """The fullest context that is short enough, for a passage that begins with the headings `own`."""
        if self._most == 0:
            return ""
        return next(text for text in choices(self._title, trail, own) if self.cost(text) <= self._most)

    def with_header(self, context: str, header: str) -> str:
        """A context with the header row of a table below it, if that is short enough."""
        both = "\n".join(filter(None, (context, one_line(header))))
        return both if len(header) <= _LONGEST_TITLE and self.cost(both) <= self._most else context

    def cost(self, context: str) -> int:
        """Tokens that a context takes from the room for text."""
        if context not in self._costs:
            self._costs[context] = self._count(context + "\n")
        return self._costs[context]


def choices(title: str, trail: Sequence[str], own: Sequence[str] = ()) -> Iterator[str]:
    """The contexts that a passage could have, from the fullest to none.

    Title and all headings; title and innermost heading; that heading alone; the title alone; "".
    Each part has a line of its own. A title that the outermost heading repeats appears once.

    Args:
        title: the document's.
        trail: the headings above the passage, outermost first.
        own: headings that the passage's own text begins with, which are left out, as title too.

    Example:
        >>> list(choices("Guide", ("Guide", "Keys", "Rotation")))
        ['Guide\\nKeys\\nRotation', 'Guide\\nRotation', 'Rotation', 'Guide', '']
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


def without_scraps(text: str, cuts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans, those without a letter or digit (a lone code fence, a rule) joined to the one before."""
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


def evened(
    text: str,
    cuts: Iterable[tuple[int, int]],
    body: int,
    fits: Callable[[str], bool],
    is_short: Callable[[str], bool],
) -> Iterator[tuple[int, int]]:
    """Spans that cover what the given ones do, none of them short where that can be helped.

    A short one is joined to the one after it, the last one to the one before it, if both fit together. If they
    do not, they are cut again near their middle. Where that does not fit either, they stay unchanged.

    Args:
        cuts: spans of `text` that follow each other, or overlap.
        body: where the headings end that the first one begins with; they are not cut from what follows.
        fits: tells whether a text is short enough for a passage.
        is_short: tells whether it is too short for one by itself.
    """
    queue: list[tuple[int, int]] = []
    for span in cuts:
        if queue and is_short(text[slice(*queue[-1])]):
            queue += _anew(text, queue.pop(), span, body, fits)
        else:
            queue.append(span)
        while len(queue) > 2:
            yield queue.pop(0)
    if len(queue) > 1 and is_short(text[slice(*queue[-1])]):
        last = queue.pop()
        queue += _anew(text, queue.pop(), last, body, fits)
    yield from queue


def _anew(
    text: str,
    first: tuple[int, int],
    second: tuple[int, int],
    body: int,
    fits: Callable[[str], bool],
) -> list[tuple[int, int]]:
    """Two neighbours as one span, or as two of about the same length, or unchanged."""
    start, end = first[0], second[1]
    if fits(text[start:end]):
        return [(start, end)]
    place = even_stop(text, max(start, body), end)
    halves = [(start, place), (place, end)] if place else [first, second]
    return halves if all(fits(text[slice(*half)]) for half in halves) else [first, second]


def even_stop(text: str, start: int, end: int) -> int | None:
    """Best place for a cut in the middle third of [start, end), of equal places the one nearest the middle.

    After a paragraph, a line, a sentence or a word; None if none of them ends there.
    """
    third, middle = (end - start) // 3, (start + end) // 2
    for pattern in _ENDS:
        ends = (match.end() for match in pattern.finditer(text, start + third, end - third))
        if places := [place for place in ends if place < end]:
            return min(places, key=lambda place: abs(place - middle))
    return None


def safe_stop(text: str, start: int, stop: int) -> int:
    """The best place for a cut at the end of [start, stop]: after a line, a space, else a character."""
    places = (text.rfind(mark, (start + stop) // 2, stop) + 1 for mark in "\n\r ")
    return next(filter(None, places), stop)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document that becomes a passage by itself, or with its neighbours.

    Attributes:
        start, end: its span.
        tokens: about how many there are in its text.
        trail: the headings above its beginning, outermost first: its context.
        above: how many of these are not in its text.
        headings: those in its text.
        shared: how many headings of the trail are above all of it.
        names: if it was joined of others, their headings below the shared ones.
        apart: number of the stretch set apart that it belongs to, 0 for the rest; only equal numbers are joined.
    """

    start: int
    end: int
    tokens: int
    trail: tuple[str, ...]
    above: int
    headings: tuple[str, ...]
    shared: int
    names: tuple[str, ...] = ()
    apart: int = 0

    @property
    def heading(self) -> str:
        """The headings above it, and behind them the names."""
        return " > ".join(
            (*self.trail[: self.shared], *([" \u00b7 ".join(self.names)] if self.names else ()))
        )


def joined(
    parts: Iterable[Chunk], most: int, room: int, breaks: Container[int] = frozenset()
) -> list[Chunk]:
    """Parts in the order of the document, neighbours joined as far as they may be.

    Args:
        most: tokens of a part that is joined of others.
        room: tokens of one that was joined with something very short, at most; and no more than a little over `most`.
        breaks: where no join may reach across: the beginnings of slides.
    """
    merged, room = list(parts), min(room, most + most // _VERY_SHORT)
    for depth in range(max((len(part.trail) for part in merged), default=0), -1, -1):
        before, merged = merged, []
        for part in before:
            if (
                merged
                and part.start not in breaks
                and _fit(merged[-1], part, most)
                and _alike(merged[-1], part) >= depth
            ):
                part = _together(merged.pop(), part)
            merged.append(part)
    before, merged = merged, []
    for part in before:
        if (
            merged
            and part.start not in breaks
            and min(merged[-1].tokens, part.tokens) * _VERY_SHORT < most
            and _fit(merged[-1], part, room, False)
        ):
            part = _together(merged.pop(), part)
        merged.append(part)
    return merged


def _fit(a: Chunk, b: Chunk, most: int, whole: bool = True) -> bool:
    """True if neighbours `a` and `b` may be joined: no heading of `b`, with `whole` also of `a`, gets lost."""
    shared = _alike(a, b)
    lost = b.above > shared or (whole and a.above > shared)
    return a.end == b.start and a.apart == b.apart and a.tokens + b.tokens <= most and not lost


def _alike(a: Chunk, b: Chunk) -> int:
    """Number of headings that two chunks share."""
    pairs = zip(a.trail[: a.shared], b.trail[: b.shared], strict=False)
    return next((i for i, (mine, other) in enumerate(pairs) if mine != other), min(a.shared, b.shared))


def _together(a: Chunk, b: Chunk) -> Chunk:
    shared = _alike(a, b)
    return Chunk(
        start=a.start,
        end=b.end,
        tokens=a.tokens + b.tokens,
        trail=a.trail[: max(shared, a.above)],
        above=a.above,
        headings=a.headings + b.headings,
        shared=shared,
        names=tuple(dict.fromkeys(_names(a, shared) + _names(b, shared))),
        apart=a.apart,
    )


def _names(part: Chunk, shared: int) -> tuple[str, ...]:
    """The first heading of a chunk below the shared ones, or the names it was joined of."""
    return part.trail[shared : part.shared][:1] or part.names
