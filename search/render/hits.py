"""Ranked hits and duplicates for a terminal; for hits also their paths.

A passage is drawn with its lines as in the file, numbered if the file has lines, and with coloured highlights. It is
cut to the rows whose highlights contribute most to its score; without highlights, to its first rows below its own
heading.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, starmap
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from search.records.document_map import TOPIC_FIELD, DocumentMap
from search.records.documents import PLAIN_KINDS
from search.records.hits import Cluster, Hit, Surroundings, VerdictWords
from search.records.visible_text import VisibleText
from search.render.format import (
    copies_of,
    counted,
    escape,
    escaped_name,
    headings,
    name_of_file,
    one_line,
    read_by,
    shortened,
    since_indexed,
    verdict_line,
    where,
)
from search.render.terminal import Canvas, as_text

if TYPE_CHECKING:
    from search.records.explanations import Highlight

VERDICT_STYLES: Mapping[VerdictWords, str] = {
    "answered": "green",
    "probably answered": "green",
    "perhaps": "yellow",
    "probably not here": "red",
    "found": "green",
    "not found": "red",
}
# Pipes and rulers of tables, overstruck letters, and colours of a terminal.
_HARD_MARK = re.compile(r"[ \t|:+-]*\|[ \t|:+-]*|[^\n]*[\b\x1b][^\n]*")
_LONGEST_SENTENCE = 320
_PREVIEW = 160  # characters of a near-duplicate passage


@as_text
def hits(
    canvas: Canvas,
    ranked: Sequence[Hit],
    *,
    no_hits: str = "No hits.",
    quiet: bool = False,
    grouped: bool = False,
    around: Sequence[Surroundings] | None = None,
    marks: Sequence[Sequence[Highlight]] | None = None,
    below: Callable[[Canvas, Hit], None] | None = None,
) -> None:
    """Draw ranked hits: score, place, headings, and the lines of the passage that match best.

    Args:
        no_hits: message for an empty list.
        quiet: leave out the verdict.
        grouped: hits of one document are consecutive, and its name is drawn above them.
        around: lines of the file around each hit.
        marks: highlights of each hit.
        below: draws something below each hit.
    """
    if not ranked:
        canvas.line(no_hits, whole=True)
        return
    before = None
    for place, hit in enumerate(ranked):
        if grouped and hit.document != before:
            title = f"  {one_line(hit.title)}" if hit.title else ""
            canvas.line((escaped_name(hit.document), "bold cyan"), (title, "bold"), whole=True)
            canvas.gap()
        before = hit.document
        _draw(canvas, hit, around[place] if around else None, marks[place] if marks else ())
        if below:
            below(canvas, hit)
    if not quiet and (line := verdict_line(ranked)):
        verdict = ranked[0].verdict
        canvas.line(line, style=VERDICT_STYLES[verdict.says] if verdict else "")


@as_text
def one_hit(canvas: Canvas, hit: Hit, marks: Sequence[Highlight] = ()) -> None:
    """Draw one hit as `hits` does."""
    _draw(canvas, hit, None, marks)


def _draw(canvas: Canvas, hit: Hit, beside: Surroundings | None, marks: Sequence[Highlight]) -> None:
    moved = f"  (was {hit.rank_before})" if hit.rank_before else ""
    canvas.line(
        f"{hit.rank:>2}  ",
        (f"{hit.score:.3f}", "green"),
        "  ",
        (f"{where(hit)}{read_by(hit)}", "cyan"),
        (f"  p{hit.passage_id}", "dim"),
        (f"  {escape(hit.index)}" if hit.index else "", "magenta"),
        (moved, "dim"),
        style="bold",
        whole=True,
    )
    if since := since_indexed(hit):
        canvas.line(since, style="yellow", indent=4)
    if title := headings(hit):
        canvas.line(title, style="bold", indent=4)
    draw_passage(canvas, hit, marks, beside)
    if hit.copies:
        canvas.dim(copies_of(hit), indent=4)
    if beside and beside.note:
        canvas.line(escape(beside.note), style="yellow", indent=4)
    canvas.gap()


def paths(ranked: Sequence[Hit]) -> str:
    """Return the paths of the hits' files, one per line, best first, without duplicates.

    Paths are relative to the current folder if the files are inside it.
    """
    return "\n".join(dict.fromkeys(map(name_of_file, ranked)))


_SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s)|\s*\n\s*\n|\Z)", re.DOTALL)


def sentence_lines(ranked: Sequence[Hit], marks: Sequence[Sequence[Highlight]]) -> str:
    """Return a line for each hit: `path:line  score  sentence`, with the sentence whose highlights contribute most."""
    return "\n".join(starmap(_sentence_line, zip(ranked, marks, strict=True)))


def _sentence_line(hit: Hit, marks: Sequence[Highlight]) -> str:
    spans = _spans(hit.text)
    begin = spans[_heading(hit, spans)][0]
    sentences = [match.span() for match in _SENTENCE.finditer(hit.text, begin)] or [(0, len(hit.text))]
    read = VisibleText(hit.text, hit.hidden).between

    def worth(span: tuple[int, int]) -> tuple[float, bool]:
        adds = sum(mark.weight for mark in marks if span[0] <= mark.start < span[1])
        return adds, bool(read(*span).strip())  # the number of a list is hidden

    start, end = max(sentences, key=worth)
    text = read(start, end)
    place = where(hit)
    if hit.kind in PLAIN_KINDS:
        before = len(_LINE_END.findall(hit.text[:start]))
        place = f"{name_of_file(hit)}:{min(hit.line_start + before, hit.line_end)}"
    return f"{place}  {hit.score:.3f}  {shortened(one_line(text), _LONGEST_SENTENCE)}"


@as_text
def duplicates(canvas: Canvas, clusters: Sequence[Cluster], threshold: float) -> None:
    """Draw clusters of near-duplicates with the places of their passages; "=" marks a text that occurred before."""
    if not clusters:
        canvas.line(f"No two passages have a cosine of {threshold:g} or more.", whole=True)
        return
    for number, cluster in enumerate(clusters, 1):
        alike = "the same text" if cluster.exact else f"cosines of at least {cluster.lowest:.3f}"
        canvas.line(f"{number:>2}  {len(cluster.passages)} passages, {alike}", style="bold")
        for copy in cluster.passages:
            same = copy.same_text_as is not None
            mark = "=     " if same else f"{copy.cosine:.3f} "
            canvas.line(
                f"    {mark} ", (where(copy), "cyan"), (f"  p{copy.passage_id}", "dim"), whole=True
            )
            if not same:
                canvas.dim(shortened(one_line(copy.text), _PREVIEW), indent=11)
        canvas.gap()
    total = sum(len(cluster.passages) for cluster in clusters)
    canvas.dim(f"{total:,} passages in {counted(len(clusters), 'cluster')}; = marks a repeated text.")


@as_text
def document_map(canvas: Canvas, map_: DocumentMap) -> None:
    """Draw the topics, folders or kinds of the documents on a map with their numbers of documents."""
    documents = f"{counted(map_.documents, 'document')}, {len(map_.points):,} on the map"
    canvas.line(f"{documents}, by {map_.grouped_by}:", style="bold")
    for group, count in map_.groups.items():
        canvas.line(f"{count:>8,}  ", (one_line(group), "cyan"))
    if map_.grouped_by == "topic" and map_.is_complete:
        canvas.dim(f"To search in one, add to a query: --where '{TOPIC_FIELD}=\"NAME\"'")
    canvas.dim("To draw it, add: --png FILE or --html FILE")


ROWS = 6  # of a passage
_MARKED, _STRONGLY = Style(color="green"), Style(color="green", bold=True)
_STRONG = 0.4  # share of the strongest mark's contribution
_LINE_END = re.compile(r"\r\n|\r|\n")
_PIECE = re.compile(r".{1,88}(?:\s+|$)|.{1,88}")  # a part of a line, if rows have no fixed width
_RULER = re.compile(r"([^\w\s])\1{2,}\s*")


@dataclass(frozen=True)
class PassageRow:
    """A line of a passage, or the part of one that fits into the width.

    Attributes:
        number: number of the line in the file; None in a file without lines.
        starts: True if the row is the beginning of a line.
        adds: sum of its highlights' contributions to the score.
        left_out: True if the line has nothing but marks that are not drawn, such as the ruler of a table.
    """

    text: Text
    number: int | None = None
    starts: bool = True
    adds: float = 0.0
    left_out: bool = False


@dataclass(frozen=True)
class Cut:
    """The part of a passage to draw on a page, where rows have no fixed width.

    Attributes:
        start, end: span of the part in the passage's text.
        before, after: True if text before or after the part is cut off; the passage's own heading does not count.
    """

    start: int
    end: int
    before: bool
    after: bool


def draw_passage(
    canvas: Canvas, hit: Hit, marks: Sequence[Highlight], beside: Surroundings | None = None
) -> None:
    """Draw a passage, cut to a few rows; or, with `beside`, the whole passage with the lines of its file around it."""
    lines, heading = _lines(hit, marks)
    wrapped = [[] if line.left_out else _wrapped(canvas, line) for line in lines]
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


def rows_of(canvas: Canvas, lines: Sequence[tuple[int, str]]) -> list[PassageRow]:
    """Return rows for the lines of the file around a passage."""
    texts = [PassageRow(Text(_readable(line), style="dim"), number) for number, line in lines]
    return [row for line in texts for row in _wrapped(canvas, line)]


def line_of(hit: Hit, marks: Sequence[Highlight]) -> int:
    """Return the number of the first line with a highlight; without highlights, of the first line below the heading."""
    lines, heading = _lines(hit, marks)
    counting = (row.number for row in lines[heading:] if row.adds and row.number)
    return next(counting, lines[heading].number or hit.line_start)


def cut(hit: Hit, marks: Sequence[Highlight], most: int = ROWS) -> Cut:
    """Return the part of a passage, at most `most + 2` rows, whose highlights contribute most."""
    spans = _spans(hit.text)
    lines = [[match.span() for match in _PIECE.finditer(hit.text, *span)] or [span] for span in spans]
    pieces = [piece for line in lines for piece in line]
    rows = [
        PassageRow(
            Text(hit.text[start:end]),
            starts=any(line[0] == (start, end) for line in lines),
            adds=sum(mark.weight for mark in marks if start <= mark.start < end),
        )
        for start, end in pieces
    ]
    heading = sum(map(len, lines[: _heading(hit, spans)]))
    first, last = window(rows, heading, most)
    return Cut(pieces[first][0], pieces[last - 1][1], first > heading, last < len(rows))


def window(rows: Sequence[PassageRow], first: int, most: int = ROWS) -> tuple[int, int]:
    """Return the range of at most `most` rows whose highlights contribute most.

    Among equal ranges, the first that begins at the start of a line is preferred.
    """
    if len(rows) - first <= most + 2:
        return first, len(rows)

    def worth(start: int) -> tuple[float, bool, bool, int]:
        adds = round(sum(row.adds for row in rows[start : start + most]), 9)
        return adds, bool(rows[start].text.plain.strip()), rows[start].starts, -start

    start = max(range(first, len(rows) - most + 1), key=worth)
    return start, start + most


def _wrapped(canvas: Canvas, line: PassageRow) -> list[PassageRow]:
    """Split a line into rows of the canvas's width."""
    room = canvas.width - max(4, len(str(line.number or ""))) - 4  # the gutter, and an ellipsis
    texts = canvas.wrapped(line.text, room) or [Text()]
    for text in texts:
        text.rstrip()
    return [PassageRow(text, line.number, at == 0, _adds(text)) for at, text in enumerate(texts)]


