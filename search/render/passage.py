"""A passage as it stands in its file: its own lines, numbered where the file has them, what counts in them marked.

Marks are there in colour alone. A passage is cut to the rows whose marks add most to its score; where none is marked,
to its first rows below its own heading. Code has the colours of its language.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

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
_PIECE = re.compile(r".{1,88}(?:\s+|$)|.{1,88}")  # of a line where rows have no width
_RULER = re.compile(r"([^\w\s])\1{2,}\s*")
_FENCED = re.compile(r"^```[ \t]*(\w[\w+#.-]*)[^\n]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


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


def draw_passage(
    canvas: Canvas, hit: Hit, marks: Sequence[Highlight], beside: Surroundings | None = None
) -> None:
    """A passage, cut to a few rows; or all of it, with the lines of its file that stand around it."""
    lines, heading = _lines(hit, marks, canvas.colour)
    wrapped = [_wrapped(canvas, line) for line in lines]
    own, first = [*chain.from_iterable(wrapped)], sum(map(len, wrapped[:heading]))
    beside, whole = beside or Surroundings(), beside is not None and not beside.note
    begin, end = (0, len(own)) if whole else window(own, first)
    rows = [*rows_of(canvas, beside.lines_before), *own[begin:end], *rows_of(canvas, beside.lines_after)]
    digits = max((len(str(row.number)) for row in rows if row.number), default=0)
    for row in rows:
        number = row.number if row.starts or row is rows[0] else None
        gutter = f"{number or '':>{max(4, digits)}}  " if digits else "    "
        before = "… " if row is own[begin] and begin > first and not (row.starts and digits) else ""
        after = " …" if row is own[end - 1] and end < len(own) else ""
        canvas.line((gutter + before, "dim"), row.text, (after, "dim"), whole=True)


def rows_of(canvas: Canvas, lines: Sequence[tuple[int, str]]) -> list[Row]:
    """Lines of the file that stand around a passage."""
    texts = [Row(Text(_readable(line), style="dim"), number) for number, line in lines]
    return [row for line in texts for row in _wrapped(canvas, line)]


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
        return _line_of(hit), 1, _readable(text)
    before = beside.start if at == 0 else ""
    return number, len(before) + start - spans[at][0] + 1, before + text


def _line_of(hit: Hit) -> int:
    """The line of the file on which the passage begins; 1 where the file has none."""
    return hit.line_start if hit.kind in (*PLAIN_KINDS, "html", "csv", "jsonl") else 1


def cut(hit: Hit, marks: Sequence[Highlight]) -> Cut:
    """A passage, cut to where its marks add most."""
    spans = _spans(hit.text)
    lines = [[found.span() for found in _PIECE.finditer(hit.text, *span)] or [span] for span in spans]
    pieces = [piece for line in lines for piece in line]
    rows = [
        Row(
            Text(hit.text[start:end]),
            starts=any(line[0] == (start, end) for line in lines),
            adds=sum(mark.weight for mark in marks if start <= mark.start < end),
        )
        for start, end in pieces
    ]
    heading = sum(map(len, lines[: _heading(hit, spans)]))
    first, last = window(rows, heading)
    return Cut(pieces[first][0], pieces[last - 1][1], first > heading, last < len(rows))


def window(rows: Sequence[Row], first: int, most: int = ROWS) -> tuple[int, int]:
    """The rows to show: those whose marks add most, rather from the beginning of a line on, and early."""
    if len(rows) - first <= most + 2:
        return first, len(rows)

    def worth(start: int) -> tuple[float, bool, bool, int]:
        adds = round(sum(row.adds for row in rows[start : start + most]), 9)
        return adds, bool(rows[start].text.plain.strip()), rows[start].starts, -start

    start = max(range(first, len(rows) - most + 1), key=worth)
    return start, start + most


def _wrapped(canvas: Canvas, line: Row) -> list[Row]:
    """The rows of a line."""
    room = canvas.width - max(4, len(str(line.number or ""))) - 4  # the gutter, and an ellipsis
    texts = canvas.wrapped(line.text, room) or [Text()]
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
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    text = Text("\n".join(lines))
    if colour:
        _colour(text, hit)

    def place(offset: int) -> int:
        line = bisect_right(spans, (offset, len(hit.text) + 1)) - 1
        return begins[line] + len(_readable(hit.text[spans[line][0] : offset]))

    strong = _STRONG * max((mark.weight for mark in marks), default=0.0)
    for mark in marks:
        style = _STRONGLY if mark.weight >= strong else _MARKED
        text.stylize(style + Style(meta={"adds": mark.weight}), place(mark.start), place(mark.end))
    numbered = hit.kind in PLAIN_KINDS and hit.line_end - hit.line_start + 1 == len(lines)
    rows = [
        Row(line, hit.line_start + at if numbered else None, adds=_adds(line))
        for at, line in enumerate(text.split("\n", allow_blank=True))
    ]
    return rows, _heading(hit, spans)


def _spans(text: str) -> list[tuple[int, int]]:
    """Where each line stands, without its end; what is empty behind the last end is none."""
    ends = [found.span() for found in _LINE_END.finditer(text)]
    spans = list(zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True))
    return spans[:-1] if ends and spans[-1][0] == len(text) else spans


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


def _colour(text: Text, hit: Hit) -> None:
    """Colour a file of code, or a fenced block that is most of a text, so that it can be read on light and dark."""
    blocks = [(found[1], found[2], found.start(2)) for found in _FENCED.finditer(text.plain)]
    parts = [block for block in blocks if 2 * len(block[1]) > len(text)]
    if hit.kind != "code" and not parts:
        return
    from pygments.token import Comment, Keyword, Number, String
    from rich.syntax import ANSISyntaxTheme, Syntax

    if hit.kind == "code":
        parts = [(Syntax.guess_lexer(hit.path, text.plain), text.plain, 0)]
    tones = {Comment: Style(dim=True), Keyword: Style(color="magenta")}
    theme = ANSISyntaxTheme({**tones, String: Style(color="cyan"), Number: Style(color="cyan")})
    for lexer, code, start in parts:
        for span in Syntax(code, lexer, theme=theme).highlight(code).spans:
            text.stylize(span.style, start + span.start, start + span.end)
