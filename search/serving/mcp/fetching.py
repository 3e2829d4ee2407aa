"""The tool `fetch`: a passage with what stands around it, or lines of its document, as the index holds them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from search.errors import InputError
from search.index import Index
from search.ranking.reading import LINES_OF_THEIR_OWN
from search.records.contents import DocumentText, StoredPassage
from search.serving.mcp import answers, asked
from search.serving.mcp.answers import tokens
from search.serving.mcp.tools import passage_of, place
from search.serving.served import Served, in_one_generation


@dataclass(frozen=True)
class _Read:
    """A document that is read around one of its passages, by lines of its text counted from 0."""

    document: DocumentText
    passage: StoredPassage

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and where the last ends."""
        from search.corpus.text import line_starts  # with all readers of files, which a search does without

        text = self.document.text
        return [*(start for start in line_starts(text) if start < len(text)), len(text)]

    @property
    def lines(self) -> int:
        return len(self.starts) - 1

    def at(self, offset: int) -> int:
        """The line in which a character stands."""
        return max(0, bisect_right(self.starts, offset, hi=self.lines) - 1)

    def around(self, lines: int) -> tuple[int, int]:
        """The span of the passage, and so many lines before and behind it."""
        if not lines:
            return self.passage.start, self.passage.end
        first, last = self.at(self.passage.start) - lines, self.at(self.passage.end - 1) + lines
        return self.starts[max(0, first)], self.starts[min(self.lines, last + 1)]

    def of_lines(self, first: int, last: int) -> tuple[int, int]:
        """The span of lines as the file has them, counted from 1; of a format with others, of passages in these.

        Raises:
            InputError: there are none.
        """
        if self.document.kind in LINES_OF_THEIR_OWN:
            there = [
                one for one in self.document.passages if one.line_start <= last and one.line_end >= first
            ]
            if there:
                return there[0].start, there[-1].end
        elif 1 <= first <= min(last, self.lines):
            return self.starts[first - 1], self.starts[min(last, self.lines)]
        known = max((one.line_end for one in self.document.passages), default=0)
        raise InputError(
            f"there are no lines {first}-{last} in '{self.document.document}'. Name some of 1-{known}, the first "
            "before the last."
        )

    def named(self, start: int, end: int) -> tuple[int, int]:
        """The lines of a span as the file has them, counted from 1."""
        if self.document.kind in LINES_OF_THEIR_OWN:
            there = [one for one in self.document.passages if one.start < end and start < one.end]
            there = there or [self.passage]
            return there[0].line_start, there[-1].line_end
        return self.at(start) + 1, max(self.at(start), bisect_left(self.starts, end) - 1) + 1


def fetch(served: Served, given: asked.Fetch) -> answers.Fetched:
    """A passage with lines around it, or other lines of its document."""
    index, id_ = passage_of(served, given.id)

    def find() -> _Read:
        passage = index.passage(id_.passage)
        return _Read(document_of(index, passage.document_id), passage)

    generation, read = in_one_generation(index, None, find)
    notes = list(index.notes)
    if generation != id_.generation:
        notes.append("The index has changed since this id was given; this is what the passage is now.")

    def made(start: int, end: int, cut: str) -> answers.Fetched:
        return _fetched(read, given.id, id_.index, (start, end), cut, notes)

    spans, rest = _lines(read, given.lines) if given.lines else _around(read, given.around)

    def some(n: int) -> answers.Fetched:
        return made(*spans[n], _TOO_LONG.format(rest(n)) if n < len(spans) - 1 else "")

    if answer := _longest(len(spans) - 1, some, given.max_tokens):
        return answer
    (start, end), cut = spans[0], _TOO_LONG.format("ask with a larger max_tokens")
    answer = _longest(end - start, lambda length: made(start, start + length, cut), given.max_tokens)
    return answer or made(start, start, cut)


_TOO_LONG = "All of it is longer than max_tokens; {}."
Spans = tuple[Sequence[tuple[int, int]], Callable[[int], str]]
"""Spans, each longer than the one before; and what to say of the n-th, if it is not the last."""


def _around(read: _Read, lines: int) -> Spans:
    """A passage with 0 to `lines` lines before and behind it."""
    spans = [read.around(n) for n in range(min(lines, read.lines) + 1)]
    return spans, "only {} lines around are here".format


def _lines(read: _Read, lines: str) -> Spans:
    """The first line of some, the first two, and so on."""
    numbers = re.fullmatch(asked.LINES, lines)
    if numbers is None:
        raise InputError("lines are two numbers, the first and the last, as in 120-180.")
    first, last = int(numbers[1]), int(numbers[2])
    start, end = read.of_lines(first, last)
    ends = read.starts[read.at(start) + 1 : bisect_right(read.starts, end)] or [end]
    return [
        (start, stop) for stop in ends
    ], lambda n: f"go on with lines={read.named(start, ends[n])[1] + 1}-{last}"


def _longest(high: int, make: Callable[[int], answers.Fetched], most: int) -> answers.Fetched | None:
    """Of the answers 0 to `high`, each longer than the one before, the longest with so many tokens; None for none."""
    if tokens(make(high)) <= most:
        return make(high)
    found = bisect_right(range(high), False, key=lambda n: tokens(make(n)) > most) - 1
    return make(found) if found >= 0 else None


def document_of(index: Index, id_: int) -> DocumentText:
    """A document with the text of its file, as long as that is what was indexed; else as the index holds it."""
    document, text = index.document(id_), index.file_text(id_)
    return document if text is None else replace(document, text=text, gaps=())


def readable(document: DocumentText, start: int, end: int) -> str:
    """A part of a document without the blanks that stand for what no passage holds; indentation stays."""
    pieces, at = [], start
    for gap in document.gaps:
        if not gap.blank and at < gap.end and gap.start < end:
            pieces += [document.text[at : gap.start], document.text[max(at, gap.start) : gap.end].rstrip(" ")]
            at = gap.end
    return "".join((*pieces, document.text[at:end]))


def _fetched(
    read: _Read, id_: str, index: str, span: tuple[int, int], cut: str, notes: list[str]
) -> answers.Fetched:
    document, passage = read.document, read.passage
    first, last = read.named(*span)
    page = {"page": str(passage.page)} if passage.page else {}
    about = {str(name): str(value) for name, value in document.metadata.items()}
    return answers.Fetched(
        id=id_,
        title=document.title or document.document,
        text=readable(document, *span),
        url=f"{Path(document.path).as_uri()}#L{first}-L{last}",
        place=place(document.document, first, last),
        heading=passage.heading or None,
        cut=cut or None,
        changed=document.changed or None,
        notes=notes or None,
        metadata={**about, "index": index, "kind": document.kind, "lines": str(read.lines), **page},
    )
