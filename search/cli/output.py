"""What a command prints, draws and reads, and how far it is: options for it, and where a result goes.

Results go to stdout, everything else to stderr. There a progress bar is drawn anew on a terminal; elsewhere (a log
file, a pipe) a line is written now and then.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from search.cli.options import Color, panel
from search.cli.streams import note
from search.errors import InputError, OptionalDependency, ReadError
from search.records.reports import Progress

NARROWEST, WIDEST = 40, 100
output_option = panel("Output")
PngOption = Annotated[
    Path | None, typer.Option("--png", metavar="FILE", help="Draw it into a PNG file (extra `pictures`).")
]


@dataclass(frozen=True)
class Output:
    """What is printed, and how."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False
    quiet: Annotated[bool, output_option("--quiet", "-q", help="No progress, no notes; results only.")] = (
        False
    )
    color: Annotated[Color, output_option(help="auto: on a terminal, unless NO_COLOR is set.")] = "auto"

    @property
    def style(self) -> dict[str, Any]:
        """How text is drawn: characters a line, the terminal's within reason, and whether in colour."""
        width = shutil.get_terminal_size((80, 24)).columns
        return {"width": max(NARROWEST, min(WIDEST, width)), "colour": self._in_colour}

    @property
    def _in_colour(self) -> bool:
        if self.color != "auto":
            return self.color == "always"
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def show(self, record: Any, text: Callable[..., str], data: Callable[[], str] | None = None) -> None:
        """Print a result: as JSON if that was asked for, else as text. Only one of them is made.

        Args:
            text: draws the record.
            data: its JSON, where that is not simply the record's.
        """
        if not self.as_json:
            echo(text(record, **self.style))
        elif data:
            echo(data())
        else:
            from search.render import json

            echo(json.document(record))

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
        OptionalDependency: a PNG alone is asked for, and what draws it is not installed.
    """

    png: PngOption = None
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it as a page for the browser.")] = (
        None
    )

    def __post_init__(self) -> None:
        check_drawable(self.png, self.html)

    @property
    def files(self) -> bool:
        """Whether a file was asked for. Then text is not printed."""
        return bool(self.png or self.html)

    def result(
        self,
        record: Any,
        text: Callable[..., str],
        *,
        png: Callable[[], bytes],
        html: Callable[[], str] | None = None,
        data: Callable[[], str] | None = None,
        csv: Callable[[], str] | None = None,
    ) -> None:
        """Write the files that were asked for, and say so; then print.

        Both files are drawn before the first is written, so that one that cannot be drawn leaves none behind.

        Args:
            record, text, data: what is printed; see `show`.
            png, html: what is written; each is made if its file was asked for.
            csv: printed instead of text or JSON.

        Raises:
            InputError: a file cannot be written.
            OptionalDependency: a PNG was asked for, too, and what draws it is not installed; all else is done.
        """
        missing = _missing(self.png)
        asked = ((None if missing else self.png, png), (self.html, html))
        drawn = [(path, draw()) for path, draw in asked if path and draw]
        for path, content in drawn:
            write_file(path, content)
            self.note(f"wrote {path}")
        if csv:
            echo(csv())
        elif self.as_json or not self.files:
            self.show(record, text, data)
        if missing:
            raise missing


def echo(text: str) -> None:
    """A result, to stdout.

    Raises:
        InputError: it takes nothing more, as a full disk; but what stopped to read may do so.
    """
    if text:
        try:
            typer.echo(text, color=True)  # whether there are colours was decided when it was rendered
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError(
                f"nothing can be written to standard output: {error.strerror or error}. Send the result elsewhere."
            ) from None


def check_drawable(png: Path | None, html: Path | None = None) -> None:
    """Refuse files that cannot be made, before any work is done. A page is made also where the PNG beside it cannot be.

    Raises:
        InputError: a name that nothing can be written to.
        OptionalDependency: a PNG alone is asked for, and what draws it is not installed.
    """
    check_writable(png, html)
    if not html and (missing := _missing(png)):
        raise missing


def _missing(png: Path | None) -> OptionalDependency | None:
    """What to say of a PNG where nothing that draws it is installed."""
    from search.render.picture import EXTRA, PACKAGE

    if png is None or find_spec(PACKAGE):
        return None
    return OptionalDependency(PACKAGE, EXTRA, "drawing a PNG")


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


_STARTED = time.perf_counter()
_SECONDS_BETWEEN_LINES = 15.0
# The time that is left goes by the speed of so long, as batches differ; rich looks at the last 1,000 steps only.
_SECONDS_OF_SPEED, _SECONDS_BETWEEN_STEPS = 300.0, 0.3


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A callback for `Index.build` and its like; None when nothing is to be shown.

    What begins again, as one way to ask after another, has its bar begin again.
    """
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    before, shown, drawn = 0, 0.0, sys.stderr.isatty()
    started = noted = time.monotonic()
    room = shutil.get_terminal_size((80, 24))  # rich cannot read every value of COLUMNS
    console = Console(stderr=True, width=min(WIDEST, room.columns), height=room.lines)
    with Bar(
        *columns,
        console=console,
        transient=True,
        speed_estimate_period=_SECONDS_OF_SPEED,
        get_time=time.monotonic,
        disable=not drawn,
    ) as bar:
        bar.add_task("looking", total=None, rate="")
        [task] = bar.tasks

        def show(state: Progress) -> None:
            nonlocal started, before, shown, noted
            now = time.monotonic()
            if state.done < before:
                started = now
                bar.reset(task.id)
            elif now - shown < _SECONDS_BETWEEN_STEPS and state.done < state.total:
                return
            before, shown = state.done, now
            bar.update(
                task.id,
                description=f"{state.stage} {_counted(state)}",
                completed=state.done,
                total=max(state.total, 1),
                rate=_rate(state, started),
            )
            if drawn or now - noted < _SECONDS_BETWEEN_LINES or not state.total:
                return
            noted = now
            left = f"about {seconds:,.0f} s left" if (seconds := task.time_remaining) else ""
            parts = f"{task.percentage:3.0f}%", _counted(state), task.fields["rate"], left
            note("  ".join(filter(None, parts)))

        yield show


