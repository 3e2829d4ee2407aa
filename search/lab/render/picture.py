"""Pictures drawn with matplotlib (extra `pictures`): attention, position vectors, probes, words with two encoders.

attention(...), positions(...), layer_probes(...), text_comparison(...)  ->  the bytes of a PNG
position_map(...), layer_curves(...), paired_bar_chart(...)  ->  axes of matplotlib
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from search.lab.records.encoder_comparisons import TextComparison
from search.lab.records.inspections import Attention, Positions
from search.lab.records.probes import LayerProbes, ProbeTask
from search.lab.render.attention import CAVEATS, attention_grid, rows_line
from search.lab.render.comparing import standings
from search.lab.render.drawings import PairedBars, paired_bars_of
from search.lab.render.probing import best_line, probes_line
from search.render.format import one_line, shortened
from search.render.picture import WIDEST, beyond, figure_size, heat_map, new_figure, png, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOURCES = ("learned", "formula")
_LINE_COLOURS = ("#2f6fd0", "#b56c00", "#0a8f76", "#a8508c", "#868e99")
_PAIR_COLOURS = ("#8a939e", "#2f6fd0")
_LONGEST_NAME = 32


@style()
def attention(attention: Attention, layers: Sequence[int], head: int | None = None) -> bytes:
    """Return the attention weights of a text in some layers, side by side in the same colours, as a PNG."""
    grids = [attention_grid(attention, layer, head) for layer in layers]
    width, height = figure_size(grids[0])
    figure = new_figure((len(layers) * width, height))
    limit = max(weights.limit for weights in grids)
    panels = figure.subplots(1, len(layers), squeeze=False)[0]
    for axes, weights in zip(panels, grids, strict=True):
        heat_map(axes, replace(weights, limit=limit))
    notes = [rows_line(attention), *CAVEATS]
    return png(figure, grids[0].title, ["  |  ".join(attention.texts)], notes)


@style()
def positions(rows: Positions) -> bytes:
    """Return the vectors of positions and their cosines as a PNG: learned on the left, by the formula on the right."""
    figure = new_figure((9.4, 8))
    grid = figure.subplots(2, 2)
    for column, source in enumerate(_SOURCES):
        for row, matrix in zip(grid, ("vectors", "cosines"), strict=True):
            position_map(row[column], rows, source, matrix)
    notes = [
        "Rows are the first positions of a text. Numbers beyond the bar of colours have the colour of its end."
    ]
    return png(figure, "Position vectors", [], notes, WIDEST)


def position_map(ax: Axes | None, rows: Positions, source: str, matrix: str) -> Axes:
    """Draw vectors of positions, or their cosines, into axes; None creates a new pyplot figure.

    Args:
        source: "learned" or "formula".
        matrix: "vectors" or "cosines".
    """
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(5, 4), layout="constrained")
    number = _SOURCES.index(source)
    vectors = (rows.learned, rows.formula)[number]
    cells = vectors if matrix == "vectors" else rows.cosines[number]
    limit = float(np.quantile(np.abs(vectors), 0.99)) if matrix == "vectors" else 1.0
    with style():
        image = ax.imshow(cells, cmap="PRGn_r", vmin=-limit, vmax=limit, aspect="auto")
        maker = f"learned by {rows.model}" if source == "learned" else "by the formula"
        ax.set(title=f"{matrix.capitalize()} {maker}", ylabel="position")
        ax.set_xlabel("dimension" if matrix == "vectors" else "position")
        ax.figure.colorbar(image, ax=ax, extend=beyond(cells, -limit, limit))
    return ax


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
