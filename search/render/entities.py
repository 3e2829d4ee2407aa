"""How well entities were found, for a terminal and as JSON."""

from __future__ import annotations

from dataclasses import fields

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.evaluations import EntityEvaluation, Estimate
from search.render import json
from search.render.escape import one_line
from search.render.terminal import canvas, drawn, duration


def entities(found: EntityEvaluation, *, width: int = 80, colour: bool = False) -> str:
    """Precision, recall and F1 by type and over all, each with its interval, and what has to be known."""
    console = canvas(width, colour)
    console.print(Text(one_line(found.dataset), style="bold"))
    console.print(
        Text(
            f"{found.sentences:,} sentences, {found.words:,} words, {found.micro.gold:,} entities; "
            f"{one_line(found.model)}, {duration(found.seconds)}",
            style="dim",
        )
    )
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("type", overflow="fold")
    for name in ("precision", "recall", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("F1, 95 % interval", no_wrap=True)
    for name in ("gold", "found", "right"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in (*found.types, found.micro):
        style = "bold" if one is found.micro else ""
        table.add_row(
            Text(one_line(one.name), style=style),
            *(Text(f"{figure.mean:.4f}", style=style) for figure in (one.precision, one.recall, one.f1)),
            Text(f"{one.f1.low:.3f} to {one.f1.high:.3f}", style="dim"),
            *(f"{count:,}" for count in (one.gold, one.predicted, one.right)),
        )
    console.print(table)
    console.print()
    console.print(Text(f"mean of the types' F1: {found.macro_f1:.4f}"))
    console.print(
        Text(f"over all: precision {_with(found.micro.precision)}, recall {_with(found.micro.recall)}")
    )
    if found.mapping:
        said = ", ".join(f"{old} as {new}" for old, new in found.mapping.items())
        console.print(Text(f"taken: {one_line(said)}", style="dim"))
    for note in found.notes:
        console.print(Padding(Text(f"note: {one_line(note)}", style="dim"), (0, 0)))
    return drawn(console)


def _with(figure: Estimate) -> str:
    return f"{figure.mean:.4f} ({figure.low:.3f} to {figure.high:.3f})"


def as_json(found: EntityEvaluation) -> str:
    """One JSON document, the figures over all under "metrics"; the predictions have a file of their own."""
    whole = {
        one.name: getattr(found, one.name)
        for one in fields(found)
        if one.name not in ("predictions", "micro")
    }
    return json.document({"task": "ner", "metrics": found.metrics, "all": found.micro, **whole})
