"""Labels of texts and of an index, how good a trained head is, and what a logit is made of: drawn for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records import (
    Comparison,
    LabelExplanation,
    LabelledIndex,
    LabelledText,
    Labelling,
    LabelReport,
    LabelTraining,
    Word,
)
from search.records.filters import field_in_filter, filter_argument, in_filter
from search.render import json
from search.render.escape import one_line
from search.render.terminal import canvas, drawn

if TYPE_CHECKING:
    from rich.console import Console

_BAR = 20


def labelling(found: Labelling, *, width: int = 80, colour: bool = False) -> str:
    """Texts with the probabilities of their classes, the best first."""
    console = canvas(width, colour)
    for number, one in enumerate(found.texts):
        if number:
            console.print()
        console.print(Text(one_line(one.text)))
        console.print(_probabilities(found, one))
        if one.windows > 1:
            console.print(f"  read in {one.windows} windows; the mean of their logits counts", style="dim")
    console.print()
    console.print(Text(classifier_line(found), style="dim"))
    return drawn(console)


def classifier_line(found: Labelling) -> str:
    """Who has labelled, and what the numbers are."""
    who = one_line(found.classifier)
    if found.pooling:
        who += f", a linear head over {one_line(found.model)} ({found.pooling})"
    rest = "They sum to 1." if found.exclusive else "Each class has its own; from 0.5 on it is a label."
    return f"Probabilities by {who}. {rest}"


def _probabilities(found: Labelling, one: LabelledText) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    _add_columns(table, "left", "right", "left")
    pairs = sorted(zip(found.classes, one.scores, strict=True), key=lambda pair: -pair[1])
    for name, score in pairs:
        style = "bold green" if name in one.labels else "dim"
        bar = "█" * round(score * _BAR)
        table.add_row(Text(f"  {one_line(name)}", style=style), f"{score:.3f}", Text(bar, style="blue"))
    return table


def labelled_index(found: LabelledIndex, *, width: int = 80, colour: bool = False) -> str:
    """What was labelled, and how many passages have each label."""
    console = canvas(width, colour)
    before = f", {found.before:,} had been before" if found.before else ""
    console.print(Text(f"{one_line(found.name)}: {found.labelled:,} passages labelled{before}", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    _add_columns(table, "left", "right", "right", "left")
    for name, count in sorted(found.counts.items(), key=lambda pair: -pair[1]):
        share = count / max(found.passages, 1)
        shown = one_line(name) if name else "(none)"
        bar = Text("█" * round(share * _BAR), style="blue")
        table.add_row(f"  {shown}", f"{count:,}", f"{share:.0%}", bar)
    console.print(table)
    if found.windowed:
        console.print(f"{found.windowed:,} of them did not fit the model and were read in windows")
    console.print(Text(index_line(found), style="dim"))
    return drawn(console)


def index_line(found: LabelledIndex) -> str:
    """How the labels are used."""
    best = max(found.classes, key=lambda label: found.counts.get(label, 0))
    condition = in_filter(found.name, best)
    if found.exclusive:  # of several labels it would be the highest one's
        condition += f" and {field_in_filter(f'{found.name}_score')}>=0.8"
    return f"Filter by it: --where {one_line(filter_argument(condition))}"


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


def explanation(found: LabelExplanation, *, width: int = 80, colour: bool = False) -> str:
    """What each word adds to the logit of each class, the sums, and the probabilities."""
    console = canvas(width, colour)
    console.print(Text(one_line(found.text)))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for name in found.classes:
        table.add_column(one_line(name), justify="right", overflow="fold")
    largest = float(abs(found.by_word).max()) or 1.0
    for word, added in zip(found.words, found.by_word.tolist(), strict=True):
        style = "" if word.kind == "word" else "dim"
        cells = [Text(f"{value:+.4f}", style=_tone(value, largest)) for value in added]
        table.add_row(Text(one_line(word.text), style=style), *cells)
    for name, row in sum_rows(found):
        table.add_row(Text(name, style="dim"), *(f"{value:+.4f}" for value in row))
    table.add_row(
        Text("logit", style="bold"), *(Text(f"{value:+.4f}", style="bold") for value in found.logits.tolist())
    )
    table.add_row("probability", *(f"{value:.4f}" for value in found.probabilities.tolist()))
    console.print(table)
    console.print()
    console.print(Text(explained_line(found), style="dim"))
    return drawn(console)


def sum_rows(found: LabelExplanation) -> list[tuple[str, list[float]]]:
    """What is added besides the words."""
    return [("intercept", found.intercepts.tolist())]


def explained_line(found: LabelExplanation) -> str:
    residual = float(abs(found.residual).max())
    return (
        f"The label is '{one_line(found.label)}', by the head '{one_line(found.head)}' over {one_line(found.model)} "
        f"({found.pooling}). Each column adds up to its logit; residual at most {residual:.1e}. The vectors of words "
        "depend on their neighbours: an addend is no effect of leaving the word out."
    )


def _tone(value: float, largest: float) -> str:
    if abs(value) < largest / 4:
        return ""
    return "blue" if value > 0 else "yellow"


def _add_columns(table: Table, *sides: Literal["left", "right"]) -> None:
    for side in sides:
        table.add_column(justify=side, overflow="fold")


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def as_json(found: Labelling | LabelledIndex | LabelTraining, **more: Any) -> str:
    """Any of the records as one JSON document, with more keys where they are given."""
    return json.document({**vars(found), **more})


def explanations_json(found: Sequence[LabelExplanation]) -> str:
    """The explanations with what they derive: residual, addends by word."""
    return json.document(
        [
            {**vars(one), "residual": one.residual, "by_word": one.by_word, "words": words_of(one.words)}
            for one in found
        ]
    )


def words_of(words: Sequence[Word]) -> list[dict[str, Any]]:
    return [
        {
            "text": word.text,
            "start": word.start,
            "end": word.end,
            "kind": word.kind,
            "tokens": list(word.tokens),
        }
        for word in words
    ]
