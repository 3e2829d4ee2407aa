"""Input and output of commands: text, JSON, pictures, files, progress.

Results go to stdout; notes, errors and the progress bar go to stderr.
"""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from search.errors import InputError, OptionalDependency, ReadError

if TYPE_CHECKING:
    from search.records.reports import Progress

NARROWEST, WIDEST = 40, 100
Color = Literal["auto", "always", "never"]
COLORS: tuple[str, ...] = get_args(Color)
output_option = partial(typer.Option, rich_help_panel="Output")
PngOption = Annotated[
    Path | None, typer.Option("--png", metavar="FILE", help="Write a PNG picture (extra `pictures`).")
]


@dataclass(frozen=True)
class Output:
    """Options of printed output."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = (
        False
    )
    quiet: Annotated[
        bool, output_option("--quiet", "-q", help="Print results only: no progress, notes or verdict.")
    ] = False
    color: Annotated[Color, output_option(help="auto: on a terminal, unless $NO_COLOR is set.")] = "auto"

    @property
    def style(self) -> dict[str, Any]:
        """Keywords of drawing functions: width in characters (the terminal's, from 40 to 100), and colour."""
        width = shutil.get_terminal_size((80, 24)).columns
        return {"width": max(NARROWEST, min(WIDEST, width)), "colour": self.in_colour}

    @property
    def in_colour(self) -> bool:
        if self.color != "auto":
            return self.color == "always"
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def show(self, record: Any, text: Callable[..., str], data: Callable[[], str] | None = None) -> None:
        """Print a result as text, or as JSON with --json.

        Args:
            text: returns the record as text; called only without --json.
            data: returns the JSON; None prints all fields of the record.
        """
        if not self.as_json:
            echo(text(record, **self.style))
        elif data:
            echo(data())
        else:
            from search.render.json import document

            echo(document(record))

    def note(self, text: str) -> None:
        """Print a note to stderr, unless --quiet is given."""
        note(text, self.quiet)

    def remarks(self, sentences: Iterable[str]) -> None:
        """Print notes of the library to stderr, unless --quiet is given."""
        for sentence in sentences:
            self.note(f"note: {sentence}")


@dataclass(frozen=True)
class PictureOutput(Output):
    """Options of output that can be printed, or drawn into a PNG file.

    Raises:
        OptionalDependency: a PNG is requested, but matplotlib is not installed.
    """

    png: PngOption = None

    def __post_init__(self) -> None:
        if self.png:
            require_pictures()

    def drawn(self, record: Any, text: Callable[..., str], png: Callable[[], bytes]) -> None:
        """Write the requested picture; print the record if no picture or --json is requested."""
        if self.png:
            write_file(self.png, png())
            self.note(f"wrote {self.png}")
        if self.as_json or not self.png:
            self.show(record, text)


@dataclass(frozen=True)
class PageOutput(Output):
    """Options of output that can be printed, or written to an HTML file."""

    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page.")] = None

    @property
    def files(self) -> bool:
        """True if a PNG or HTML file is requested; then no text is printed."""
        return bool(self.html)

    def result(
        self,
        record: Any,
        text: Callable[..., str],
        *,
        png: Callable[[], bytes] | None = None,
        html: Callable[[], str] | None = None,
        data: Callable[[], str] | None = None,
    ) -> None:
        """Write the requested files; print the record if no file or --json is requested.

        Args:
            record, text, data: as for `show`.
            png, html: return the content of a file; each is called only if its file is requested.
        """
        for path, draw in ((getattr(self, "png", None), png), (self.html, html)):
            if path and draw:
                write_file(path, draw())
                self.note(f"wrote {path}")
        if self.as_json or not self.files:
            self.show(record, text, data)


@dataclass(frozen=True)
class DrawnOutput(PageOutput, PictureOutput):
    """Options of output that can be printed, or drawn into a PNG or HTML file."""

    @property
    def files(self) -> bool:
        return bool(self.png or self.html)


def require_pictures() -> None:
    """Raise OptionalDependency if matplotlib is not installed."""
    if not find_spec("matplotlib"):
        raise OptionalDependency("matplotlib", "pictures", "drawing a PNG")


def echo(text: str) -> None:
    """Print a result to stdout."""
    if text:
        typer.echo(text, color=True)  # keep the colours, if it was rendered with any


def note(text: str, quiet: bool = False) -> None:
    """Print a note or an error to stderr, with control characters escaped; ignore a closed stderr."""
    if not quiet:
        from search.render.format import escape

        with suppress(OSError):
            typer.echo(escape(text), err=True)


def make_streams_usable() -> None:
    """Spell or escape characters that stdout and stderr cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="spelled")


# ASCII stand-ins for characters that the console cannot encode: a pipe on Windows has 256 characters.
_SPELLED = {"█": "#", "▓": "=", "▒": "-", "░": ".", "…": "~", "×": "x", "«": "<", "»": ">"}


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Error handler of an encoding: signs of the same width, or escapes; in JSON escapes alone, which are valid."""
    assert isinstance(error, UnicodeEncodeError)
    signs = {} if error.object.startswith(("{", "[")) else _SPELLED
    lacking = error.object[error.start : error.end]
    return "".join(signs.get(sign) or json.dumps(sign)[1:-1] for sign in lacking), error.end


codecs.register_error("spelled", _spelled)


def flushed() -> bool:
    """Flush stdout and stderr; return False if one of them cannot be written.

    Its unwritten output is discarded, so that Python prints no error on exit.
    """
    whole = True
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            whole = False
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return whole


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, or replace an existing one; on failure the old file stays.

    Raises:
        InputError: the file cannot be written.
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


def text_of(name: str, remedy: str) -> str:
    """Return the text of a file, or of standard input for "-".

    Args:
        remedy: advice for the error message if the file has no usable text.

    Raises:
        InputError: the file cannot be read, or has no usable text.
    """
    from search.corpus.text import decode

    called = "standard input" if name == "-" else f"'{name}'"
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return decode(name, raw)
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}. Check the name.") from None
    except ReadError as error:
        raise InputError(f"{called} has no usable text: {error.reason}. {remedy}") from None


