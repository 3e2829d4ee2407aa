"""Pictures of attention, of positions, of answers and of training runs, drawn with matplotlib (extra `pictures`).

attention(...), positions(...), answer(...)  ->  the bytes of a PNG
position_map(...), answer_chart(...), training_curves(...)  ->  axes of matplotlib
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from search.lab.records.inspections import Attention, Positions
from search.lab.records.predictions import Answer, Answers, ReaderWindow
from search.lab.records.training import TrainingReport
from search.lab.render.attention import CAVEATS, attention_grid, rows_line
from search.lab.render.predictions import no_answer, probability
from search.render.format import one_line, shortened
from search.render.picture import WIDEST, beyond, figure_size, heat_map, new_figure, png, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOURCES = ("learned", "formula")
MOST_BARS = 60  # tokens of a passage in the picture of an answer
_BAR, _CHOSEN, _SPAN = "#8fb3ea", "#b56c00", "#f6e3c5"
_LOSS = "#2f6fd0"
_ROW = 1.3  # height of a row of bars with the space above it, in heights of the longest bar
_LONGEST_TOKEN, _LONGEST_TITLE = 16, 60
_INCHES = 0.24  # of a token


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
def answer(reply: Answers) -> bytes:
    """Return where the best answer begins and ends as a PNG: two rows of bars over the tokens of its passage."""
    span = reply.span()
    figure = new_figure((_width(span), 4))
    answer_chart(figure.subplots(), span)
    head = [f"Question: {reply.question}", "" if reply.answers else no_answer(reply)]
    notes = [
        f"Bars are probabilities: a softmax over the tokens of the passage and {span.window.tokens[0]}, "
        "which means that there is no answer.",
        _tokens_drawn(span),
        f"By {reply.model}.",
    ]
    return png(figure, f"Answer: {span.text}", head, notes, WIDEST)


def answer_chart(ax: Axes | None, span: Answer) -> Axes:
    """Draw the probabilities of the first and the last token of an answer into axes; None creates a pyplot figure.

    The bars of the span's own ends have another colour and their numbers, and its tokens another background.
    """
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(_width(span), 4), layout="constrained")
    window, places = span.window, _places(span)
    rows = {"end": window.end_probabilities, "start": window.start_probabilities}
    longest = max(float(row[[*places]].max()) for row in rows.values())
    with style():
        inside = [places[i] for i in range(span.first, span.last + 1) if i in places]
        ax.axvspan(inside[0] - 0.5, inside[-1] + 0.5, color=_SPAN, zorder=0)
        ticks: list[tuple[float, str]] = []
        for number, (name, row) in enumerate(rows.items()):
            base, chosen = number * _ROW, span.first if name == "start" else span.last
            ax.axhline(base, color="black", linewidth=0.8)
            for position, place in places.items():
                height = float(row[position]) / longest
                ax.bar(place, height, bottom=base, color=_CHOSEN if position == chosen else _BAR)
            height = float(row[chosen]) / longest
            ax.text(places[chosen], base + height + 0.02, probability(float(row[chosen])), ha="center")
            ticks += [(base, f"{name}  0"), (base + 1, probability(longest))]
        ax.set_yticks([place for place, _ in ticks], [label for _, label in ticks])
        end = max(places.values()) + 1
        labels = {place: _label(window, position) for position, place in places.items()}
        if window.candidates[-1] not in places:
            end += 1
        ax.set_xticks(range(end), [labels.get(i, "…") for i in range(end)], rotation=90, fontsize=8)
        ax.set_xlim(-0.7, end - 0.3)
        ax.set_ylim(0, 2 * _ROW)
        title = "Answer" if span.rank else "Closest candidate"
        title = f"{title}: {shortened(one_line(span.text), _LONGEST_TITLE)}"
        ax.set_title(title, loc="left", weight="bold", wrap=True)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
    return ax


def _places(span: Answer) -> dict[int, int]:
    """Return position in the window -> place in the picture: of [CLS], and of the tokens around the span.

    Where tokens are left out after [CLS], one place stays free.
    """
    none, *tokens = span.window.candidates
    middle = tokens.index(span.first) + (span.last - span.first) // 2
    begin = max(min(middle - MOST_BARS // 2, len(tokens) - MOST_BARS), 0)
    first = 2 if begin else 1
    return {none: 0} | {
        position: place for place, position in enumerate(tokens[begin : begin + MOST_BARS], first)
    }


def _tokens_drawn(span: Answer) -> str:
    """Return a note on the tokens that are left out; "" if there are none."""
    tokens, drawn = len(span.window.candidates) - 1, len(_places(span)) - 1
    return "" if drawn == tokens else f"{drawn} of {tokens:,} tokens are drawn, those around the answer."


def _width(span: Answer) -> float:
    return max(_INCHES * len(_places(span)) + 1.5, 5.0)


def _label(window: ReaderWindow, position: int) -> str:
    return shortened(one_line(window.tokens[position]), _LONGEST_TOKEN)


def training_curves(ax: Axes | None, done: TrainingReport) -> Axes:
    """Draw the training loss and, on a scale of its own, the primary metric by step; None creates a pyplot figure."""
    from matplotlib.ticker import MaxNLocator

    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(6.5, 3.5), layout="constrained")
    with style():
        curves = (
            (ax, done.losses, "training loss", _LOSS),
            (ax.twinx(), done.scores, done.primary, _CHOSEN),
        )
        for axes, curve, name, colour in curves:
            steps, values = [point.step for point in curve], [point.value for point in curve]
            axes.plot(steps, values, marker="o", markersize=3, color=colour)
            axes.set_ylabel(name, color=colour)
            axes.spines["top"].set_visible(False)
        ax.axvline(done.kept, color="black", linewidth=0.8, linestyle=":")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel(f"step; the weights of step {done.kept:,} were kept")
        ax.set_title("Training", loc="left", weight="bold")
    return ax
