"""Occurrences of a word for a terminal, as a concordance: the word in a column, with its context on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from search.records.documents import PLAIN_KINDS
from search.records.occurrences import WordOccurrence
from search.render.format import counted, one_line, where
from search.render.terminal import Canvas, as_text

_INDENT, _GAP = 4, 2
_LONGEST_WORD = 24


@as_text
def concordance(canvas: Canvas, occurrences: Sequence[WordOccurrence], none: str) -> None:
    """Draw occurrences: rank, cosine, place and passage ID, below them the word between its left and right context.

    Args:
        none: message for an empty list.
    """
    if not occurrences:
        canvas.line(none, whole=True)
        return
    words = [_cut(one_line(occurrence.word), _LONGEST_WORD) for occurrence in occurrences]
    column = max(map(cell_len, words))
    room = max(0, (canvas.width - _INDENT - 2 * _GAP - column) // 2)
    for occurrence, word in zip(occurrences, words, strict=True):
        canvas.line(
            f"{occurrence.rank:>2}  ",
            (f"{occurrence.cosine:.3f}", "green"),
            (f"  {place(occurrence)}", "cyan"),
            (f"  p{occurrence.passage_id}", "dim"),
            style="bold",
            whole=True,
        )
        left = _cut(one_line(occurrence.before)[::-1], room)[::-1]
        canvas.line(
            " " * (room - cell_len(left)) + left + " " * _GAP,
            (word, "bold green"),
            " " * _GAP + _cut(one_line(occurrence.after), room),
            indent=_INDENT,
        )
    canvas.gap()
    documents = len({occurrence.document_id for occurrence in occurrences})
    canvas.dim(f"{counted(len(occurrences), 'occurrence')} in {counted(documents, 'document')}")


def place(occurrence: WordOccurrence) -> str:
    """Return the place of a word as `path:line`; in a format without plain lines, that of its passage."""
    if occurrence.kind not in PLAIN_KINDS:
        return where(occurrence)
    number = occurrence.line_number
    return where(replace(occurrence, line_start=number, line_end=number))


def _cut(text: str, room: int) -> str:
    """Cut a text to at most `room` cells; an ellipsis marks the cut."""
    line = Text(text)
    line.truncate(room, overflow="ellipsis")
    return line.plain
