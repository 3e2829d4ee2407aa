"""A passage as it stands in its file: its own lines, numbered where the file has them, what counts in them marked.

Marks are there in colour alone. A passage is cut to the rows whose marks add most to its score; where none is marked,
to its first rows below its own heading.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from search.records.documents import PLAIN_KINDS
from search.records.explanations import Highlight
from search.records.hits import Hit, Surroundings
from search.records.shown import Shown
from search.render.format import escape
from search.render.terminal import Canvas

ROWS = 6  # of a passage
_MARKED, _STRONGLY = Style(color="green"), Style(color="green", bold=True)
_STRONG = 0.4  # of what the strongest mark adds
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARGIN = re.compile(r"\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)*")  # what the rest of a long line stands below
_PIECE = re.compile(
    r".{1,88}(?:\s+|$)|.{1,88}"
)  # of a line where rows have no width: cut between words if it can be
_RULER = re.compile(r"([^\w\s])\1{2,}\s*")


@dataclass(frozen=True)
class Row:
    """A line of a passage, or the part of one that fits into the width.

    Attributes:
        number: of the line in the file; None where it has none.
        starts: whether a line begins here.
        adds: what its marks add to the score.
    """

    text: Text
    number: int | None = None
    starts: bool = True
    adds: float = 0.0


def draw_passage(
    canvas: Canvas,
    hit: Hit,
    marks: Sequence[Highlight],
    beside: Surroundings | None = None,
) -> None:
    """A passage, cut to a few rows; or all of it, with the lines of its file that stand around it."""
    own, heading = _rows(canvas, hit, marks)
    beside, whole = beside or Surroundings(), beside is not None and not beside.note
    first, last = (0, len(own)) if whole else window(own, heading)
    rows = [*rows_of(canvas, beside.lines_before), *own[first:last], *rows_of(canvas, beside.lines_after)]
    digits = max((len(str(row.number)) for row in rows if row.number), default=0)
    for row in rows:
        text, number = row.text, row.number if row.starts or row is rows[0] else None
        if row is own[first] and first > heading and not (row.starts and digits):
            text = _cut_before(text)
        gutter = f"{number or '':>{max(4, digits)}}  " if digits else "    "
        more = " …" if row is own[last - 1] and last < len(own) else ""
        canvas.line((gutter, "dim"), text, (more, "dim"), whole=True)


def _cut_before(text: Text) -> Text:
    """A row with an ellipsis before it, in its margin if it has one."""
    margin = len(text.plain) - len(text.plain.lstrip(" "))
    return Text.assemble(" " * (margin - 2), ("… ", "dim"), text[margin:])


def shown_lines(hit: Hit, marks: Sequence[Highlight], beside: Surroundings) -> list[tuple[int, str]]:
    """The lines of a passage that are shown, whole, each with its number in the file."""
    lines, heading = _lines(hit, marks, colour=False)
    first, last = window(lines, heading)
    return [
        (row.number or _line_of(hit, beside, at), row.text.plain)
        for at, row in enumerate(lines[first:last], first)
        if row.text.plain.strip()
    ]


def pointed(hit: Hit, marks: Sequence[Highlight], beside: Surroundings) -> tuple[int, int, str]:
    """Where an editor is to go: line and column in the file, both from 1, and the text of that line as far as known.

    That is the first word that counts below the passage's own heading; where there is none, the line below that.
    """
    lines, heading = _lines(hit, marks, colour=False)
    spans = _spans(hit.text)
    below = spans[heading][0]
    start = min((mark.start for mark in marks if mark.start >= below), default=below)
    at = bisect_right(spans, (start, len(hit.text) + 1)) - 1
    number, text = lines[at].number, hit.text[slice(*spans[at])]
    if number is None:
        return _line_of(hit, beside, at), 1, _readable(text)
    before = beside.start if at == 0 else ""
    return number, len(before) + start - spans[at][0] + 1, before + text


def _line_of(hit: Hit, beside: Surroundings, at: int) -> int:
    """The line of the file on which a line of HTML begins, or else the passage; 1 where the file has none."""
    if beside.numbers:
        return beside.numbers[at]
    return hit.line_start if hit.kind in (*PLAIN_KINDS, "html", "csv", "jsonl") else 1


def window(rows: Sequence[Row], first: int, most: int = ROWS) -> tuple[int, int]:
    """The rows to show: those whose marks add most, rather from the beginning of a paragraph or line on, and early."""
    if len(rows) - first <= most + 2:
        return first, len(rows)

    def worth(start: int) -> tuple[float, bool, bool, int]:
        adds = round(sum(row.adds for row in rows[start : start + most]), 9)
        begins = rows[start].starts and (start == first or not rows[start - 1].text.plain.strip())
        return adds, begins, rows[start].starts, -start

    start = max(range(first, len(rows) - most + 1), key=worth)
    last = start + most
    while last > start + 1 and not rows[last - 1].text.plain.strip():
        last -= 1
    while start < last - 1 and not rows[start].text.plain.strip():
        start += 1
    return start, last


@dataclass(frozen=True)
class Cut:
    """The part of a passage that is shown where rows have no width of their own.

    Attributes:
        start, end: its span in the passage's text.
        before, after: whether something stands before it, besides the passage's own heading, and behind it.
    """

    start: int
    end: int
    before: bool
    after: bool


def cut(hit: Hit, marks: Sequence[Highlight]) -> Cut:
    """A passage, cut to where its marks add most."""
    spans = _spans(hit.text)
    lines = [_pieces(hit.text, *span) for span in spans]
    pieces = [piece for line in lines for piece in line]
    added = [sum(mark.weight for mark in marks if start <= mark.start < end) for start, end in pieces]
    begin = {line[0] for line in lines}
    rows = [
        Row(Text(hit.text[slice(*piece)]), starts=piece in begin, adds=adds)
        for piece, adds in zip(pieces, added, strict=True)
    ]
    heading = sum(map(len, lines[: _heading(hit, spans)]))
    first, last = window(rows, heading)
    return Cut(pieces[first][0], pieces[last - 1][1], first > heading, last < len(rows))


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of the rows of a line."""
    return [found.span() for found in _PIECE.finditer(text, start, end)] or [(start, end)]


