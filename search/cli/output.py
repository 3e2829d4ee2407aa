"""What a command prints, draws and reads: options for it, and where a result goes.

Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from search.errors import InputError, OptionalDependency, ReadError

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


def check_writable(*paths: Path | None) -> None:
    """Refuse names that nothing can be written to, before any work is done.

    Raises:
        InputError: a folder, or a name in a folder that is not there.
    """

    named = [path.resolve() for path in paths if path]
    if len(set(named)) < len(named):
        raise InputError(f"'{named[0].name}' is named twice. Give each file a name of its own.")
    for path in filter(None, paths):
        if path.is_dir():
            raise InputError(f"'{path}' is a folder. Name a file to write to.")
        if not path.parent.is_dir():
            raise InputError(
                f"'{path}' cannot be written: there is no folder '{path.parent}'. Make it first."
            )


def check_pictures(png: Path | None) -> None:
    """
    Raises:
        OptionalDependency: a PNG is asked for, and what draws it is not installed.
    """
    from search.render.picture import EXTRA, PACKAGE

    if png is not None and find_spec(PACKAGE) is None:
        raise OptionalDependency(PACKAGE, EXTRA, "drawing a PNG")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a whole file or leave what is there; a file of that name is replaced.

    Raises:
        InputError: it cannot be written.
    """
    from search.files import write_whole

    try:
        if path.exists() and not path.is_file():  # a device or a pipe, which cannot be replaced
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        else:
            write_whole(path, content)
    except OSError as error:
        raise InputError(
            f"'{path}' cannot be written: {error.strerror or error}. Name another file."
        ) from None


def text_of(name: str, way_out: str) -> str:
    """The text of a file, or of standard input for "-".

    Args:
        way_out: what to do where it is no text.

    Raises:
        InputError: it cannot be read.
    """
    from search.corpus.text import decode

    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return decode(name, raw).text
    except OSError as error:
        raise InputError(
            f"{_called(name)} cannot be read: {error.strerror or error}. Check the name."
        ) from None
    except ReadError as error:
        raise InputError(f"{_called(name)} cannot be read as text: {error.reason}. {way_out}") from None


def lines_of(name: str) -> list[str]:
    """The lines of a file, or of standard input for "-"; empty lines at the end are left out.

    Raises:
        InputError: it cannot be read, or a line before the last is empty.
    """

    lines = text_of(name, "Give one sentence a line.").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise InputError(f"line {number} of {_called(name)} is empty. Give one sentence a line.")
    return lines


def _called(name: str) -> str:
    return "standard input" if name == "-" else f"'{name}'"
