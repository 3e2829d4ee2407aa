"""What a training did, of an encoder or of a head for labels, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Column
from rich.text import Text

from search.records.evaluations import ClassFigures, ClassReport, TrainingReport
from search.records.predictions import LabelReport, LabelTraining
from search.render.evaluation import interval
from search.render.format import duration, escape, one_line, shown_path
from search.render.terminal import Canvas, as_text, grid, number

_SETTINGS = ("epochs", "batch_size", "lr", "warmup", "seed", "freeze", "class_weights", "precision")
_LEFT_OUT = ("duplicates", "also_held_out", "cut")


@as_text
def training(canvas: Canvas, done: TrainingReport) -> None:
    """The figures before and after, what they are of, and where the model is."""
    canvas.line(f"Trained {base_name(done)} into {escape(shown_path(done.out))}", style="bold", whole=True)
    canvas.line(figures_line(done), style="dim")
    canvas.gap()
    table = grid(
        Column("metric", no_wrap=True),
        *map(number, ("before", "after", "difference")),
        Column("95 % interval", no_wrap=True),
    )
    for name, before in done.before.items():
        gap = done.difference[name]
        better = gap.mean > 0
        style = "" if name != done.primary else "bold green" if better else "bold red"
        means = f"{before.mean:.4f}", f"{done.after[name].mean:.4f}"
        ends = f"{gap.low:+.3f} to {gap.high:+.3f}"
        table.add_row(name, *means, Text(f"{gap.mean:+.4f}", style=style), Text(ends, style="dim"))
    canvas.table(table)
    canvas.gap()
    files = dict.fromkeys(f"{one_line(file.name)} ({file.role})" for file in done.files)
    left = {name.replace("_", " "): done.counts.get(name, 0) for name in _LEFT_OUT}
    said = ", ".join(f"{name}: {count:,}" for name, count in left.items() if count)
    rows = f"{done.counts['read']:,} read" + (f"; {said}" if said else "")
    settings = [f"{name} {done.settings[name]}" for name in _SETTINGS if done.settings.get(name) is not None]
    canvas.facts(
        (
            ("loss", done.loss),
            ("data", ", ".join(files)),
            ("rows", rows),
            ("settings", ", ".join(settings)),
            ("steps", steps_line(done)),
            ("time", f"{duration(done.seconds)} on {one_line(done.device)}"),
        )
    )
    if done.classes:
        _draw_class_report(canvas, done.classes, "words" if done.objective == "tag" else "texts")
    if done.notes:
        canvas.gap()
    canvas.notes(done.notes)


def _draw_class_report(canvas: Canvas, report: ClassReport, of: str) -> None:
    canvas.gap()
    canvas.facts(
        (
            (
                "majority class",
                f"{report.majority_accuracy:.4f} of the {of} are '{one_line(report.majority)}'",
            ),
            ("calibration error", f"{report.calibration_error:.4f}"),
        )
    )
    canvas.title("By class")
    _draw_classes(canvas, report.by_class)
    canvas.title(f"Confusion of {of}: rows are true labels, columns what was said")
    _draw_confusion(canvas, report.classes, report.confusion.tolist())


def base_name(done: TrainingReport) -> str:
    """The base as it is shown: a folder relative to the current one."""
    return one_line(shown_path(done.base) if Path(done.base).is_absolute() else done.base)


def figures_line(done: TrainingReport) -> str:
    """What was learned, and what the figures are of."""
    counts = done.counts
    held = f"{counts['held_out']:,} held out"
    if "chosen_by" in counts:
        held = f"{counts['held_out']:,} to measure with, {counts['chosen_by']:,} to choose a checkpoint by"
    if "queries" in counts:
        held += f", {counts['queries']:,} queries among {counts['ranked_passages']:,} passages"
    return f"{counts['train']:,} {done.learned}; {held}"


def chosen_by(done: TrainingReport) -> str:
    """What the checkpoint was chosen by."""
    return f"{done.counts['chosen_by']:,} for the choice" if "chosen_by" in done.counts else "held out"


def steps_line(done: TrainingReport) -> str:
    """How many steps, and which of them was kept."""
    return f"{done.steps:,}; the weights of step {done.kept:,} were kept"


@as_text
def label_training(canvas: Canvas, trained: LabelTraining) -> None:
    """The figures; classes and confusion."""
    report = trained.report
    canvas.line(one_line(trained.name), style="bold")
    canvas.line(_examples_line(trained), style="dim")
    canvas.line(_judged_line(report), style="dim")
    canvas.gap()
    _draw_figures(canvas, report)
    canvas.title("By class")
    _draw_classes(canvas, report.by_class)
    mean = f", means of {report.repeats} divisions" if report.repeats > 1 else ""
    canvas.title(f"Confusion: rows are true labels, columns what was said{mean}")
    _draw_confusion(canvas, report.classes, report.confusion.tolist())
    if trained.notes:
        canvas.gap()
    canvas.notes(trained.notes)


def _examples_line(trained: LabelTraining) -> str:
    report = trained.report
    source = f" of {one_line(trained.source)}" if trained.source else ""
    groups = f" in {report.groups:,} documents or texts" if report.groups < report.examples else ""
    reused = (
        f"; {trained.reused:,} embeddings from the index, {trained.encoded:,} encoded"
        if trained.reused
        else ""
    )
    return f"{report.examples:,} examples{source}{groups}, {len(report.classes)} labels{reused}"


def _judged_line(report: LabelReport) -> str:
    """How the figures came about."""
    times = f", {report.repeats} times" if report.repeats > 1 else ""
    chosen = f" (the best of {len(report.log_losses)})" if len(report.log_losses) > 1 else ""
    return (
        f"logistic regression, C = {report.c:g}{chosen}, on frozen embeddings of {one_line(report.model)}; "
        f"{report.folds}-fold cross-validation{times} (seed {report.seed})"
    )


def _draw_figures(canvas: Canvas, report: LabelReport) -> None:
    table = grid(Column(no_wrap=True), number("figure"), Column("95 % interval"))
    always = f"accuracy of always '{one_line(report.majority)}'"
    for name, figure, rest in (
        ("accuracy", report.accuracy.mean, interval(report.accuracy)),
        ("macro F1", report.macro_f1.mean, interval(report.macro_f1)),
        ("majority class", report.majority_accuracy, always),
        (
            "log loss",
            report.log_losses[report.c],
            "by which C is chosen" if len(report.log_losses) > 1 else "",
        ),
        ("calibration error", report.calibration_error, ""),
    ):
        table.add_row(name, Text(f"{figure:.4f}", style="bold"), Text(rest, style="dim"))
    canvas.table(table)


def _draw_classes(canvas: Canvas, by_class: Sequence[ClassFigures]) -> None:
    table = grid("label", *map(number, ("precision", "recall", "F1", "examples")), header="dim")
    for figures in by_class:
        shares = (f"{value:.3f}" for value in (figures.precision, figures.recall, figures.f1))
        table.add_row(one_line(figures.label), *shares, f"{figures.support:,}")
    canvas.table(table)


def _draw_confusion(canvas: Canvas, classes: Sequence[str], confusion: list[list[float]]) -> None:
    names = [one_line(name) for name in classes]
    cells = (Column(name, justify="right", overflow="fold") for name in names)
    table = grid(Column(no_wrap=True), *cells, header="dim")
    for i, (name, row) in enumerate(zip(names, confusion, strict=True)):
        table.add_row(
            name, *(Text(_count(cell), style="bold" if i == j else "") for j, cell in enumerate(row))
        )
    canvas.table(table)


def _count(value: float) -> str:
    """Of examples; with a decimal where it is a mean that is no whole number."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 else f"{value:,.1f}"
