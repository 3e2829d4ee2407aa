"""How good a trained head is: its figures, classes, confusion and calibration, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.evaluations import Comparison
from search.records.predictions import LabelReport, LabelTraining
from search.render.escape import one_line
from search.render.terminal import canvas, drawn

if TYPE_CHECKING:
    from rich.console import Console

_BAR = 20


def training(found: LabelTraining, *, width: int = 80, colour: bool = False) -> str:
    """The figures, side by side where there are several poolings; classes, confusion and calibration of the first."""
    console = canvas(width, colour)
    report = found.report
    console.print(Text(one_line(found.name), style="bold"))
    console.print(Text(examples_line(found), style="dim"))
    console.print(Text(judged_line(report), style="dim"))
    console.print()
    _draw_figures(console, found.reports)
    _draw_comparisons(console, found.comparisons)
    several = len(found.reports) > 1
    _title(console, f"By class{f' ({report.pooling})' if several else ''}")
    _draw_classes(console, report)
    _title(console, confusion_title(report))
    _draw_confusion(console, report)
    _title(console, calibration_line(report))
    _draw_calibration(console, report)
    if found.notes:
        console.print()
    for note in found.notes:
        console.print(Padding(Text(f"note: {one_line(note)}", style="dim"), (0, 0)))
    return drawn(console)


def examples_line(found: LabelTraining) -> str:
    report = found.report
    source = f" of {one_line(found.source)}" if found.source else ""
    groups = f" in {report.groups:,} documents or texts" if report.groups < report.examples else ""
    reused = (
        f"; {found.reused:,} embeddings from the index, {found.encoded:,} encoded" if found.reused else ""
    )
    return f"{report.examples:,} examples{source}{groups}, {len(report.classes)} labels{reused}"


def judged_line(report: LabelReport) -> str:
    """How the figures came about."""
    times = "" if report.repeats == 1 else f", {report.repeats} times (seed {report.seed})"
    if report.repeats == 1:
        times = f" (seed {report.seed})"
    return (
        f"logistic regression, C = {report.c:g}, on frozen embeddings of {one_line(report.model)}; "
        f"{report.folds}-fold cross-validation{times}"
    )


def figure_rows(report: LabelReport) -> list[tuple[str, str, str]]:
    """(name, figure, interval)."""
    found = [
        (name, f"{one.mean:.4f}", f"{one.low:.3f} to {one.high:.3f}")
        for name, one in (("accuracy", report.accuracy), ("macro F1", report.macro_f1))
    ]
    always = f"always '{one_line(report.majority)}'"
    return [
        *found,
        ("majority class", f"{report.majority_accuracy:.4f}", f"accuracy of {always}"),
        ("calibration error", f"{report.calibration.error:.4f}", ""),
    ]


def _draw_figures(console: Console, reports: Sequence[LabelReport]) -> None:
    several = len(reports) > 1
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    if several:
        table.add_column("pooling")
    table.add_column("figure", justify="right", no_wrap=True)
    table.add_column("95 % interval")
    rows = [figure_rows(report) for report in reports]
    for i, (name, *_) in enumerate(rows[0]):
        for number, mine in enumerate(rows):
            if number and name == "majority class":  # the same for all
                continue
            cells = [Text(name if number == 0 else "")]
            if several:
                cells.append(Text("" if name == "majority class" else reports[number].pooling))
            table.add_row(*cells, Text(mine[i][1], style="bold"), Text(mine[i][2], style="dim"))
    console.print(table)


def comparison_line(one: Comparison) -> str:
    gap, p = one.difference, "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
    name = one.metric.replace("_f1", " F1")
    return (
        f"{one_line(one.other)} against {one_line(one.baseline)}, {name}: {gap.mean:+.4f} "
        f"({gap.low:+.3f} to {gap.high:+.3f}), {p}"
    )


def _draw_comparisons(console: Console, compared: Sequence[Comparison]) -> None:
    if compared:
        console.print()
    for one in compared:
        console.print(Text(comparison_line(one)))


def _draw_classes(console: Console, report: LabelReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("label", overflow="fold")
    for header in ("precision", "recall", "F1", "examples"):
        table.add_column(header, justify="right", no_wrap=True)
    for one in report.by_class:
        figures = (f"{value:.3f}" for value in (one.precision, one.recall, one.f1))
        table.add_row(one_line(one.label), *figures, f"{one.support:,}")
    console.print(table)


def confusion_title(report: LabelReport) -> str:
    mean = f", means of {report.repeats} divisions" if report.repeats > 1 else ""
    return f"Confusion: rows are true labels, columns what was said{mean}"


def count(value: float) -> str:
    """Of examples; with a decimal where it is a mean that is no whole number."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 else f"{value:,.1f}"


def _draw_confusion(console: Console, report: LabelReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for name in report.classes:
        table.add_column(one_line(name), justify="right", overflow="fold")
    for i, (name, row) in enumerate(zip(report.classes, report.confusion.tolist(), strict=True)):
        cells = [Text(count(cell), style="bold" if i == j else "") for j, cell in enumerate(row)]
        table.add_row(one_line(name), *cells)
    console.print(table)


def calibration_line(report: LabelReport) -> str:
    return (
        f"Calibration: what was said with what probability, and was right; the error is "
        f"{report.calibration.error:.4f}"
    )


def _draw_calibration(console: Console, report: LabelReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for header in ("probability", "mean", "right", "share"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    total = sum(one.count for one in report.calibration.bins)
    for one in report.calibration.bins:
        table.add_row(
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.confidence:.3f}",
            f"{one.accuracy:.3f}",
            f"{one.count / total:.1%}",
            Text("█" * round(one.accuracy * _BAR), style="blue"),
        )
    console.print(table)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))
