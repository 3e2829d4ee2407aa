"""Why one passage stands above another, drawn for a terminal, or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.comparisons import Contrast, Difference
from search.records.explanations import Partner
from search.records.hits import Hit
from search.render import json
from search.render.escape import one_line
from search.render.terminal import canvas, drawn, headings, where
from search.render.why import bar, share_name, signed

if TYPE_CHECKING:
    from rich.console import Console

_BAR, _NAMES = 8, 2
_ROOMY = 66  # columns; in fewer the words of the passages are left out


def contrast(found: Contrast, *, width: int = 80, colour: bool = False) -> str:
    """The two passages, and the gap of their scores word by word; `width` characters wide."""
    console = canvas(width, colour)
    console.print(Text.assemble(("query  ", "dim"), (one_line(found.query), "bold")))
    draw_hit(console, "A", found.a)
    draw_hit(console, "B", found.b)
    console.print()
    above, below = ("A", "B") if found.gap >= 0 else ("B", "A")
    console.print(Text(f"Why {above} is above {below}" if found.gap else "A and B have equal scores", "bold"))
    draw_gap(console, found, "A", "B")
    return drawn(console)


def draw_hit(console: Console, name: str, hit: Hit) -> None:
    """A passage with its score, its rank and its headings."""
    rank = f"rank {hit.rank}, " if hit.rank else ""
    console.print(
        Text.assemble(
            (f"{name:<7}", "dim"),
            (f"{hit.score:.6f}", "bold green"),
            "  ",
            (where(hit), "cyan"),
            (f"  ({rank}p{hit.passage_id})", "dim"),
        ),
        soft_wrap=True,
    )
    console.print(Padding(Text(headings(hit), style="bold"), (0, 0, 0, 17)))


def draw_gap(console: Console, found: Contrast, a: str, b: str) -> None:
    """The sum that makes the gap, then what each query word has to do with it, largest first."""
    total = sum(word.gap for word in found.words)
    console.print(
        f"gap {found.gap:+.6f} = {total:+.6f} (sum of the lines below) {signed(found.residual)} (residual)"
    )
    console.print()
    roomy = console.width >= _ROOMY
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("query word", overflow="fold", max_width=16)
    table.add_column(f"{a} - {b}", justify="right", no_wrap=True)
    if roomy:
        table.add_column("", no_wrap=True, width=_BAR)
    for name in (a, b):
        table.add_column(f"in {name}", justify="right", no_wrap=True)
        if roomy:
            table.add_column("with", overflow="fold", ratio=1, style="dim")
    largest = max((abs(word.gap) for word in found.words), default=0.0)
    for word in _in_order(found):
        gap, in_a, in_b = f"{word.gap:+.4f}", f"{word.in_a:+.4f}", f"{word.in_b:+.4f}"
        if roomy:
            drawn_gap = bar(word.gap, largest, _BAR)
            sides = (in_a, _names(word.found_in_a), in_b, _names(word.found_in_b))
            table.add_row(share_name(word), gap, drawn_gap, *sides)
        else:
            table.add_row(share_name(word), gap, in_a, in_b)
    in_a = f"{sum(word.in_a for word in found.words):+.4f}"
    in_b = f"{sum(word.in_b for word in found.words):+.4f}"
    sums = ("", in_a, "", in_b, "") if roomy else (in_a, in_b)
    table.add_row("sum", f"{total:+.4f}", *sums, style="bold")
    console.print(table)


def _in_order(found: Contrast) -> list[Difference]:
    """Words by what they add to the gap, then special tokens and the like."""
    words = [word for word in found.words if word.kind in ("word", "term")]
    return sorted(words, key=lambda word: -word.gap) + [word for word in found.words if word not in words]


def _names(found: Sequence[Partner]) -> str:
    return ", ".join(one_line(partner.text) for partner in found[:_NAMES])


def as_json(found: Contrast) -> str:
    """The record with its gaps, as one JSON document."""
    return json.document(plain(found))


def plain(found: Contrast) -> dict[str, Any]:
    """The record as names and values, with what it derives."""
    return {
        "query": found.query,
        "a": found.a,
        "b": found.b,
        "gap": found.gap,
        "residual": found.residual,
        "words": [{**vars(word), "gap": word.gap} for word in found.words],
    }
