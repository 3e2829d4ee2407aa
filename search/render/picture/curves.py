"""Lines as pictures: a word's cosines over the layers, and a training's loss and score by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from search.records.contexts import ContextualCosines
from search.records.evaluations import CurvePoint, TrainingReport
from search.render.contexts import compared, what_is_compared, what_was_compared
from search.render.format import letters
from search.render.picture.canvas import (
    FAINT,
    GRID,
    MINUS,
    PLUS,
    Canvas,
    families,
    shortened,
    text_width,
    wrapped,
)
from search.render.training import base_name, chosen_by, figures_line, steps_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN, _WIDTH, _HEIGHT = 0.35, 5.4, 3.6
_TONES = (PLUS, MINUS, "#2e7d4f", "#7b3fa0", "#a8324a", FAINT)
_MARKS = "os^Dv"
_TRAINING_MARGIN, _PANEL, _PANEL_HEIGHT, _LEFT, _GAP = 0.4, 4.2, 2.8, 0.55, 0.45


def contexts(cosines: ContextualCosines) -> bytes:
    """Cosines by layer, as the bytes of a PNG; a line is told by its mark and its last cosine, too."""
    names, columns = compared(cosines)
    texts = [f"{letters(i)}: {text}" for i, text in enumerate(cosines.texts)]
    shown = [shortened(name, 28) for name in names]
    right = max(text_width(name, 9) for name in shown) + 1.1
    width = _MARGIN + 0.45 + _WIDTH + right + _MARGIN
    heads = [line for text in texts for line in wrapped(text, width - 2 * _MARGIN, 10)]
    notes = wrapped(what_was_compared(cosines), width - 2 * _MARGIN)
    top = _MARGIN + 0.3 + 0.22 * len(heads) + 0.15
    tall = max(_HEIGHT, 0.22 * len(names))
    canvas = Canvas(width, top + tall + 0.6, notes, _MARGIN)
    where = f" in {len(texts)} contexts" if len(set(cosines.words)) == 1 else ""
    title = shortened(f"{what_is_compared(cosines)}{where}, by layer", 56)
    canvas.write(_MARGIN, _MARGIN - 0.1, title, 12, weight="bold")
    for i, line in enumerate(heads):
        canvas.write(_MARGIN, _MARGIN + 0.2 + 0.22 * i, line, 10)
    axes = _chart(canvas, _MARGIN + 0.45, top, _WIDTH, tall, "layer")
    axes.set_ylim(min(0.0, *(min(column) for column in columns)) - 0.02, 1.02)
    for number, (name, column) in enumerate(zip(shown, columns, strict=True)):
        axes.plot(
            column, marker=_MARKS[number % len(_MARKS)], color=_TONES[number % len(_TONES)], markersize=4,
            linewidth=1.6, clip_on=False, label=f"{column[-1]:.2f}  {name}",
        )  # fmt: skip
    style = {"family": families(), "size": 9}
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.01), frameon=False, prop=style)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return canvas.png(f"{what_is_compared(cosines)} in contexts")


def training(done: TrainingReport) -> bytes:
    """The loss by step, and the held-out score by step, as the bytes of a PNG; the figures stand in it, too."""
    before, after, gap = done.before[done.primary], done.after[done.primary], done.difference[done.primary]
    head = f"{base_name(done)}: {done.primary} {before.mean:.4f} before, {after.mean:.4f} after"
    under = (
        f"{figures_line(done)}. Difference {gap.mean:+.4f}, 95 % interval {gap.low:+.4f} to {gap.high:+.4f}. "
        f"Steps: {steps_line(done)}."
    )
    margin = _TRAINING_MARGIN
    width = 2 * margin + 2 * (_LEFT + _PANEL) + _GAP
    notes = wrapped(under, width - 2 * margin)
    top = margin + 0.65
    canvas = Canvas(width, top + _PANEL_HEIGHT + 0.6, notes, margin)
    canvas.write(margin, margin - 0.1, head, 12, weight="bold")
    _draw_curve(canvas, margin + _LEFT, top, done.losses, MINUS, "training loss")
    name = f"{done.primary}, {chosen_by(done)} (dashed: before)"
    scores = _draw_curve(canvas, margin + 2 * _LEFT + _PANEL + _GAP, top, done.scores, PLUS, name)
    scores.axhline(done.scores[0].value, color=FAINT, linewidth=1, linestyle="--")
    best = [point.value for point in done.scores if point.step == done.kept]
    scores.plot([done.kept] * len(best), best, "o", color=PLUS, markersize=8, clip_on=False)
    return canvas.png("learning curve")


def _draw_curve(
    canvas: Canvas, left: float, top: float, points: Sequence[CurvePoint], tone: str, name: str
) -> Axes:
    canvas.write(left, top - 0.28, name, 9.5, color=tone, weight="bold")
    axes = _chart(canvas, left, top, _PANEL, _PANEL_HEIGHT, "step")
    values = [point.value for point in points]
    axes.plot([point.step for point in points], values, marker="o", markersize=3.5, linewidth=1.6, color=tone)
    return axes


def _chart(canvas: Canvas, left: float, top: float, width: float, height: float, below: str) -> Axes:
    """Axes with numbers, and what is counted along the lower one."""
    from matplotlib.ticker import MaxNLocator

    axes = canvas.axes(left, top, width, height)
    axes.set_axis_on()
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(labelsize=8, labelcolor=FAINT, color=GRID)
    axes.set_xlabel(below, fontsize=8, color=FAINT)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for spine in axes.spines.values():
        spine.set_color(GRID)
    return axes
