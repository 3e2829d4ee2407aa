"""Ranked hits, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from search.records.hits import Hit, Neighbour, Surroundings
from search.render import scale
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, headings, snippet, where

_NO_PASSAGES = "the index holds no passages. Was its first run stopped? Go on with: seewhy index FOLDER"


def hits(
    found: Sequence[Hit],
    *,
    width: int = 80,
    colour: bool = False,
    no_hits: str = "",
    grouped: bool = False,
    around: Sequence[Surroundings] | None = None,
) -> str:
    """Ranked hits: score, place, headings, the beginning of the text.

    Args:
        no_hits: why there are none.
        grouped: hits of one document stand together, and its name above them.
        around: what stands around each hit.
    """
    if not found:
        return f"No hits: {no_hits or _NO_PASSAGES}"
    console = canvas(width, colour)
    before = None
    for place, hit in enumerate(found):
        beside = around[place] if around else Surroundings()
        if grouped and hit.document != before:
            title = f"  {one_line(hit.title)}" if hit.title else ""
            console.print(Text.assemble((escape(hit.document), "bold cyan"), (title, "bold")), soft_wrap=True)
            console.print()
        before = hit.document
        head = Text(f"{hit.rank:>2}  ", style="bold")
        head.append(f"{hit.score:.3f}", style="bold green")
        head.append(f"  {where(hit)}", style="cyan")
        head.append(f"  p{hit.passage_id}", style="dim")
        if hit.rank_before is not None:
            head.append(f"  {_moved(hit.rank, hit.rank_before)}", style="dim")
        console.print(head, soft_wrap=True)
        title = headings(hit)
        if title:
            console.print(Padding(Text(title, style="bold"), (0, 0, 0, 4)))
        _draw_neighbours(console, beside.before)
        _draw_lines(console, beside.lines_before)
        console.print(Padding(Text(snippet(hit)), (0, 0, 0, 4)))
        _draw_lines(console, beside.lines_after)
        _draw_neighbours(console, beside.after)
        if beside.note:
            console.print(Padding(Text(escape(beside.note), style="yellow"), (0, 0, 0, 4)))
        if warning := scale.hub(hit):
            console.print(Padding(Text(warning, style="yellow"), (0, 0, 0, 4)))
        console.print()
    in_order = [hit.rank for hit in found] == list(range(1, len(found) + 1))
    falling = all(a.score >= b.score for a, b in pairwise(found))
    if in_order and falling and (said := scale.of_hits(found)):
        console.print(said, style="dim")
    return drawn(console).rstrip("\n")


def _draw_neighbours(console: Console, found: Sequence[Neighbour]) -> None:
    for one in found:
        text = Text(f"[p{one.passage_id}] {one_line(one.text)}", style="dim")
        console.print(Padding(text, (0, 0, 0, 6)))


def _draw_lines(console: Console, found: Sequence[tuple[int, str]]) -> None:
    for number, line in found:
        console.print(Padding(Text(f"{number:>5}- {escape(line)}", style="dim"), (0, 0, 0, 4)))


def _moved(rank: int, before: int) -> str:
    """What a rerank did to a hit."""
    return f"(stays {rank})" if rank == before else f"(was {before})"
