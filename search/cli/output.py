"""What a command prints and draws: options for it, and where a result goes.

Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from search.cli.files import check_pictures, check_writable, write_file

NARROWEST, WIDEST = 40, 100
PANEL = "Output"


class Colour(str, Enum):
    auto = "auto"
    always = "always"
    never = "never"


class Style(TypedDict):
    """How text is drawn: characters a line, and whether in colour."""

    width: int
    colour: bool


@dataclass(frozen=True)
class Output:
    """What is printed, and how."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress, no notes; results only.", rich_help_panel=PANEL),
    ] = False
    color: Annotated[
        Colour, typer.Option(help="auto: on a terminal, unless NO_COLOR is set.", rich_help_panel=PANEL)
    ] = Colour.auto

    @property
    def style(self) -> Style:
        return {"width": page_width(), "colour": self._in_colour}

    @property
    def _in_colour(self) -> bool:
        if self.color != Colour.auto:
            return self.color == Colour.always
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def show(self, text: Callable[[], str], data: Callable[[], str]) -> None:
        """Print a result: as data for programs if that was asked for, else as text. Only one of them is made."""
        echo(data() if self.as_json else text())

    def note(self, text: str) -> None:
        """Anything that is no result, to stderr."""
        note(text, self.quiet)

    def remarks(self, sentences: Iterable[str]) -> None:
        """What the library has to say beside a result, a note each."""
        for sentence in sentences:
            self.note(f"note: {sentence}")


@dataclass(frozen=True)
class DrawnOutput(Output):
    """What is printed or drawn, and how; the files are checked before any work is done.

    Raises:
        InputError: a file that cannot be written.
        OptionalDependency: a PNG is asked for, and what draws it is not installed.
    """

    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it into a PNG file (extra `pictures`).")
    ] = None
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it as a page for the browser.")] = (
        None
    )

    def __post_init__(self) -> None:
        check_writable(self.png, self.html)
        check_pictures(self.png)

    @property
    def files(self) -> bool:
        """Whether a file was asked for. Then text is not printed, unless a command says otherwise."""
        return bool(self.png or self.html)

    def result(
        self,
        *,
        text: Callable[[], str],
        data: Callable[[], str],
        png: Callable[[], bytes],
        html: Callable[[], str],
        as_data: bool = False,
        text_anyway: bool = False,
    ) -> None:
        """Write the files that were asked for, and say so; then print.

        Both files are drawn before the first is written, so that one that cannot be drawn leaves none behind.

        Args:
            text, data: what is printed; one of them is made.
            png, html: what is written; each is made if its file was asked for.
            as_data: print data also without --json.
            text_anyway: print text also where a file was asked for.

        Raises:
            InputError: a file cannot be written.
        """
        drawn = [(path, draw()) for path, draw in ((self.png, png), (self.html, html)) if path]
        for path, content in drawn:
            write_file(path, content)
            self.note(f"wrote {path}")
        if self.as_json or as_data:
            echo(data())
        elif text_anyway or not self.files:
            echo(text())


def page_width() -> int:
    """Characters a line: the terminal's, within reason; 80 where there is none."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


def echo(text: str) -> None:
    """A result, to stdout."""
    if text:
        typer.echo(text, color=True)  # whether there are colours was decided when it was rendered


def note(text: str, quiet: bool = False) -> None:
    """Anything that is no result, to stderr."""
    if not quiet:
        typer.echo(text, err=True)
