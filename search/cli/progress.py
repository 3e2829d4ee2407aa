"""How far a command is and where its time went, on stderr, for a person who waits.

A progress bar is drawn anew on a terminal; elsewhere (a log file, a pipe) a line is written now and then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from search.cli.output import note
from search.records.reports import Progress

_STARTED = time.perf_counter()
_SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A callback for `Index.build` and its like; None when nothing is to be shown.

    What begins again, as one way to ask after another, has its bar begin again.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    started, before = time.monotonic(), 0
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("looking", total=None, rate="")

        def show(state: Progress) -> None:
            nonlocal started, before
            if state.done < before:
                started = time.monotonic()
                bar.reset(task)
            before = state.done
            bar.update(
                task,
                description=f"{state.stage} {_counted(state)}",
                completed=state.done,
                total=max(state.total, 1),
                rate=_rate(state, started),
            )

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


def _lines() -> Callable[[Progress], None]:
    started = last = since = time.monotonic()
    stage, first, before = "", 0, 0  # `first` was done when the stage first said something, at `since`

    def show(state: Progress) -> None:
        nonlocal started, last, since, stage, first, before
        now = time.monotonic()
        if state.done < before:
            started = now
        if state.stage != stage or state.done < before:  # a first step often takes longer: it is not counted
            stage, first, since = state.stage, state.done, now
        before = state.done
        if now - last < _SECONDS_BETWEEN_LINES or not state.total:
            return
        last = now
        share = state.done / state.total
        done = state.done - first
        left = f"about {(now - since) * (state.total - state.done) / done:,.0f} s left" if done > 0 else ""
        print(
            "  ".join(filter(None, (f"{share:4.0%}", _counted(state), _rate(state, started), left))),
            file=sys.stderr,
            flush=True,
        )

    return show


def _counted(state: Progress) -> str:
    if state.stage == "training":
        return f"step {state.done:,} of {state.total:,}"
    return f"{state.passages:,} passages"


def _rate(state: Progress, started: float) -> str:
    seconds = time.monotonic() - started
    return f"{state.tokens / seconds:,.0f} tokens/s" if state.tokens and seconds > 0 else ""
