"""What a training did, for a terminal or as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.evaluations import Estimate, TrainingReport
from search.render import json
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, duration, shown_path

if TYPE_CHECKING:
    from rich.console import Console

LEARNED = {
    "pairs": "queries and passages that answer them",
    "triplets": "queries, passages that answer them and passages that do not",
    "graded": "pairs of sentences with scores",
    "mlm": "masked words of passages",
    "denoising": "passages to write again from their embeddings",
}
_SETTINGS = ("epochs", "batch_size", "lr", "warmup", "weight_decay", "precision", "seed")


def training(done: TrainingReport, *, width: int = 80, colour: bool = False) -> str:
    """The figures before and after, what they are of, and where the model is."""
    console = canvas(width, colour)
    console.print(
        Text(f"Trained {base_name(done)} into {escape(shown_path(done.out))}", style="bold"), soft_wrap=True
    )
    console.print(Text(figures_line(done), style="dim"))
    console.print()
    console.print(_figures(done))
    console.print()
    console.print(_facts(done))
    _draw_notes(console, done)
    return drawn(console)


def as_json(done: TrainingReport) -> str:
    """The record, with what it derives."""
    return json.document(
        {
            **asdict(done),
            "stopped_early": done.stopped_early,
            "lower_is_better": done.lower_is_better,
            "improved": done.improved,
        }
    )


def base_name(done: TrainingReport) -> str:
    """The base as it is shown: a folder relative to the current one."""
    return one_line(shown_path(done.base) if Path(done.base).is_absolute() else done.base)


def figures_line(done: TrainingReport) -> str:
    """What was learned, and what the figures are of."""
    counts = done.counts
    held = (
        f"{counts['held_out']:,} to measure with"
        if "chosen_by" in counts
        else f"{counts['held_out']:,} held out"
    )
    if "chosen_by" in counts:
        held += f", {counts['chosen_by']:,} to choose a checkpoint by"
    if "queries" in counts:
        held += f", {counts['queries']:,} queries among {counts['ranked_passages']:,} passages"
    return f"{counts['train']:,} {LEARNED[done.objective]}; {held}"


def chosen_by(done: TrainingReport) -> str:
    """What the checkpoint was chosen by."""
    return f"{done.counts['chosen_by']:,} for the choice" if "chosen_by" in done.counts else "held out"


def gap_cells(before: Estimate, after: Estimate, gap: Estimate) -> tuple[str, str, str, str]:
    """Before, after, their difference and its interval."""
    return (
        f"{before.mean:.4f}",
        f"{after.mean:.4f}",
        f"{gap.mean:+.4f}",
        f"{gap.low:+.3f} to {gap.high:+.3f}",
    )


def steps_line(done: TrainingReport) -> str:
    """How many steps, which of them was kept, and why there were no more."""
    early = f" of {done.planned:,}, stopped early" if done.stopped_early else ""
    return f"{done.steps:,}{early}; the weights of step {done.kept:,} were kept"


def step_ticks(last: int, parts: int) -> list[int]:
    """Steps to write on an axis, each once."""
    return sorted({round(last * i / parts) for i in range(parts + 1)})


def tick(value: float, span: float) -> str:
    """A number with as many digits as the range needs."""
    digits = max(2, 2 - math.floor(math.log10(span / 0.2))) if span > 0 else 4
    return f"{value:.{min(digits, 8)}f}"


def _figures(done: TrainingReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    for name in ("before", "after", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    for name, before in done.before.items():
        cells = gap_cells(before, done.after[name], done.difference[name])
        better = (done.difference[name].mean < 0) == done.lower_is_better and done.difference[name].mean
        style = "" if name != done.primary else "bold green" if better else "bold red"
        table.add_row(name, *cells[:2], Text(cells[2], style=style), Text(cells[3], style="dim"))
    return table


def _facts(done: TrainingReport) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("loss", done.loss)
    table.add_row(
        "data", Text(", ".join(dict.fromkeys(f"{one_line(f.name)} ({f.role})" for f in done.files)))
    )
    left = {
        name: done.counts.get(name, 0)
        for name in ("duplicates", "also_held_out", "without_negative", "query_too_long", "cut")
    }
    said = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in left.items() if count)
    table.add_row("rows", f"{done.counts['read']:,} read" + (f"; {said}" if said else ""))
    table.add_row("settings", ", ".join(f"{name} {done.settings[name]}" for name in _SETTINGS))
    table.add_row("steps", steps_line(done))
    table.add_row("time", f"{duration(done.seconds)} on {one_line(done.device)}")
    return table


def _draw_notes(console: Console, done: TrainingReport) -> None:
    if done.notes:
        console.print()
    for note in done.notes:
        console.print(Padding(Text(f"note: {one_line(note)}", style="dim"), (0, 0)))
