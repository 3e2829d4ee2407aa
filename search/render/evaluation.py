"""What an evaluation found, for a terminal, as JSON, or query by query as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.evaluations import Comparison, Evaluation, Measured
from search.render import json
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn

if TYPE_CHECKING:
    from rich.console import Console


def evaluation(found: Evaluation, *, width: int = 80, colour: bool = False) -> str:
    """The figures with their intervals, how long queries take, settings compared, and what has to be known."""
    console = canvas(width, colour)
    _draw_head(console, found)
    _draw_figures(console, found.settings)
    _draw_latency(console, found)
    _draw_comparisons(console, [one for one in found.comparisons if one.metric == found.primary])
    if found.notes:
        console.print()
    for note in found.notes:
        console.print(Padding(Text(f"note: {one_line(note)}", style="dim"), (0, 0)))
    return drawn(console)


def _draw_head(console: Console, found: Evaluation) -> None:
    split = f" ({one_line(found.split)})" if found.split else ""
    console.print(Text(one_line(found.dataset) + split, style="bold"))
    queries = len(found.queries)
    if found.task == "qa":
        indexed = f", {found.passages:,} passages" if found.index else ""
        held = f"{queries:,} questions, {found.judgements:,} gold answers; {found.documents:,} paragraphs{indexed}; "
        console.print(Text(f"{held}read by {one_line(found.model)}", style="dim"))
        console.print()
        return
    if found.task == "sts":
        held = f"{queries:,} pairs of sentences"
    else:
        gold = "gold spans" if found.task == "spans" else "judgements"
        held = f"{queries:,} queries, {found.judgements:,} {gold}; {found.documents:,} documents"
        held += f", {found.passages:,} passages" if found.index else ", ranked whole"
    console.print(Text(f"{held}; {one_line(found.model)}, {found.pooling}", style="dim"))
    console.print()


def _draw_figures(console: Console, settings: Sequence[Measured]) -> None:
    """A line for each metric, or for each metric and setting, those of one metric together."""
    several = len(settings) > 1
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    if several:
        table.add_column("setting", overflow="fold")
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    for metric in settings[0].metrics:
        best = max(one.metrics[metric].mean for one in settings)
        for number, one in enumerate(settings):
            figure = one.metrics[metric]
            style = "bold green" if several and figure.mean == best else ""
            cells = [Text(metric if number == 0 else "")]
            if several:
                cells.append(Text(one_line(one.setting.name)))
            cells.append(Text(f"{figure.mean:.4f}", style=style))
            cells.append(Text(f"{figure.low:.3f} to {figure.high:.3f}", style="dim"))
            table.add_row(*cells)
    console.print(table)


def _draw_latency(console: Console, found: Evaluation) -> None:
    timed = [(one.setting.name, one.latency) for one in found.settings if one.latency]
    if not timed:
        return
    console.print()
    for name, took in timed:
        said = f"{took.p50:.1f} ms (median), {took.p95:.1f} ms (95th percentile)"
        asked = "a question" if found.task == "qa" else f"a warm query with {took.k} hits"
        console.print(Text(f"{asked}, {one_line(name)}: {said}"))


def _draw_comparisons(console: Console, compared: Sequence[Comparison]) -> None:
    if compared:
        console.print()
    for one in compared:
        gap = one.difference
        line = Text(f"{one_line(one.other)} against {one_line(one.baseline)}, {one.metric}: ")
        line.append(f"{gap.mean:+.4f}", style="bold")
        line.append(f" ({gap.low:+.3f} to {gap.high:+.3f}), {_p(one.p)}; ")
        line.append(f"better for {one.better:,} queries, worse for {one.worse:,}, equal for {one.equal:,}")
        console.print(line)


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def as_json(found: Evaluation, *, per_query: bool = False) -> str:
    """One JSON document: the figures under "metrics", or with several settings a list under "settings"."""
    return json.document(plain(found, per_query=per_query))


def plain(found: Evaluation, *, per_query: bool = False) -> dict[str, Any]:
    """The record as names and values; single queries only where they are asked for."""
    settings = [_plain_setting(one, per_query) for one in found.settings]
    whole = {
        name: getattr(found, name)
        for name in (
            "dataset", "source", "task", "split", "index", "model", "pooling", "documents", "passages",
            "judgements", "primary",
        )
    }  # fmt: skip
    figures = settings[0] if len(settings) == 1 else {"settings": settings, "comparisons": found.comparisons}
    return {**whole, "query_count": len(found.queries), **figures, "notes": found.notes}


def _plain_setting(one: Measured, per_query: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "setting": one.setting,
        "metrics": one.metrics,
        "latency": one.latency,
    }
    return {**found, "queries": one.queries} if per_query else found


def queries(found: Evaluation) -> str:
    """Query by query as CSV: setting, query, every figure, what was found first, the text of the query."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    metrics = list(found.queries[0].values)
    writer.writerow(["setting", "query", *metrics, "first", "text"])
    for one in found.settings:
        for query in one.queries:
            first = query.found[0] if query.found else ""
            values = (f"{query.values[metric]:.7g}" for metric in metrics)
            texts = (escape(text) for text in (first, query.text))
            writer.writerow([escape(one.setting.name), escape(query.id), *values, *texts])
    return file.getvalue().removesuffix("\n")