def _adds(text: Text) -> float:
    return sum(
        span.style.meta["adds"]
        for span in text.spans
        if isinstance(span.style, Style) and span.style.meta
    )


def _lines(hit: Hit, marks: Sequence[Highlight]) -> tuple[list[PassageRow], int]:
    """Return the lines of a passage with highlights, and the number of lines of its own heading."""
    spans, drawn = _spans(hit.text), _without_hard_marks(hit)
    lines = [_readable(drawn.between(start, end)) for start, end in spans]
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    text = Text("\n".join(lines))

    def place(offset: int) -> int:
        line = bisect_right(spans, (offset, len(hit.text) + 1)) - 1
        return begins[line] + len(_readable(drawn.between(spans[line][0], offset)))

    strong = _STRONG * max((mark.weight for mark in marks), default=0.0)
    for mark in marks:
        style = _STRONGLY if mark.weight >= strong else _MARKED
        text.stylize(style + Style(meta={"adds": mark.weight}), place(mark.start), place(mark.end))
    numbered = hit.kind in PLAIN_KINDS and hit.line_end - hit.line_start + 1 == len(lines)
    rows = [
        PassageRow(
            line,
            hit.line_start + at if numbered else None,
            adds=_adds(line),
            left_out=not line.plain.strip() and bool(hit.text[slice(*spans[at])].strip()),
        )
        for at, line in enumerate(text.split("\n", allow_blank=True))
    ]
    return rows, _heading(hit, spans)


