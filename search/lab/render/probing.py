"""Draw probes of the layers of a model for a terminal."""

from __future__ import annotations

from rich.table import Column

from search.lab.records.probes import LayerProbes, ProbeTask
from search.render.evaluation import interval
from search.render.format import counted, one_line
from search.render.terminal import Canvas, as_text, bar, grid, number

CONTROLS = {"types": "a random label for each word form", "shuffled": "shuffled labels"}


@as_text
def layer_probes(canvas: Canvas, probes: LayerProbes) -> None:
    """Draw a table of all layers for each task."""
    canvas.line(probes_line(probes), style="bold")
    for task in probes.tasks:
        canvas.gap()
        canvas.facts(task_facts(task))
        canvas.gap()
        columns = number("layer"), number("accuracy"), Column("95 % interval", no_wrap=True)
        table = grid(*columns, number("control"), number("selectivity"), Column(no_wrap=True))
        for score in task.layers:
            table.add_row(
                str(score.layer),
                f"{score.accuracy.mean:.3f}",
                interval(score.accuracy),
                f"{score.control.mean:.3f}",
                f"{score.selectivity:+.3f}",
                bar(score.accuracy.mean),
            )
        canvas.table(table)
        canvas.line(best_line(task))


def probes_line(probes: LayerProbes) -> str:
    """Return what was measured: "all-MiniLM-L6-v2, a linear probe on each layer, 5-fold cross-validation"."""
    return f"{one_line(probes.model)}, a linear probe on each layer, {probes.folds}-fold cross-validation"


def task_facts(task: ProbeTask) -> list[tuple[str, str]]:
    """Return names and values: the size of the data, and what is right without looking at any vector."""
    if task.unit == "word":
        size = f"{counted(task.examples, 'word')} of {counted(task.groups, 'sentence')}"
    elif task.groups < task.examples:
        size = f"{counted(task.examples, 'text')} in {counted(task.groups, 'group')}"
    else:
        size = counted(task.examples, "text")
    left_out = f"; {counted(task.left_out, 'word')} without a token left out" if task.left_out else ""
    facts = [
        (one_line(task.name), f"{size}, {len(task.classes)} labels{left_out}"),
        ("majority", f"{task.majority_accuracy:.3f}: always '{one_line(task.majority)}'"),
    ]
    if task.by_word is not None:
        facts.append(("word alone", f"{task.by_word:.3f}: its most frequent label in the other folds"))
    return [*facts, ("control", CONTROLS[task.control])]


def best_line(task: ProbeTask) -> str:
    """Return the best layer, and the layers whose distance from it may be chance."""
    best = task.best
    line = f"Highest: layer {best.layer}, {best.accuracy.mean:.3f}."
    if not task.as_good:
        return f"{line} All others are lower by more than chance."
    layers = ", ".join(map(str, task.as_good))
    return f"{line} Within chance of it: {'layer' if len(task.as_good) == 1 else 'layers'} {layers}."
