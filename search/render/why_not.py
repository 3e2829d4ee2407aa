"""Why a document is not among the hits, drawn for a terminal, or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from search.records.comparisons import WhyNot
from search.records.hits import Hit
from search.render import json
from search.render.contrast import draw_gap, draw_hit, plain
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, snippet
from search.render.why import partners, share_name

if TYPE_CHECKING:
    from rich.console import Console

# What to do about what is left out, by its reason; of all others the reason says enough.
_WAYS_OUT = {
    "new": "It came into the folder after the last run. Index it with: seewhy index FOLDER",
    "not there": "There is no such file. Check the spelling, or mount the drive it is on.",
    "outside the folder": "Index the folder it is in, or ask another index with --index.",
    "ignored": "A .gitignore, .ignore or .seewhyignore file says so, or it lies in a folder that machines fill. "
    "Take it back with a line '!NAME' in .seewhyignore.",
    "hidden": "Its name, or that of a folder above it, begins with a dot; such files are never read.",
    "secret": "Files of that name hold keys or passwords; they are never read.",
    "excluded": "The patterns of --include and --exclude say so; give others to: seewhy index FOLDER",
    "binary": "It holds no text.",
    "empty": "There is nothing in it to find.",
    "too large": "Cut it into smaller files.",
    "needs seewhy[documents]": "Install what reads it with: pip install 'seewhy[documents]'",
}


def why_not(found: WhyNot, *, width: int = 80, colour: bool = False) -> str:
    """The answer in one sentence, then where the document stands and what it was matched on."""
    console = canvas(width, colour)
    console.print(Text.assemble(("query  ", "dim"), (one_line(found.query), "bold")))
    console.print(Text.assemble(("wanted ", "dim"), (escape(found.document), "cyan")), soft_wrap=True)
    console.print()
    console.print(Text(_answer(found), style="bold"))
    if found.cause == "not indexed" and found.reason in _WAYS_OUT:
        console.print(_WAYS_OUT[found.reason])
    if found.hit is not None:
        _draw_passage(console, found, found.hit)
    return drawn(console)


def _answer(found: WhyNot) -> str:
    """What is to be said first."""
    detail = f" ({escape(found.detail)})" if found.detail else ""
    if found.hit is None:
        return f"It is not in the index: {found.reason}{detail}."
    ranks = f"p{found.hit.passage_id} ranks {found.hit.rank:,} of {found.passages:,} passages"
    return {
        "found": f"It is among the first {found.k} hits: {ranks}.",
        "lower": f"Others score higher: {ranks}, and {found.k} hits were asked for.",
        "limit": f"Its score would do: {ranks}. But its document has as many hits as may be shown of one; "
        "ask with: --per-document 0",
        "changed": f"Its file has changed since it was indexed{detail}. Of the text before, {ranks}. "
        "Bring the index up to date with: seewhy index FOLDER",
        "gone": f"Its file is not there any more. Of the text that is still in the index, {ranks}.",
        "filtered": f"A filter leaves it out: {ranks}.",
        "missed": f"The approximate search overlooked it: {ranks}.",
    }[found.cause]


def _draw_passage(console: Console, found: WhyNot, hit: Hit) -> None:
    if found.contrast is None:
        draw_hit(console, "it", hit)
    else:
        draw_hit(console, "last", found.contrast.a)
        draw_hit(console, "it", hit)
    console.print(Padding(Text(snippet(hit), style="dim"), (0, 0, 0, 17)))
    console.print()
    if found.matched_on:
        console.print(Text("What it was matched on", style="bold"))
        for share in found.matched_on:
            most = f": {partners(share.partners)}" if share.partners else ""
            console.print(f"  {share_name(share)} {share.contribution:+.4f}{most}")
        console.print()
    if found.contrast is not None:
        console.print(Text("What it lacks against the last hit", style="bold"))
        draw_gap(console, found.contrast, "last", "it")


def as_json(found: WhyNot) -> str:
    """The record with what it derives, as one JSON document."""
    contrast = None if found.contrast is None else plain(found.contrast)
    derived = {"contrast": contrast, "rank": found.rank, "gap": found.gap, "matched_on": found.matched_on}
    return json.document({**vars(found), **derived})
