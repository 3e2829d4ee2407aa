"""Sections as they are cut: each heading stays with the text beneath it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from search.corpus.suffixes import DOCUMENT_KINDS
from search.records.documents import Document, Section

# Joining stops here, so that an outline of nothing but headings does not become one block.
_MOST_BARE_HEADINGS = 8

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_LONGEST_HEADING = 10

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
    if not section.trail:
        return section.start
    lines: list[str] = []
    for line in _lines(document.text, section):
        lines.append(line)
        if _is_heading(lines, section.trail[-1], document.kind):
            return section.start + len("".join(lines))
    return section.start


def _lines(text: str, section: Section) -> Iterator[str]:
    """The first lines of a section, those that its heading could take."""
    at = section.start
    for _ in range(_LONGEST_HEADING):
        line = _LINE.match(text, at, section.end)
        if line is None or at >= section.end:
            return
        yield line[0]
        at = line.end()


def _is_heading(lines: list[str], words: str, kind: str) -> bool:
    """Whether these lines are a heading and complete: what is known is its words and how it is marked."""
    first, last = lines[0].strip(), lines[-1].strip()
    if kind in _SHOWN:
        return " ".join("".join(lines).split()) == words
    if kind == "markdown" and first.startswith("#"):
        return True
    # A line of text with a line of punctuation below it, and in reStructuredText maybe one above it.
    has_text = any(line.strip() and not _ADORNMENT.match(line) for line in lines[:-1])
    return has_text and bool(last) and _ADORNMENT.match(last) is not None and _begins(lines, words)


def _begins(lines: list[str], words: str) -> bool:
    first_word = words.split()[0]
    return any(first_word in line for line in lines)