@contextmanager
def late_progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """As `progress_bar`, for work that may be no work: there is no bar before it says how far it is."""
    with ExitStack() as stack:
        bar = cache(lambda: stack.enter_context(progress_bar(quiet)))

        def show(state: Progress) -> None:
            if drawn := bar():
                drawn(state)

        yield show


@contextmanager
def stopped_gently(quiet: bool) -> Iterator[None]:
    """Ctrl-C: say that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        note("seewhy: stopped. What was done is kept; the same command goes on from there.", quiet)
        raise


class Clock:
    """Laps since the one before, the first since this program's own code began to be loaded."""

    def __init__(self) -> None:
        self._laps = [("start", time.perf_counter() - _STARTED)]
        self._last = time.perf_counter()

    def lap(self, name: str, _done: object = None) -> None:
        """End a lap. `_done` is a place to write the expression that is timed."""
        now = time.perf_counter()
        self._laps.append((name, now - self._last))
        self._last = now

    def report(self) -> str:
        """One line a lap, and their sum; Python's own start, some hundredths of a second, comes on top."""
        total = ("together", sum(seconds for _, seconds in self._laps))
        return "\n".join(f"{seconds * 1000:8.1f} ms  {name}" for name, seconds in [*self._laps, total])


def _counted(state: Progress) -> str:
    if state.stage in ("training", "integrating"):
        return f"step {state.done:,} of {state.total:,}"
    return f"{state.passages:,} passages"


def _rate(state: Progress, started: float) -> str:
    seconds = time.monotonic() - started
    return f"{state.tokens / seconds:,.0f} tokens/s" if state.tokens and seconds > 0 else ""
