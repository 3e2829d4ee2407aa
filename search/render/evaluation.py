"""What an evaluation found, of a ranking or of a tagger, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Column
from rich.text import Text

from search.records.evaluations import Comparison, EntityEvaluation, Estimate, Evaluation, Measured, Tuning
from search.render import json
from search.render.format import duration, one_line
from search.render.terminal import Canvas, as_text, grid, number


@as_text
def evaluation(canvas: Canvas, evaluated: Evaluation) -> None:
    """The figures with their intervals, how long queries take, settings compared, and what has to be known."""
    split = f" ({one_line(evaluated.split)})" if evaluated.split else ""
    canvas.line(one_line(evaluated.dataset) + split, style="bold")
    canvas.dim(_judged(evaluated))
    canvas.gap()
    _draw_figures(canvas, evaluated.settings)
    compared = [comparison for comparison in evaluated.comparisons if comparison.metric == evaluated.primary]
    if compared:
        canvas.gap()
    for comparison in compared:
        counts = (
            f"{comparison.better:,} queries, worse for {comparison.worse:,}, equal for {comparison.equal:,}"
        )
        canvas.line(*compared_parts(comparison, comparison.metric), f"; better for {counts}")
    if evaluated.notes:
        canvas.gap()
    canvas.notes(evaluated.notes)


@as_text
def tuning(canvas: Canvas, tuned: Tuning) -> None:
    """What was tried, what is best, and whether that is more than chance."""
    evaluated, gap = tuned.evaluation, tuned.comparison
    canvas.line(one_line(evaluated.dataset), style="bold")
    canvas.dim(_judged(evaluated))
    canvas.gap()
    table = grid("setting", number(evaluated.primary), Column("95 % interval", no_wrap=True))
    for measured in evaluated.settings:
        figure = measured.metrics[evaluated.primary]
        style = "bold green" if measured.setting == tuned.best else ""
        table.add_row(
            one_line(measured.setting.name),
            Text(f"{figure.mean:.4f}", style=style),
            Text(interval(figure), style="dim"),
        )
    canvas.table(table)
    canvas.gap()
    canvas.line(("best on these queries  ", "dim"), (one_line(tuned.best.name), "bold"))
    said = "beyond chance" if tuned.beyond_chance else "no more than chance"
    canvas.line(
        f"Chosen on four fifths and asked on the fifth, it is {gap.difference.mean:+.4f} "
        f"({interval(gap.difference)}, p = {gap.p:.3f}) to the default: {said}."
    )
    if tuned.saved:
        canvas.line("Written into the index's settings; queries that say nothing else use it.")
    elif evaluated.index:
        canvas.dim("Write it into the index's settings with: --save")
    canvas.notes(evaluated.notes)


def tuning_json(tuned: Tuning) -> str:
    """One JSON document: what was tried, what is best, and what that gains where it was not chosen on."""
    evaluated = tuned.evaluation
    return json.document(
        {
            **json.plain(evaluated),
            "query_count": len(evaluated.queries),
            "settings": [{"setting": one.setting, "metrics": one.metrics} for one in evaluated.settings],
            "best": tuned.best,
            "comparison": tuned.comparison,
            "folds": tuned.folds,
            "beyond_chance": tuned.beyond_chance,
            "saved": tuned.saved,
            "notes": evaluated.notes,
        }
    )


def _judged(evaluated: Evaluation) -> str:
    """What the figures are of."""
    queries = len(evaluated.queries)
    if evaluated.task == "qa":
        indexed = f", {evaluated.passages:,} passages" if evaluated.index else ""
        held = f"{queries:,} questions, {evaluated.judgements:,} gold answers"
        return f"{held}; {evaluated.documents:,} paragraphs{indexed}; read by {one_line(evaluated.model)}"
    if evaluated.task == "sts":
        held = f"{queries:,} pairs of sentences"
    else:
        gold = "gold spans" if evaluated.task == "spans" else "judgements"
        held = f"{queries:,} queries, {evaluated.judgements:,} {gold}; {evaluated.documents:,} documents"
        held += f", {evaluated.passages:,} passages" if evaluated.index else ", ranked whole"
    return f"{held}; {one_line(evaluated.model)}, {evaluated.pooling}"


def _draw_figures(canvas: Canvas, settings: Sequence[Measured]) -> None:
    """A line for each metric, or for each metric and setting, those of one metric together."""
    several = len(settings) > 1
    named = ["setting"] if several else []
    table = grid(
        Column("metric", no_wrap=True), *named, number("mean"), Column("95 % interval", no_wrap=True)
    )
    for metric in settings[0].metrics:
        best = max(measured.metrics[metric].mean for measured in settings)
        for measured in settings:
            figure = measured.metrics[metric]
            style = "bold green" if several and figure.mean == best else ""
            table.add_row(
                metric if measured is settings[0] else "",
                *([one_line(measured.setting.name)] if several else []),
                Text(f"{figure.mean:.4f}", style=style),
                Text(interval(figure), style="dim"),
            )
    canvas.table(table)


def interval(figure: Estimate) -> str:
    """`0.312 to 0.358`"""
    return f"{figure.low:.3f} to {figure.high:.3f}"


def compared_parts(comparison: Comparison, metric: str) -> tuple[str, tuple[str, str], str]:
    """Two settings on the same queries, in a sentence without its end: a beginning, the gap in bold, its interval."""
    gap = comparison.difference
    p = "p < 0.001" if comparison.p < 0.001 else f"p = {comparison.p:.3f}"
    return (
        f"{one_line(comparison.other)} against {one_line(comparison.baseline)}, {metric}: ",
        (f"{gap.mean:+.4f}", "bold"),
        f" ({gap.low:+.3f} to {gap.high:+.3f}), {p}",
    )


def as_json(evaluated: Evaluation, *, per_query: bool = False) -> str:
    """One JSON document: the figures under "metrics", or with several settings a list under "settings"; single
    queries only where they are asked for."""
    names = ("setting", "metrics", *(["queries"] if per_query else []))
    settings = [{name: getattr(measured, name) for name in names} for measured in evaluated.settings]
    figures: dict[str, Any] = {"settings": settings, "comparisons": evaluated.comparisons}
    return json.document(
        {
            **json.plain(evaluated),
            "query_count": len(evaluated.queries),
            **(settings[0] if len(settings) == 1 else figures),
            "notes": evaluated.notes,
        }
    )


@as_text
def entities(canvas: Canvas, evaluated: EntityEvaluation) -> None:
    """Precision, recall and F1 by type and over all, each with its interval, and what has to be known."""
    canvas.line(one_line(evaluated.dataset), style="bold")
    counts = (
        f"{evaluated.sentences:,} sentences, {evaluated.words:,} words, {evaluated.micro.gold:,} entities"
    )
    canvas.dim(f"{counts}; {one_line(evaluated.model)}, {duration(evaluated.seconds)}")
    canvas.gap()
    table = grid(
        "type",
        *map(number, ("precision", "recall", "F1")),
        Column("F1, 95 % interval", no_wrap=True),
        *map(number, ("gold", "found", "right")),
    )
    for figures in (*evaluated.types, evaluated.micro):
        style = "bold" if figures is evaluated.micro else ""
        means = (f"{figure.mean:.4f}" for figure in (figures.precision, figures.recall, figures.f1))
        table.add_row(
            Text(one_line(figures.name), style=style),
            *(Text(mean, style=style) for mean in means),
            Text(interval(figures.f1), style="dim"),
            *(f"{count:,}" for count in (figures.gold, figures.predicted, figures.right)),
        )
    canvas.table(table)
    canvas.gap()
    canvas.line(f"mean of the types' F1: {evaluated.macro_f1:.4f}")
    precision, recall = (
        f"{figure.mean:.4f} ({interval(figure)})"
        for figure in (evaluated.micro.precision, evaluated.micro.recall)
    )
    canvas.line(f"over all: precision {precision}, recall {recall}")
    if evaluated.mapping:
        said = ", ".join(f"{old} as {new}" for old, new in evaluated.mapping.items())
        canvas.dim(f"taken: {one_line(said)}")
    canvas.notes(evaluated.notes)


def entities_json(evaluated: EntityEvaluation) -> str:
    """One JSON document, the figures over all under "metrics"; the predictions have a file of their own."""
    return json.document(
        {"task": "ner", "metrics": evaluated.metrics, "all": evaluated.micro, **json.plain(evaluated)}
    )
