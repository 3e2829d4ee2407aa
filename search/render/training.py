"""A training for a terminal: of an encoder, of a head on BERT, of a linear head for labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.table import Column
from rich.text import Text

from search.records.evaluations import ClassReport, TrainingReport
from search.records.predictions import LabelTraining
from search.render.evaluation import interval
from search.render.format import duration, escape, one_line, shown_path
from search.render.terminal import Canvas, as_text, grid, number

_SETTINGS = ("epochs", "batch_size", "lr", "warmup", "seed", "freeze", "precision")


@as_text
def training(canvas: Canvas, done: TrainingReport) -> None:
    """The figures before and after, what they are of, and where the model is."""
    canvas.line(f"Trained {base_name(done)} into {escape(shown_path(done.out))}", style="bold", whole=True)
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
            (
                "rows",
                _listed(
                    {name: done.counts.get(name) for name in ("read", "duplicates", "also_held_out", "cut")}
                ),
            ),
            ("settings", _listed({name: done.settings.get(name) for name in _SETTINGS})),
            ("steps", steps_line(done)),
            ("time", f"{duration(done.seconds)} on {one_line(done.device)}"),
        )
    )
    if done.classes:
        canvas.gap()
        _draw_classes(canvas, done.classes)
    canvas.gap()
    canvas.notes(done.notes)


def _listed(values: Mapping[str, object]) -> str:
    """What there is, by name: "read 1,234, duplicates 4"."""
    shown = {name: f"{value:,}" if type(value) is int else value for name, value in values.items()}
    return ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in shown.items()
        if value not in (None, "0") or name == "seed"
    )


def base_name(done: TrainingReport) -> str:
    """The base as it is shown: a folder relative to the current one."""
    return one_line(shown_path(done.base) if Path(done.base).is_absolute() else done.base)


def figures_line(done: TrainingReport) -> str:
    """What was learned, and what the figures are of."""
    counts = done.counts
    return (
        f"{counts['train']:,} {done.learned}; {counts['held_out']:,} to measure with, {counts['chosen_by']:,} to "
        "choose a checkpoint by"
    )


def steps_line(done: TrainingReport) -> str:
    """How many steps, and which of them was kept."""
    return f"{done.steps:,}; the weights of step {done.kept:,} were kept"


@as_text
def label_training(canvas: Canvas, trained: LabelTraining) -> None:
    """The figures; classes and confusion."""
    report = trained.report
    source = f" of {one_line(trained.source)}" if trained.source else ""
    canvas.line(one_line(trained.name), style="bold")
    canvas.dim(
        f"{report.examples:,} examples{source} in {report.groups:,} documents or texts, {len(report.classes)} labels; "
        f"{trained.reused:,} embeddings from the index, {trained.encoded:,} encoded"
    )
    canvas.dim(
        f"logistic regression, C = {report.c:g}, on frozen embeddings of {one_line(report.model)}; "
        f"{report.folds}-fold cross-validation (seed {report.seed})"
    )
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


def _draw_classes(canvas: Canvas, report: ClassReport) -> None:
    majority = f"{report.majority_accuracy:.4f} are '{one_line(report.majority)}'"
    canvas.facts((("majority class", majority), ("calibration error", f"{report.calibration_error:.4f}")))
    canvas.title("By class")
    table = grid("label", *map(number, ("precision", "recall", "F1", "examples")), header="dim")
    for one in report.by_class:
        shares = (f"{value:.3f}" for value in (one.precision, one.recall, one.f1))
        table.add_row(one_line(one.label), *shares, f"{one.support:,.0f}")
    canvas.table(table)
    canvas.title("Confusion: rows are true labels, columns what was said")
    names = [one_line(name) for name in report.classes]
    table = grid(
        Column(no_wrap=True),
        *(Column(name, justify="right", overflow="fold") for name in names),
        header="dim",
    )
    for i, (name, row) in enumerate(zip(names, report.confusion.tolist(), strict=True)):
        table.add_row(
            name, *(Text(f"{cell:,}", style="bold" if i == j else "") for j, cell in enumerate(row))
        )
    canvas.table(table)
