"""An evaluation for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Column
from rich.text import Text

from search.records.evaluations import Estimate, Evaluation, Tuning
from search.render import json
from search.render.format import one_line
from search.render.terminal import Canvas, as_text, grid, number


@as_text
def evaluation(canvas: Canvas, evaluated: Evaluation) -> None:
    """All metrics with their intervals, settings compared by the first, notes."""
    _draw_metrics(canvas, evaluated, tuple(evaluated.metrics))
    compared = [one for one in evaluated.comparisons if one.metric == evaluated.primary]
    if compared:
        canvas.gap()
    for one in compared:
        gap = one.difference
        p = "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
        canvas.line(
            f"{one_line(one.other)} against {one_line(one.baseline)}, {one.metric}: ",
            (f"{gap.mean:+.4f}", "bold"),
            f" ({gap.low:+.3f} to {gap.high:+.3f}), {p}; better for {one.better:,} queries, worse for "
            f"{one.worse:,}, equal for {one.equal:,}",
        )
    if evaluated.notes:
        canvas.gap()
    canvas.notes(evaluated.notes)


@as_text
def tuning(canvas: Canvas, tuned: Tuning) -> None:
    """What was tried, what is best, and whether that is more than chance."""
    evaluated, gap = tuned.evaluation, tuned.comparison
    _draw_metrics(canvas, evaluated, (evaluated.primary,))
    canvas.gap()
    canvas.line(("best on these queries  ", "dim"), (one_line(tuned.best.name), "bold"))
    said = "beyond chance" if tuned.beyond_chance else "no more than chance"
    canvas.line(
        f"Chosen on four fifths and asked on the fifth, it is {gap.difference.mean:+.4f} "
        f"({interval(gap.difference)}, p = {gap.p:.3f}) to the default: {said}."
    )
    if tuned.saved:
        canvas.line("Written into the index's settings; queries that say nothing else use it.")
    else:
        canvas.dim("Write it into the index's settings with: --save")
    canvas.notes(evaluated.notes)


_COUNTED = {
    "retrieval": "queries, {judgements:,} judgements; {documents:,} documents",
    "sts": "pairs of sentences",
    "answers": "questions, {judgements:,} gold answers; {documents:,} paragraphs",
    "entities": "sentences, {judgements:,} entities",
}


def _judged(evaluated: Evaluation) -> str:
    """The size of the data, and the model."""
    counted = f"{len(evaluated.queries):,} {_COUNTED[evaluated.task].format(**vars(evaluated))}"
    if evaluated.index:
        counted += f", {evaluated.passages:,} passages"
    elif evaluated.task == "retrieval":
        counted += ", ranked whole"
    return "; ".join((counted, ", ".join(filter(None, (one_line(evaluated.model), evaluated.pooling)))))


def _draw_metrics(canvas: Canvas, evaluated: Evaluation, metrics: Sequence[str]) -> None:
    """The size of the data; then a line for each metric and setting, those of one metric together."""
    split = f" ({one_line(evaluated.split)})" if evaluated.split else ""
    canvas.line(one_line(evaluated.dataset) + split, style="bold")
    canvas.dim(_judged(evaluated))
    canvas.gap()
    several = len(evaluated.settings) > 1
    setting = ["setting"] if several else []
    ends = Column("95 % interval", no_wrap=True)
    table = grid(Column("metric", no_wrap=True), *setting, number("mean"), ends)
    for metric in metrics:
        found = {one.setting.name: one.metrics[metric] for one in evaluated.settings if metric in one.metrics}
        best = max(figure.mean for figure in found.values())
        for row, (name, figure) in enumerate(found.items()):
            style = "bold green" if several and figure.mean == best else ""
            names = [one_line(metric) if row == 0 else "", *([one_line(name)] if several else [])]
            table.add_row(
                *names, Text(f"{figure.mean:.4f}", style=style), Text(interval(figure), style="dim")
            )
    canvas.table(table)


def interval(figure: Estimate) -> str:
    """`0.312 to 0.358`"""
    return f"{figure.low:.3f} to {figure.high:.3f}"


def as_json(evaluated: Evaluation, *, per_query: bool = False, **more: Any) -> str:
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
            **more,
            "notes": evaluated.notes,
        }
    )


def tuning_json(tuned: Tuning) -> str:
    """The same, with what is best, and what that gains where it was not chosen on."""
    found = {name: value for name, value in vars(tuned).items() if name != "evaluation"}
    return as_json(tuned.evaluation, **found, beyond_chance=tuned.beyond_chance)
