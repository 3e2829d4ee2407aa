"""Sections as they are cut: each heading stays with the text beneath it, and is encoded in front of the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from search.corpus.files import DOCUMENT_KINDS
from search.records.documents import Document, Section

# Joining stops here, so that an outline of nothing but headings does not become one block.
_MOST_BARE_HEADINGS = 8

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_LONGEST_HEADING = 10  # lines that it could take

# Kinds whose text is what a reader sees, so that a heading is its words and no marks.
_SHOWN = ("html", *DOCUMENT_KINDS)


@dataclass(frozen=True)
class Block:
    """A section, together with the sections before it that hold nothing but their heading.

    Attributes:
        start, end: its span in the document's text.
        body: where the headings that it begins with end; `start` if it begins with none.
        trail: the headings above the block's text, outermost first: its last section's.
        shown: the headings between `start` and `body`.
    """

    start: int
    body: int
    end: int
    trail: tuple[str, ...]
    shown: tuple[str, ...]


def blocks(document: Document) -> Iterator[Block]:
    """The blocks of a document, in order; together they cover what its sections cover.

    A heading alone says little as a passage, and the section below it lacks something without it. So
    a section that holds only its heading is joined to the next one, unless a gap lies between them.
    """
    following = (*document.sections[1:], None)
    start, shown = -1, tuple[str, ...]()
    for section, next_section in zip(document.sections, following, strict=False):
        start = section.start if start < 0 else start
        body = _end_of_heading(document, section)
        if body > section.start:
            shown += section.trail[-1:]
            is_bare = not document.text[body : section.end].strip()
            is_followed = next_section is not None and next_section.start == section.end
            if is_bare and is_followed and len(shown) < _MOST_BARE_HEADINGS:
                continue
        yield Block(start, body, section.end, section.trail, shown)
        start, shown = -1, ()


def _end_of_heading(document: Document, section: Section) -> int:
    """Where the text beneath a section's heading starts; `section.start` if no heading begins it."""
    lines: list[str] = []
    if section.trail:
        for line in islice(_LINE.finditer(document.text, section.start, section.end), _LONGEST_HEADING):
            lines.append(line[0])
            if _is_heading(lines, section.trail[-1], document.kind):
                return line.end()
    return section.start


def _is_heading(lines: list[str], words: str, kind: str) -> bool:
    """Whether these lines are a heading and complete: what is known is its words and how it is marked."""
    first, last = lines[0].strip(), lines[-1].strip()
    if kind in _SHOWN:
        return " ".join("".join(lines).split()) == words
    if kind == "markdown" and first.startswith("#"):
        return True
    # A line of text with a line of punctuation below it, and in reStructuredText maybe one above it.
    has_text = any(line.strip() and not _ADORNMENT.match(line) for line in lines[:-1])
    is_underlined = bool(last) and _ADORNMENT.match(last) is not None
    return has_text and is_underlined and any(words.split()[0] in line for line in lines)


class Contexts:
    """The contexts of one document's passages.

    Args:
        title: the document's.
        most: tokens that a context may have, its line end included.
        count: tells the tokens of a text, without special ones.
    """

    def __init__(self, title: str, most: int, count: Callable[[str], int]) -> None:
        self._title, self._most, self._count = title, most, count
        self._costs: dict[str, int] = {"": 0}

    def of(self, trail: Sequence[str], shown: Sequence[str] = ()) -> str:
        """The fullest context that is short enough, for a passage that begins with the headings `shown`."""
        if self._most == 0:
            return ""
        return next(text for text in choices(self._title, trail, shown) if self.cost(text) <= self._most)

    def cost(self, context: str) -> int:
        """Tokens that a context takes from the room for text."""
        if context not in self._costs:
            self._costs[context] = self._count(context + "\n")
        return self._costs[context]


def choices(title: str, trail: Sequence[str], shown: Sequence[str] = ()) -> Iterator[str]:
    """The contexts that a passage could have, from the fullest to none.

    Title and all headings; title and innermost heading; that heading alone; the title alone; "".
    Each part stands on a line of its own. A title that the outermost heading repeats is there once.

    Args:
        title: the document's.
        trail: the headings above the passage, outermost first.
        shown: headings that the passage's own text begins with, which are left out, as title too.

    Example:
        >>> list(choices("Guide", ("Guide", "Keys", "Rotation")))
        ['Guide\\nKeys\\nRotation', 'Guide\\nRotation', 'Rotation', 'Guide', '']
    """
    said = {_folded(words) for words in shown}
    headings = [words for words in trail if _folded(words) not in said]
    if headings and _folded(headings[0]) == _folded(title):
        headings = headings[1:]
    titles = [title] if title and _folded(title) not in said else []
    innermost = headings[-1:]
    offered: tuple[list[str], ...] = (titles + headings, titles + innermost, innermost, titles, [])
    yield from dict.fromkeys("\n".join(parts) for parts in offered)


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold()
