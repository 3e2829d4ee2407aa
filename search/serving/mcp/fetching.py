"""The tool `fetch`: a passage with what stands around it, or lines of its document, as the index holds them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from search.errors import InputError
from search.index import Index
from search.ranking.reading import LINES_OF_THEIR_OWN
from search.records.contents import DocumentText, StoredPassage
from search.serving.mcp.answers import Fetched, PassageId, tokens
from search.serving.mcp.tools import Id, Tokens, passage_of, place, tool
from search.serving.served import Served, in_one_generation

LINES = r"^([0-9]{1,9})-([0-9]{1,9})$"


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

    def around(self, lines: int) -> list[tuple[int, int]]:
        """The span of the passage, then with one line before and behind it, with two, up to so many."""
        first, last = self.at(self.passage.start), self.at(self.passage.end - 1)
        wider = range(1, min(lines, self.lines) + 1)
        return [
            (self.passage.start, self.passage.end),
            *((self.starts[max(0, first - n)], self.starts[min(self.lines, last + n + 1)]) for n in wider),
        ]

    def of_lines(self, lines: str) -> tuple[int, int]:
        """The span of lines as the file has them, counted from 1; of a format with others, of passages in these.

        Raises:
            InputError: there are none.
        """
        numbers = re.fullmatch(LINES, lines)
        if numbers is None:
            raise InputError("lines are two numbers, the first and the last, as in 120-180.")
        first, last = int(numbers[1]), int(numbers[2])
        passages = self.document.passages
        if self.document.kind in LINES_OF_THEIR_OWN:
            those = [one for one in passages if one.line_start <= last and one.line_end >= first]
            if those:
                return those[0].start, those[-1].end
        elif 1 <= first <= min(last, self.lines):
            return self.starts[first - 1], self.starts[min(last, self.lines)]
        known = max((one.line_end for one in passages), default=0)
        raise InputError(
            f"there are no lines {lines} in '{self.document.document}'. Name some of 1-{known}, the first "
            "before the last."
        )

    def named(self, start: int, end: int) -> tuple[int, int]:
        """The lines of a span as the file has them, counted from 1."""
        if self.document.kind in LINES_OF_THEIR_OWN:
            there = [one for one in self.document.passages if one.start < end and start < one.end]
            there = there or [self.passage]
            return there[0].line_start, there[-1].line_end
        return self.at(start) + 1, max(self.at(start), bisect_left(self.starts, end) - 1) + 1


@tool("Read a passage or lines")
def fetch(
    served: Served,
    id: Id,
    around: Annotated[
        int, Field(ge=0, le=10_000, description="How many lines before the passage and behind it, too.")
    ] = 20,
    lines: Annotated[
        str | None,
        Field(
            max_length=30,
            description="Instead, these lines of its document, first and last: 120-180",
            json_schema_extra={"pattern": LINES},
        ),
    ] = None,
    offset: Annotated[int, Field(ge=0, description="Characters to skip, as `cut` of an answer says.")] = 0,
    max_tokens: Tokens = 2_000,
) -> Fetched:
    """Read a passage that search found with the lines around it, or any lines of its document. If the document is right
    but the answer does not stand here, read on there with `lines`. Answer from this, and cite `place`."""
    index, id_ = passage_of(served, id)

    def find() -> _Read:
        passage = index.passage(id_.passage)
        return _Read(document_of(index, passage.document_id), passage)

    generation, read = in_one_generation(index, None, find)
    notes = list(index.notes)
    if generation != id_.generation:
        notes.append("The index has changed since this id was given; this is what the passage is now.")

    def make(span: tuple[int, int], cut: str = "") -> Fetched:
        return _fetched(read, id_, span, cut, notes)

    def fitting(spans: Sequence[tuple[int, int]]) -> int:
        """How many of the spans, each longer than the one before, fit."""
        return bisect_left(spans, True, key=lambda span: tokens(make(span, _CUT + 70 * ".")) > max_tokens)

    spans = [read.of_lines(lines)] if lines else read.around(around)
    count = fitting(spans)
    if count and not offset:
        rest = f"{_CUT}only {count - 1} lines around are here." if count < len(spans) else ""
        return make(spans[count - 1], rest)
    start, end = spans[0][0] + offset, spans[0][1]
    if start >= end:
        raise InputError(
            f"there is nothing behind offset {offset}. Leave it out to begin with the first part."
        )
    longest = min(end, start + 4 * max_tokens)
    stop = start + max(1, fitting([(start, stop) for stop in range(start + 1, longest + 1)]))
    if stop == end:
        return make((start, end))
    stop = read.document.text.rfind("\n", start, stop) + 1 or stop
    same = f"lines={lines}" if lines else "around=0"
    return make((start, stop), f"{_CUT}go on with {same} and offset={offset + stop - start}.")


_CUT = "All of it is longer than max_tokens: "


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


def _fetched(read: _Read, id_: PassageId, span: tuple[int, int], cut: str, notes: list[str]) -> Fetched:
    document, passage = read.document, read.passage
    first, last = read.named(*span)
    page = {"page": str(passage.page)} if passage.page else {}
    about = {str(name): str(value) for name, value in document.metadata.items()}
    return Fetched(
        id=str(id_),
        title=document.title or document.document,
        text=readable(document, *span),
        url=f"{Path(document.path).as_uri()}#L{first}-L{last}",
        place=place(document.document, first, last),
        heading=passage.heading or None,
        cut=cut or None,
        changed=document.changed or None,
        notes=notes or None,
        metadata={**about, "index": id_.index, "kind": document.kind, "lines": str(read.lines), **page},
    )
