"""Matrices, drawn for a terminal: every cell a number with a shade before it, so that neither colour nor
shade is needed to read it.

Rows are numbered 1, 2, 3, columns too where they are the same sentences, else A, B, C; the sentences stand
above. A matrix that is wider than the terminal goes on below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.render.escape import one_line
from search.render.numbers import fixed
from search.render.terminal import canvas, drawn
from search.render.units import Units, largest_addend, left_out, part

if TYPE_CHECKING:
    from rich.console import Console

_SHADES = " ·░▒▓█"
_CELL = 7  # a space, one or two characters of shade, a number of at most five
_MOST_SENTENCES = 60
_MOST_TOKENS = 40
_CLOSEST = 5
_LABEL = 12


def sentences(found: Similarities, *, width: int = 80, colour: bool = False) -> str:
    """A matrix of sentences: the sentences, the cosines, the closest pairs."""
    console = canvas(width, colour)
    rows = [str(i + 1) for i in range(len(found.rows))]
    columns = rows if found.itself else [letters(j) for j in range(len(found.columns))]
    _draw_legend(console, rows, found.rows)
    if not found.itself:
        console.print()
        _draw_legend(console, columns, found.columns)
    console.print()
    large = max(found.cosines.shape) > _MOST_SENTENCES
    if large:
        console.print(
            f"{len(rows)} x {len(columns)} cosines are too many to draw here; --html, --png, --csv and --json "
            "have them all.",
            style="dim",
        )
    else:
        draw_cells(console, rows, columns, found.cosines.tolist(), 1.0, width, places=2)
    console.print()
    console.print(Text("Closest pairs", style="bold"))
    for i, j in found.closest(4 * _CLOSEST if large else _CLOSEST):
        console.print(f"  {found.cosines[i, j]:.3f}  {rows[i]} ~ {columns[j]}")
    shape = f"{len(rows)} x {len(columns)}"
    console.print(f"  ({shape} cosines, {found.pooling} pooling, {one_line(found.model)})", style="dim")
    return drawn(console)


def pairs(why: Explanation, found: Units, *, width: int = 80, colour: bool = False) -> str:
    """Both matrices of two texts, unit by unit: what made the cosine, then what is like what."""
    console = canvas(width, colour)
    shown = part(found, _MOST_TOKENS, _MOST_TOKENS)
    rows = [_short(unit.label) for unit in shown.units.query]
    columns = [_short(unit.label) for unit in shown.units.passage]
    console.print(Text.assemble(("rows     ", "dim"), one_line(why.query)))
    console.print(Text.assemble(("columns  ", "dim"), one_line(why.passage)))
    console.print()
    sign = "-" if why.residual < 0 else "+"
    console.print(
        Text.assemble(
            "cosine ",
            (f"{why.score:.6f}", "bold green"),
            f" = {float(found.contributions.sum()):.6f} (the cells of the first matrix) "
            f"{sign} {abs(why.residual):.1e} (residual)",
        )
    )
    console.print()
    console.print(Text("Contributions, in thousandths: they add up to the cosine", style="bold"))
    cells = (shown.units.contributions * 1000).tolist()
    totals = (shown.query_added * 1000).tolist()
    draw_cells(
        console, rows, columns, cells, 1000 * largest_addend(shown.units), width, places=1, totals=totals
    )
    console.print()
    title = f"Cosines of token vectors at layer {why.similarity_layer}: they do not add up to anything"
    console.print(Text(title, style="bold"))
    draw_cells(console, rows, columns, shown.units.similarity.tolist(), 1.0, width, places=2)
    if left_out(shown):
        console.print()
        console.print(left_out(shown), style="dim")
    return drawn(console)


def letters(number: int) -> str:
    """0 is A, 25 is Z, 26 is AA: how columns are named."""
    name = ""
    while number >= 0:
        name = chr(ord("A") + number % 26) + name
        number = number // 26 - 1
    return name


def shade(value: float, largest: float) -> str:
    """One character for the size of a value, whatever its sign."""
    share = min(abs(value) / largest, 1.0)
    return _SHADES[round(share * (len(_SHADES) - 1))]


def _draw_legend(console: Console, names: Sequence[str], texts: Sequence[str]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in zip(names, texts, strict=True):
        table.add_row(name, one_line(text))
    console.print(table)


def draw_cells(
    console: Console,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[float]],
    largest: float,
    width: int,
    *,
    places: int,
    totals: Sequence[float] = (),
) -> None:
    """A matrix in blocks of as many columns as the width has room for; `totals` are its last column."""
    names = [*columns, *(["sum"] if totals else [])]
    label = max(_cells(name) for name in rows)
    at_once = max(1, (width - label) // _CELL)
    for first in range(0, len(names), at_once):
        block = range(first, min(first + at_once, len(names)))
        if first:
            console.print()
        head = Text(" " * label, style="bold")
        for j in block:
            head.append(" " + _right(names[j], _CELL - 1))
        console.print(head, no_wrap=True, crop=False)
        for i, name in enumerate(rows):
            line = Text(_right(name, label), style="bold")
            for j in block:
                if j < len(columns):
                    value = cells[i][j]
                    line.append_text(_cell(value, shade(value, largest), places))
                else:
                    line.append_text(_cell(totals[i], " ", places))
            console.print(line, no_wrap=True, crop=False)


def _cell(value: float, mark: str, places: int) -> Text:
    number = fixed(value, places)
    style = "not bold red" if number.startswith("-") else "not bold blue"
    return Text.assemble(" ", (mark * (_CELL - 1 - len(number)), style), (number, "not bold"))


def _short(label: str) -> str:
    """A label that fits above a column."""
    text = Text(label)
    text.truncate(_LABEL, overflow="ellipsis")
    return text.plain


def _right(name: str, width: int) -> str:
    """A name that ends where its column ends, cut with an ellipsis where it is wider."""
    text = Text(name)
    text.truncate(width, overflow="ellipsis")
    return " " * (width - text.cell_len) + text.plain


def _cells(name: str) -> int:
    return Text(name).cell_len
