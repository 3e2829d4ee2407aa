"""Ranked hits, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.padding import Padding
from rich.text import Text

from search.records import Hit
from search.render import scale
from search.render.terminal import canvas, drawn, headings, snippet, where

_NO_PASSAGES = "the index holds no passages. Was its first run stopped? Go on with: seewhy index FOLDER"


def hits(found: Sequence[Hit], *, width: int = 80, colour: bool = False, no_hits: str = "") -> str:
    """Ranked hits: score, place, headings, the beginning of the text; `no_hits` says why there are none."""
    if not found:
        return f"No hits: {no_hits or _NO_PASSAGES}"
    console = canvas(width, colour)
    for hit in found:
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
        console.print(Padding(Text(snippet(hit)), (0, 0, 0, 4)))
        if warning := scale.hub(hit):
            console.print(Padding(Text(warning, style="yellow"), (0, 0, 0, 4)))
        console.print()
    if said := scale.of_hits(found):
        console.print(said, style="dim")
    return drawn(console).rstrip("\n")


def _moved(rank: int, before: int) -> str:
    """What a rerank did to a hit."""
    return f"(stays {rank})" if rank == before else f"(was {before})"
