"""Hits, and documents around them, in rows that are as wide as their panes; drawn as `seewhy query` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from search.records.explanations import Highlight
from search.records.hits import Hit, Surroundings
from search.render.format import escape, where
from search.render.hits import one_hit
from search.render.passage import draw_passage, rows_of
from search.render.terminal import Canvas, as_text

_LONGEST = 1000  # characters of a line around a passage: one of megabytes took seconds


def place(hit: Hit) -> str:
    """Where a hit stands, in few characters: its document, with the lines or the page."""
    return where(replace(hit, path=hit.document))


def entry(hit: Hit, marks: Sequence[Highlight], width: int) -> list[str]:
    """A hit in the list, and an empty row behind it."""
    return [*one_hit(replace(hit, path=hit.document), marks, width=width, colour=True).split("\n"), ""]


def document(hit: Hit, marks: Sequence[Highlight], around: Surroundings, width: int) -> tuple[list[str], int]:
    """A passage among the lines of its document, and how many rows stand before it.

    Without these lines the passage alone, and why.
    """
    canvas, beside = Canvas(width, colour=True), _bounded(around, hit.line_start)
    draw_passage(canvas, hit, marks, beside)
    if around.note:
        canvas.gap()
        canvas.line(escape(around.note), style="yellow")
    return canvas.drawn().split("\n"), len(rows_of(canvas, beside.lines_before))


def _bounded(around: Surroundings, line: int) -> Surroundings:
    """What stands around a passage that begins in a line, in lines; of a long one a piece."""
    before, after = (
        tuple((number, text[:_LONGEST]) for number, text in lines)
        for lines in (around.lines_before, around.lines_after)
    )
    start = ((line, around.start[-_LONGEST:]),) if around.start else ()
    return Surroundings((*before, *start), after)


@as_text
def keys(canvas: Canvas, listed: Sequence[tuple[str, str]]) -> None:
    """Keys, and what they do."""
    canvas.facts(listed, style="bold")
