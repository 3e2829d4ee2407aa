"""Reports of training runs for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from rich.table import Column
from rich.text import Text

from search.lab.records.predictions import LabelTraining
from search.lab.records.training import ClassReport, TrainingReport
from search.render.evaluation import interval
from search.render.format import duration, escape, one_line, shown_path
from search.render.terminal import Canvas, as_text, grid, number


@as_text
def training(canvas: Canvas, done: TrainingReport) -> None:
    """Draw the metrics before and after training, the data that they were measured on, and the path of the model."""
    canvas.line(
        f"Trained {base_name(done)}, saved in {escape(shown_path(done.out))}", style="bold", whole=True
    )
    canvas.line(figures_line(done), style="dim")
    canvas.gap()
    means = map(number, ("before", "after", "difference"))
    table = grid(Column("metric", no_wrap=True), *means, Column("95 % interval", no_wrap=True))
    for name, before in done.before.items():
        gap = done.difference[name]
        style = "" if name != done.primary else "bold green" if gap.mean > 0 else "bold red"
        ends = Text(f"{gap.low:+.3f} to {gap.high:+.3f}", style="dim")
        difference = Text(f"{gap.mean:+.4f}", style=style)
        table.add_row(name, f"{before.mean:.4f}", f"{done.after[name].mean:.4f}", difference, ends)
    canvas.table(table)
    canvas.gap()
    files = dict.fromkeys(f"{one_line(file.name)} ({file.role})" for file in done.files)
    canvas.facts(
        (
            ("loss", done.loss),
            ("data", ", ".join(files)),
            ("steps", steps_line(done)),
            ("time", f"{duration(done.seconds)} on {one_line(done.device)}"),
        )
    )
    canvas.gap()
    table = grid(number("epoch"), number("mean training loss"), number(f"held-out {done.primary}"))
    for epoch, loss, score in epochs(done):
        table.add_row(str(epoch), f"{loss:.4f}", score)
    canvas.table(table)
    if done.classes:
        canvas.gap()
        _draw_classes(canvas, done.classes)
    canvas.gap()
    canvas.notes(done.notes)


def epochs(done: TrainingReport) -> Iterator[tuple[int, float, str]]:
    """Yield the number, mean training loss and last held-out metric ("" for none) of each epoch."""
    steps = math.ceil(done.counts["train"] / done.settings["batch_size"])
    for epoch in range(1, math.ceil(done.steps / steps) + 1):
        losses, scores = (
            [point.value for point in curve if (epoch - 1) * steps < point.step <= epoch * steps]
            for curve in (done.losses, done.scores)
        )
        if losses:
            yield epoch, sum(losses) / len(losses), f"{scores[-1]:.4f}" if scores else ""


def base_name(done: TrainingReport) -> str:
    """Return the base model's name for display; a folder is given relative to the current one."""
    return one_line(shown_path(done.base) if Path(done.base).is_absolute() else done.base)


def figures_line(done: TrainingReport) -> str:
    """Return a line with the sizes of the training and held-out data."""
    counts = done.counts
    held_out = (
        f"{counts['held_out']:,} to measure with, {counts['chosen_by']:,} to choose a checkpoint by"
    )
    return f"{counts['train']:,} examples to train on, {held_out}"


def steps_line(done: TrainingReport) -> str:
    """Return a line with the number of steps, and the step whose weights were kept."""
    return f"{done.steps:,}; the weights of step {done.kept:,} were kept"


@as_text
def label_training(canvas: Canvas, trained: LabelTraining) -> None:
    """Draw the metrics, in total and for each class."""
    report = trained.report
    canvas.line(one_line(trained.name), style="bold")
    canvas.dim(examples_line(trained))
    canvas.gap()
    table = grid(Column(no_wrap=True), number("figure"), Column("95 % interval"))
    for name, figure in (("accuracy", report.accuracy), ("macro F1", report.macro_f1)):
        table.add_row(name, Text(f"{figure.mean:.4f}", style="bold"), Text(interval(figure), style="dim"))
    canvas.table(table)
    canvas.gap()
    _draw_classes(canvas, report)
    if trained.notes:
        canvas.gap()
    canvas.notes(trained.notes)


def examples_line(trained: LabelTraining) -> str:
    """Return a line with the examples of a linear head and how its metrics were measured."""
    report, source = trained.report, f" of {one_line(trained.source)}" if trained.source else ""
    return (
        f"{report.examples:,} examples{source}, {len(report.classes)} labels; logistic regression on embeddings of "
        f"{one_line(report.model)}, {report.folds}-fold cross-validation"
    )


def _draw_classes(canvas: Canvas, report: ClassReport) -> None:
    majority = f"{report.majority_accuracy:.4f} are '{one_line(report.majority)}'"
    canvas.facts((("majority class", majority),))
    canvas.title("By class")
    table = grid("label", *map(number, ("precision", "recall", "F1", "examples")), header="dim")
    for scores in report.by_class:
        shares = (f"{value:.3f}" for value in (scores.precision, scores.recall, scores.f1))
        table.add_row(one_line(scores.label), *shares, f"{scores.support:,.0f}")
    canvas.table(table)