def _rows(canvas: Canvas, hit: Hit, marks: Sequence[Highlight]) -> tuple[list[Row], int]:
    """The rows of a passage, and how many of them are its own heading."""
    lines, heading = _lines(hit, marks, canvas.colour)
    wrapped = [_wrapped(canvas, line) for line in lines]
    return [row for line in wrapped for row in line], sum(map(len, wrapped[:heading]))


def rows_of(canvas: Canvas, lines: Sequence[tuple[int, str]]) -> list[Row]:
    """Lines of the file that stand around a passage."""
    return [
        row
        for number, line in lines
        for row in _wrapped(canvas, Row(Text(_readable(line), style="dim"), number))
    ]


def _wrapped(canvas: Canvas, line: Row) -> list[Row]:
    """The rows of a line; all but the first stand below its first word, within a list below that of its item."""
    room = canvas.width - max(4, len(str(line.number or ""))) - 4  # the gutter, and an ellipsis
    margin = _MARGIN.match(line.text.plain)
    indent = margin.end() if margin and margin.end() <= room // 2 else 0
    head, *rest = canvas.wrapped(line.text[indent:], room - indent) or [Text()]
    texts = [line.text[:indent] + head, *(Text(" " * indent) + row for row in rest)]
    for text in texts:
        text.rstrip()
    return [Row(text, line.number, at == 0, _adds(text)) for at, text in enumerate(texts)]


def _adds(text: Text) -> float:
    return sum(
        span.style.meta["adds"] for span in text.spans if isinstance(span.style, Style) and span.style.meta
    )


def _lines(hit: Hit, marks: Sequence[Highlight], colour: bool) -> tuple[list[Row], int]:
    """The lines of a passage, marked, and how many of them are its own heading."""
    spans = _spans(hit.text)
    lines = [_readable(hit.text[start:end]) for start, end in spans]
    text = _in_colours(hit, "\n".join(lines)) if colour else Text("\n".join(lines))
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)

    def place(offset: int) -> int:
        line = bisect_right(spans, (offset, len(hit.text) + 1)) - 1
        return begins[line] + len(_readable(hit.text[spans[line][0] : offset]))

    strong = _STRONG * max((mark.weight for mark in marks), default=0.0)
    for mark in marks:
        style = _STRONGLY if mark.weight >= strong else _MARKED
        text.stylize(style + Style(meta={"adds": mark.weight}), place(mark.start), place(mark.end))
    numbered = hit.kind in PLAIN_KINDS and hit.line_end - hit.line_start + 1 == len(lines)
    rows = [
        Row(line, hit.line_start + at if numbered else None, True, _adds(line))
        for at, line in enumerate(text.split("\n", allow_blank=True))
    ]
    return rows, _heading(hit, spans)


def _spans(text: str) -> list[tuple[int, int]]:
    """Where each line stands, without its end; what is empty behind the last end is none."""
    spans, at = [], 0
    for end in _LINE_END.finditer(text):
        spans.append((at, end.start()))
        at = end.end()
    return [*spans, (at, len(text))] if at < len(text) or not spans else spans


def _heading(hit: Hit, spans: Sequence[tuple[int, int]]) -> int:
    """How many lines at the beginning are the passage's own heading, which is said above it; 0 if there is no other."""
    read, trail = Shown(hit.text, hit.hidden), hit.heading.split(" > ")
    names = {"", *trail, *trail[-1].split(" \u00b7 ")}  # of sections that were joined
    for number, (start, end) in enumerate(spans):
        line = read.between(start, end).strip().strip("#").strip()
        if line not in names and not _RULER.fullmatch(line):
            return number
    return 0


def _readable(text: str) -> str:
    """A line or the beginning of one, harmless, with spaces for tabs."""
    return escape(text).replace("\t", "    ")


def _in_colours(hit: Hit, text: str) -> Text:
    """Lines of code in the colours of their language; any other as they are."""
    if hit.kind != "code" and "```" not in text:
        return Text(text)
    from search.render.code import in_colours

    return in_colours(hit, text)
