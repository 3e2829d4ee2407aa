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
        width: characters a line.
        colour: whether colour is used; drawings must be readable without.
    """

    def __init__(self, width: int, colour: bool) -> None:
        self.width, self.colour = width, colour
        self._file = io.StringIO()
        self._console = Console(
            file=self._file,
            width=width,
            height=24,  # else rich reads LINES, and not every value of it
            force_terminal=colour,
            color_system="standard" if colour else None,
            no_color=not colour,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def line(self, *parts: Part, style: str = "", indent: int = 0, whole: bool = False) -> None:
        """A paragraph.

        Args:
            parts: texts, one after the other; a pair is a text and its style.
            whole: on one line however long, so that it can be copied from a terminal.
        """
        text = Text.assemble(*map(_escaped, parts), style=style)
        self._console.print(Padding(text, (0, 0, 0, indent)) if indent else text, soft_wrap=whole)

    def wrapped(self, text: Text, width: int) -> list[Text]:
        """A text as rows of at most so many cells."""
        return list(text.wrap(self._console, width, overflow="fold"))

    def dim(self, *parts: Part, indent: int = 0) -> None:
        """A dimmed paragraph."""
        self.line(*parts, style="dim", indent=indent)

    def gap(self) -> None:
        """An empty line."""
        self._console.print()

    def title(self, text: str) -> None:
        """A heading for the lines below."""
        self.gap()
        self.line(text, style="bold")

    def notes(self, notes: Iterable[str]) -> None:
        """Notes on a result, a line each."""
        for note in notes:
            self.line(f"note: {one_line(note)}", style="dim")

    def facts(self, rows: Iterable[tuple[str, str | Text]], style: str = "dim") -> None:
        """A table of names and values."""
        self.table(grid(Column(style=style, no_wrap=True), "", header=""), rows)

    def table(self, table: Table, rows: Iterable[Iterable[str | Text]] = ()) -> None:
        """A table of `grid`, and more rows of it."""
        for row in rows:
            table.add_row(*map(_escaped, row))
        self._console.print(table)

    def drawn(self) -> str:
        """All of it, without spaces at line ends and empty lines at the end."""
        return "\n".join(line.rstrip() for line in self._file.getvalue().splitlines()).rstrip("\n")


def _escaped(part: Any) -> Any:
    """A part with control characters escaped: text from an index or a file must not control the terminal."""
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
    """A table without lines.

    Args:
        columns: a plain name is a column of texts; long ones wrap.
        header: its style; "" for none.
        gap: spaces between columns.
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
    """A column of numbers."""
    return Column(name, justify="right", no_wrap=True, style=style)


def folded(name: str = "") -> Column:
    """A column of numbers whose name may be long."""
    return Column(name, justify="right", overflow="fold")


def bar(share: float, width: int = 20) -> Text:
    """A bar for a share of 1, drawn beside its number."""
    return Text(BLOCK * round(share * width), style="blue")
