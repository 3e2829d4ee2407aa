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
    canvas = Canvas(width, colour=True)
    if around.start:
        around = replace(around, lines_before=(*around.lines_before, (hit.line_start, around.start)))
    draw_passage(canvas, hit, marks, replace(around, note=""))
    if around.note:
        canvas.gap()
        canvas.line(escape(around.note), style="yellow")
    return canvas.drawn().split("\n"), len(rows_of(canvas, around.lines_before))


@as_text
def keys(canvas: Canvas, listed: Sequence[tuple[str, str]]) -> None:
    """Keys, and what they do."""
    canvas.facts(listed, style="bold")
