"""The canvas for all output to a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeAlias

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from search.render.format import escape, one_line

Part: TypeAlias = str | Text | tuple[str, str]

BLOCK = "█"


class Canvas:
    """Lines and tables, one below the other.

    Attributes:
        width: number of characters of a line.
        colour: True if colour is used; drawings must be readable without it, too.
    """

    def __init__(self, width: int, colour: bool) -> None:
        self.width, self.colour = width, colour
        self._file = io.StringIO()
        self._console = Console(
            file=self._file,
            width=width,
            height=24,  # else rich reads $LINES, which may be invalid
            force_terminal=colour,
            force_jupyter=False,  # else rich displays the lines in a notebook instead of writing them
            color_system="standard" if colour else None,
            no_color=not colour,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def line(self, *parts: Part, style: str = "", indent: int = 0, whole: bool = False) -> None:
        """Draw a paragraph.

        Args:
            parts: texts to draw one after the other; a pair is a text with its style.
            whole: keep it on one line, whatever its length, so that it can be copied from a terminal.
        """
        text = Text.assemble(*map(_escaped, parts), style=style)
        self._console.print(Padding(text, (0, 0, 0, indent)) if indent else text, soft_wrap=whole)

    def wrapped(self, text: Text, width: int) -> list[Text]:
        """Wrap a text into rows of at most `width` cells."""
        return list(text.wrap(self._console, width, overflow="fold"))

    def dim(self, *parts: Part, indent: int = 0) -> None:
        """Draw a dimmed paragraph."""
        self.line(*parts, style="dim", indent=indent)

    def gap(self) -> None:
        """Draw an empty line."""
        self._console.print()

    def title(self, text: str) -> None:
        """Draw a heading for the lines below."""
        self.gap()
        self.line(text, style="bold")

    def notes(self, notes: Iterable[str]) -> None:
        """Draw notes on a result, one per line."""
        for note in notes:
            self.line(f"note: {one_line(note)}", style="dim")

    def facts(self, rows: Iterable[tuple[str, str | Text]], style: str = "dim") -> None:
        """Draw a table of names and values."""
        self.table(grid(Column(style=style, no_wrap=True), "", header=""), rows)

    def table(self, table: Table, rows: Iterable[Iterable[str | Text]] = ()) -> None:
        """Draw a table from `grid`, after adding rows to it."""
        for row in rows:
            table.add_row(*map(_escaped, row))
        self._console.print(table)

    def drawn(self) -> str:
        """Return everything drawn, without spaces at the ends of lines and empty lines at the end."""
        return "\n".join(line.rstrip() for line in self._file.getvalue().splitlines()).rstrip("\n")


def _escaped(part: Any) -> Any:
    """Escape the control characters of a part, because text from an index or a file must not control the terminal."""
    if isinstance(part, tuple):
        return escape(part[0]), *part[1:]
    return escape(part) if isinstance(part, str) else part


def as_text(draw: Callable[..., None]) -> Callable[..., str]:
    """Turn a function that draws on a canvas into one that returns text, `width` characters wide."""

    @wraps(draw)
    def text(*args: Any, width: int = 80, colour: bool = False, **options: Any) -> str:
        canvas = Canvas(width, colour)
        draw(canvas, *args, **options)
        return canvas.drawn()

    return text


def grid(*columns: str | Column, header: str = "bold", gap: int = 2) -> Table:
    """Return a table without rules.

    Args:
        columns: columns; a name stands for a column of texts, in which long texts are wrapped.
        header: style of the header; "" for no header.
        gap: number of spaces between columns.
    """
    heads = (Column(column, overflow="fold") if isinstance(column, str) else column for column in columns)
    return Table(
        *heads,
        box=None,
        pad_edge=False,
        show_header=bool(header),
        header_style=header,
        padding=(0, gap, 0, 0),
    )


def number(name: str = "", style: str = "") -> Column:
    """Return a column for numbers."""
    return Column(name, justify="right", no_wrap=True, style=style)


def folded(name: str = "") -> Column:
    """Return a column for numbers, whose name is wrapped if it is long."""
    return Column(name, justify="right", overflow="fold")


def bar(share: float, width: int = 20) -> Text:
    """Return a bar whose length is a share of `width`, to draw beside the number."""
    return Text(BLOCK * round(share * width), style="blue")
