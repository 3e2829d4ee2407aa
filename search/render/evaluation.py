"""What an evaluation found, of a ranking or of a tagger, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Column
from rich.text import Text

from search.records.evaluations import Comparison, EntityEvaluation, Estimate, Evaluation, Measured
from search.render import json
from search.render.escape import one_line
from search.render.format import duration
from search.render.terminal import Canvas, grid, number

_WHOLE = (
    "dataset", "source", "task", "split", "index", "model", "pooling", "documents", "passages", "judgements", "primary",
)  # fmt: skip


def evaluation(found: Evaluation, *, width: int = 80, colour: bool = False) -> str:
    """The figures with their intervals, how long queries take, settings compared, and what has to be known."""
    canvas = Canvas(width, colour)
    split = f" ({one_line(found.split)})" if found.split else ""
    canvas.line(one_line(found.dataset) + split, style="bold")
    canvas.line(_judged(found), style="dim")
    canvas.gap()
    _draw_figures(canvas, found.settings)
    _draw_latency(canvas, found)
    compared = [comparison for comparison in found.comparisons if comparison.metric == found.primary]
    if compared:
        canvas.gap()
    for comparison in compared:
        counts = (
            f"{comparison.better:,} queries, worse for {comparison.worse:,}, equal for {comparison.equal:,}"
        )
        canvas.line(*compared_parts(comparison, comparison.metric), f"; better for {counts}")
    if found.notes:
        canvas.gap()
    canvas.notes(found.notes)
    return canvas.drawn()


def _judged(found: Evaluation) -> str:
    """What the figures are of."""
    queries = len(found.queries)
    if found.task == "qa":
        indexed = f", {found.passages:,} passages" if found.index else ""
        held = f"{queries:,} questions, {found.judgements:,} gold answers; {found.documents:,} paragraphs{indexed}"
        return f"{held}; read by {one_line(found.model)}"
    if found.task == "sts":
        held = f"{queries:,} pairs of sentences"
    else:
        gold = "gold spans" if found.task == "spans" else "judgements"
        held = f"{queries:,} queries, {found.judgements:,} {gold}; {found.documents:,} documents"
        held += f", {found.passages:,} passages" if found.index else ", ranked whole"
    return f"{held}; {one_line(found.model)}, {found.pooling}"


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


def _draw_latency(canvas: Canvas, found: Evaluation) -> None:
    timed = [(measured.setting.name, measured.latency) for measured in found.settings if measured.latency]
    if timed:
        canvas.gap()
    for name, took in timed:
        said = f"{took.p50:.1f} ms (median), {took.p95:.1f} ms (95th percentile)"
        asked = "a question" if found.task == "qa" else f"a warm query with {took.k} hits"
        canvas.line(f"{asked}, {one_line(name)}: {said}")


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


def as_json(found: Evaluation, *, per_query: bool = False) -> str:
    """One JSON document: the figures under "metrics", or with several settings a list under "settings"; single
    queries only where they are asked for."""
    names = ("setting", "metrics", "latency", *(["queries"] if per_query else []))
    settings = [{name: getattr(measured, name) for name in names} for measured in found.settings]
    figures: dict[str, Any] = {"settings": settings, "comparisons": found.comparisons}
    whole = {name: getattr(found, name) for name in _WHOLE}
    return json.document(
        {
            **whole,
            "query_count": len(found.queries),
            **(settings[0] if len(settings) == 1 else figures),
            "notes": found.notes,
        }
    )


def entities(found: EntityEvaluation, *, width: int = 80, colour: bool = False) -> str:
    """Precision, recall and F1 by type and over all, each with its interval, and what has to be known."""
    canvas = Canvas(width, colour)
    canvas.line(one_line(found.dataset), style="bold")
    counts = f"{found.sentences:,} sentences, {found.words:,} words, {found.micro.gold:,} entities"
    canvas.line(f"{counts}; {one_line(found.model)}, {duration(found.seconds)}", style="dim")
    canvas.gap()
    table = grid(
        "type",
        *map(number, ("precision", "recall", "F1")),
        Column("F1, 95 % interval", no_wrap=True),
        *map(number, ("gold", "found", "right")),
    )
    for figures in (*found.types, found.micro):
        style = "bold" if figures is found.micro else ""
        means = (f"{figure.mean:.4f}" for figure in (figures.precision, figures.recall, figures.f1))
        table.add_row(
            Text(one_line(figures.name), style=style),
            *(Text(mean, style=style) for mean in means),
            Text(interval(figures.f1), style="dim"),
            *(f"{count:,}" for count in (figures.gold, figures.predicted, figures.right)),
        )
    canvas.table(table)
    canvas.gap()
    canvas.line(f"mean of the types' F1: {found.macro_f1:.4f}")
    precision, recall = (
        f"{figure.mean:.4f} ({interval(figure)})" for figure in (found.micro.precision, found.micro.recall)
    )
    canvas.line(f"over all: precision {precision}, recall {recall}")
    if found.mapping:
        said = ", ".join(f"{old} as {new}" for old, new in found.mapping.items())
        canvas.line(f"taken: {one_line(said)}", style="dim")
    canvas.notes(found.notes)
    return canvas.drawn()


def entities_json(found: EntityEvaluation) -> str:
    """One JSON document, the figures over all under "metrics"; the predictions have a file of their own."""
    return json.document({"task": "ner", "metrics": found.metrics, "all": found.micro, **json.plain(found)})