def _without_hard_marks(hit: Hit) -> VisibleText:
    """Return the text of a passage without the marks that make it hard to read: LaTeX's, and those of `_HARD_MARK`."""
    hard = [
        (start, end)
        for start, end in hit.hidden
        if hit.kind == "tex" or _HARD_MARK.fullmatch(hit.text, start, end)
    ]
    return VisibleText(hit.text, hard)


def _spans(text: str) -> list[tuple[int, int]]:
    """Return the span of each line without its line ending."""
    ends = [match.span() for match in _LINE_END.finditer(text)]
    spans = list(
        zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True)
    )
    return spans[:-1] if ends and spans[-1][0] == len(text) else spans


def body_start(hit: Hit) -> int:
    """Return the position in a passage's text after the lines that repeat its heading."""
    spans = _spans(hit.text)
    return spans[_heading(hit, spans)][0] if spans else 0


def _heading(hit: Hit, spans: Sequence[tuple[int, int]]) -> int:
    """Return the number of lines at the beginning that repeat the passage's heading; 0 if all lines do."""
    read, trail = VisibleText(hit.text, hit.hidden), [hit.title, *hit.heading.split(" > ")]
    names = {"", *trail, *trail[-1].split(" \u00b7 ")}  # the headings of joined sections
    for number, (start, end) in enumerate(spans):
        line = read.between(start, end).strip().strip("#").strip()
        if line not in names and not _RULER.fullmatch(line):
            return number
    return 0


def _readable(text: str) -> str:
    """Escape a line, and replace tabs by spaces."""
    return escape(text).replace("\t", "    ")
