"""Headings with levels become sections with trails; shared by Markdown, reStructuredText and HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from search.records.documents import Section


@dataclass(frozen=True)
class Heading:
    """A heading: where it starts in the text, how deep it is (1 is outermost), and its plain words."""

    start: int
    level: int
    words: str


def sections(headings: Iterable[Heading], start: int, end: int) -> tuple[Section, ...]:
    """Cut [start, end) at the headings, which come in order and lie within it.

    A heading's trail holds the nearest heading before it of each smaller level. Levels may be left
    out (an h3 right under an h1), and a heading without words gets the trail of those above it.

    Returns:
        Sections that follow each other without a gap from `start` to `end`; the first has an empty
        trail if text (even blank) stands before the first heading.
    """
    found: list[Section] = []
    above: list[Heading] = []
    opened, trail = start, tuple[str, ...]()
    for heading in headings:
        if heading.start > opened:
            found.append(Section(opened, heading.start, trail))
        above = [other for other in above if other.level < heading.level] + [heading]
        opened, trail = heading.start, tuple(other.words for other in above if other.words)
    if end > opened:
        found.append(Section(opened, end, trail))
    return tuple(found)


def one_line(words: str) -> str:
    """`words` with every run of whitespace made one space: a heading or title as it is shown."""
    return " ".join(words.split())