def lines_of(name: str) -> list[str]:
    """Return the lines of a file, or of standard input for "-", without empty lines at the end.

    Raises:
        InputError: the file cannot be read, or has an empty line before its last sentence.
    """
    lines = text_of(name, "Give one sentence per line.").rstrip().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise InputError(f"line {number} of '{name}' is empty. Give one sentence per line.")
    return lines


# The remaining time is estimated from the speed in this period; it is long, as batches differ.
_SECONDS_OF_SPEED = 300.0


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a progress callback that draws a bar; None if `quiet`, or if stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        start = cache(lambda: stack.enter_context(_bar()))
        yield lambda state: start()(state)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from search.render.format import duration

    console = Console(stderr=True)
    started = time.monotonic()
    with Bar(console=console, transient=True, speed_estimate_period=_SECONDS_OF_SPEED) as bar:
        task = bar.add_task("")
        stage = ""

        def show(state: Progress) -> None:
            nonlocal task, stage
            if state.stage == "encoding" != stage and state.searchable:
                seconds = duration(time.monotonic() - started)
                console.print(
                    f"Searchable in {seconds} ({state.searchable:,} passages). You can ask now."
                )
                bar.remove_task(task)  # the time that is left is that of the new task
                task = bar.add_task("")
            stage = state.stage
            bar.update(
                task, description=_described(state), completed=state.done, total=max(state.total, 1)
            )

        yield show


def _described(state: Progress) -> str:
    if state.stage == "training":
        return f"training step {state.done:,} of {state.total:,}"
    if state.searchable:
        return f"Meaning of {state.searchable:,} passages"
    return f"{state.stage} {state.passages:,} passages" if state.passages else state.stage


@contextmanager
def stopped_gently(quiet: bool) -> Iterator[None]:
    """Context manager: on Ctrl-C, print that finished work is saved and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        note(
            "seewhy: stopped. Finished work is saved, and can be asked for; to continue, run the same command again.",
            quiet,
        )
        raise
