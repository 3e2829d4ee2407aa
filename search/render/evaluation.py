"""Evaluations for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Column
from rich.text import Text

from search.records.evaluations import Estimate, Evaluation
from search.render import json
from search.render.format import one_line
from search.render.terminal import Canvas, as_text, grid, number


@as_text
def evaluation(canvas: Canvas, evaluated: Evaluation) -> None:
    """Draw all metrics with their intervals, the comparison of each setting with the first, and the notes."""
    _draw_metrics(canvas, evaluated, tuple(evaluated.metrics))
    compared = [pair for pair in evaluated.comparisons if pair.metric == evaluated.primary]
    if compared:
        canvas.gap()
    for pair in compared:
        gap = pair.difference
        p = "p < 0.001" if pair.p < 0.001 else f"p = {pair.p:.3f}"
        canvas.line(
            f"{one_line(pair.other)} against {one_line(pair.baseline)}, {pair.metric}: ",
            (f"{gap.mean:+.4f}", "bold"),
            f" ({gap.low:+.3f} to {gap.high:+.3f}), {p}",
        )
    if evaluated.notes:
        canvas.gap()
    canvas.notes(evaluated.notes)


_COUNTED = {
    "retrieval": "queries, {judgements:,} judgements; {documents:,} documents",
    "sts": "pairs of sentences",
    "answers": "questions, {judgements:,} gold answers; {documents:,} paragraphs",
    "entities": "sentences, {judgements:,} entities",
}


def _judged(evaluated: Evaluation) -> str:
    """Return a line with the size of the data, the model, and its pooling."""
    counted = f"{len(evaluated.queries):,} {_COUNTED[evaluated.task].format(**vars(evaluated))}"
    if evaluated.index:
        counted += f", {evaluated.passages:,} passages"
    elif evaluated.task == "retrieval":
        counted += ", each ranked as one text"
    return "; ".join((counted, ", ".join(filter(None, (one_line(evaluated.model), evaluated.pooling)))))


def _draw_metrics(canvas: Canvas, evaluated: Evaluation, metrics: Sequence[str]) -> None:
    """Draw the size of the data, and a line for each metric and setting, grouped by metric."""
    split = f" ({one_line(evaluated.split)})" if evaluated.split else ""
    canvas.line(one_line(evaluated.dataset) + split, style="bold")
    canvas.dim(_judged(evaluated))
    canvas.gap()
    several = len(evaluated.settings) > 1
    setting = ["setting"] if several else []
    ends = Column("95 % interval", no_wrap=True)
    table = grid(Column("metric", no_wrap=True), *setting, number("mean"), ends)
    for metric in metrics:
        figures = {
            run.setting.name: run.metrics[metric] for run in evaluated.settings if metric in run.metrics
        }
        best = max(figure.mean for figure in figures.values())
        for row, (name, figure) in enumerate(figures.items()):
            style = "bold green" if several and figure.mean == best else ""
            names = [one_line(metric) if row == 0 else "", *([one_line(name)] if several else [])]
            table.add_row(
                *names, Text(f"{figure.mean:.4f}", style=style), Text(interval(figure), style="dim")
            )
    canvas.table(table)


def interval(figure: Estimate) -> str:
    """Format an interval: "0.312 to 0.358"."""
    return f"{figure.low:.3f} to {figure.high:.3f}"


def as_json(evaluated: Evaluation, *, per_query: bool = False) -> str:
    """Return an evaluation as JSON: the metrics under "metrics", or for several settings a list under "settings".

    Args:
        per_query: include the metrics of each query.
    """
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
