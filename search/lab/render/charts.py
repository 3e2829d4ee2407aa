"""Pictures of comparisons, drawn with matplotlib (extra `pictures`): probes by layer, words with two encoders.

layer_probes(...), text_comparison(...)  ->  the bytes of a PNG
layer_curves(...), paired_bar_chart(...)  ->  axes of matplotlib
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from search.lab.records.encoder_comparisons import TextComparison
from search.lab.records.probes import LayerProbes, ProbeTask
from search.lab.render.comparing import standings
from search.lab.render.drawings import PairedBars, paired_bars_of
from search.lab.render.probing import best_line, probes_line
from search.render.format import one_line, shortened
from search.render.picture import WIDEST, new_figure, png, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE_COLOURS = ("#2f6fd0", "#b56c00", "#0a8f76", "#a8508c", "#868e99")
_PAIR_COLOURS = ("#8a939e", "#2f6fd0")
_LONGEST_NAME = 32


@style()
def layer_probes(probes: LayerProbes) -> bytes:
    """Return the accuracy of probes by layer as a PNG."""
    figure = new_figure((8, 5))
    layer_curves(figure.subplots(), probes)
    notes = [f"{one_line(task.name)}: {best_line(task)}" for task in probes.tasks]
    notes.append(
        "Bands are 95 % intervals. Dashed: the most frequent label. Dotted: random labels of word forms."
    )
    return png(figure, "Probes by layer", [], notes, WIDEST)


def layer_curves(ax: Axes | None, probes: LayerProbes) -> Axes:
    """Draw the accuracy by layer, a line for each task with a band for its interval.

    The majority label is a dashed line in the same colour, the control task of words a dotted one.
    """
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    with style():
        for number, task in enumerate(probes.tasks):
            _draw_task(ax, task, _LINE_COLOURS[number % len(_LINE_COLOURS)])
        layers = [score.layer for score in probes.tasks[0].layers]
        ax.set_xticks(layers if len(layers) <= 26 else layers[::2])
        ax.set_ylim(0, 1)
        ax.set(xlabel="layer (0 is the embedding layer)", ylabel="accuracy on held-out examples")
        ax.set_title(probes_line(probes), loc="left", weight="bold")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    return ax


def _draw_task(ax: Axes, task: ProbeTask, colour: str) -> None:
    layers = [score.layer for score in task.layers]
    accuracies = [score.accuracy for score in task.layers]
    name = shortened(one_line(task.name), _LONGEST_NAME)
    ax.fill_between(
        layers, [a.low for a in accuracies], [a.high for a in accuracies], color=colour, alpha=0.2, lw=0
    )
    ax.plot(layers, [a.mean for a in accuracies], color=colour, marker="o", ms=4, label=name)
    ax.axhline(task.majority_accuracy, color=colour, ls="--", lw=1, label=f"{name}: majority")
    if task.unit == "word":
        controls = [score.control.mean for score in task.layers]
        ax.plot(layers, controls, color=colour, ls=":", lw=1.5, label=f"{name}: control")


@style()
def text_comparison(compared: TextComparison, most: int = 20) -> bytes:
    """Return the contributions of a text's words with both encoders as a PNG; beyond `most`, the rest together."""
    drawn = replace(paired_bars_of(compared, most), title="")  # the text is above
    figure = new_figure((8, _height(drawn)))
    paired_bar_chart(figure.subplots(), drawn)
    head = [f"{name}: {text}" for name, text in zip(("text 1", "text 2"), compared.texts, strict=True)]
    notes = [f"{name}: {standing}." for name, standing in standings(compared)]
    return png(figure, "Two encoders", head, notes, WIDEST)


def paired_bar_chart(ax: Axes | None, drawn: PairedBars) -> Axes:
    """Draw two horizontal bars for each name, the first name at the top."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(7, _height(drawn)), layout="constrained")
    with style():
        lines = np.arange(len(drawn.names))
        sides = (drawn.first, drawn.second)
        for shift, numbers, label, colour in zip(
            (-0.2, 0.2), sides, drawn.labels, _PAIR_COLOURS, strict=True
        ):
            bars = ax.barh(lines + shift, numbers, height=0.38, color=colour, label=label)
            ax.bar_label(bars, [f"{number:+.3f}" for number in numbers], padding=3, fontsize=7)
        ax.set_yticks(
            lines, [shortened(one_line(name), _LONGEST_NAME) for name in drawn.names], fontsize=8
        )
        ax.invert_yaxis()
        ax.axvline(0, color="black", lw=0.8)
        ax.margins(x=0.12)
        ax.set_xlabel(drawn.unit)
        ax.set_title(shortened(drawn.title, 70), loc="left", weight="bold")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.12), frameon=False, fontsize=8)
    return ax


def _height(drawn: PairedBars) -> float:
    return max(0.38 * len(drawn.names) + 1.6, 2.5)
