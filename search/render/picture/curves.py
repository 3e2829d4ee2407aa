"""Lines as pictures: a word's cosines over the layers, and a training's loss and score by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from search.records.evaluations import CurvePoint, TrainingReport
from search.records.inspections import ContextualCosines
from search.render.format import letters
from search.render.inspection import compared, what_was_compared
from search.render.picture.canvas import (
    FAINT,
    GRID,
    MINUS,
    PLUS,
    Canvas,
    Lettering,
    shortened,
    text_width,
    wrapped,
)
from search.render.training import (
    base_name,
    chosen_by,
    curve_range,
    figures_line,
    step_ticks,
    steps_line,
    tick,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN, _WIDTH, _HEIGHT = 0.35, 5.4, 3.6
_TONES = (PLUS, MINUS, "#2e7d4f", "#7b3fa0", "#a8324a", FAINT)
_DASHES = ("-", "--", ":", "-.")
_TRAINING_MARGIN, _PANEL, _PANEL_HEIGHT, _LEFT, _GAP = 0.4, 4.2, 2.8, 0.55, 0.45
_TICKS = 4


def contexts(cosines: ContextualCosines) -> bytes:
    """Cosines by layer, as the bytes of a PNG; what a line is stands at its end, colour is not needed."""
    names, columns = compared(cosines)
    texts = [f"{letters(i)}: {text}" for i, text in enumerate(cosines.texts)]
    lettering = Lettering([*texts, *names])
    shown = [shortened(lettering.drawable(name), 28) for name in names]
    right = max(text_width(name, 9) for name in shown) + 0.75
    width = _MARGIN + 0.45 + _WIDTH + right + _MARGIN
    heads = [line for text in texts for line in wrapped(text, width - 2 * _MARGIN, 10)]
    notes = wrapped(f"{what_was_compared(cosines)} {lettering.note}", width - 2 * _MARGIN)
    top = _MARGIN + 0.3 + 0.22 * len(heads) + 0.15
    tall = max(_HEIGHT, 0.19 * len(names))
    canvas = Canvas(width, top + tall + 0.6, lettering, notes, _MARGIN)
    title = f"'{cosines.word}' in {len(texts)} contexts, by layer"
    canvas.write(_MARGIN, _MARGIN - 0.1, title, 12, weight="bold")
    for i, line in enumerate(heads):
        canvas.write(_MARGIN, _MARGIN + 0.2 + 0.22 * i, line, 10)
    left, layers = _MARGIN + 0.45, len(cosines.between)
    low = min(0.0, *(min(column) for column in columns)) - 0.02
    axes = canvas.axes(left, top, _WIDTH, tall)
    axes.set_xlim(0, layers - 1)
    axes.set_ylim(low, 1.02)
    for mark in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = top + tall * (1.02 - mark) / (1.02 - low)
        _mark(canvas, axes, mark, left, y, f"{mark:.1f}")
    for number, column in enumerate(columns):
        axes.plot(
            range(layers), column, marker="o", markersize=3, linewidth=1.6, clip_on=False,
            color=_TONES[number % len(_TONES)], linestyle=_DASHES[number // len(_TONES) % len(_DASHES)],
        )  # fmt: skip
    for layer in range(layers):
        x = left + _WIDTH * layer / (layers - 1)
        canvas.write(x, top + tall + 0.08, str(layer), 8, ha="center", color=FAINT)
    canvas.write(left + _WIDTH / 2, top + tall + 0.26, "layer", 8, ha="center", color=FAINT)
    ends = [top + tall * (1.02 - column[-1]) / (1.02 - low) for column in columns]
    for number, y in apart(ends, 0.19, top + tall):
        label = f"{columns[number][-1]:.2f}  {shown[number]}"
        canvas.write(left + _WIDTH + 0.1, y, label, 9, va="center", color=_TONES[number % len(_TONES)])
    return canvas.png(f"{cosines.word} in contexts")


def apart(places: list[float], least: float, bottom: float) -> list[tuple[int, float]]:
    """(number, place) of labels, from the top: moved down where they would lie upon each other, not below `bottom`."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved: list[float] = []
    for i in order:
        moved.append(max(places[i], moved[-1] + least) if moved else places[i])
    limit = max(bottom, places[order[-1]])
    for k in reversed(range(len(moved))):
        moved[k] = min(moved[k], limit)
        limit = moved[k] - least
    return list(zip(order, moved, strict=True))


def training(done: TrainingReport) -> bytes:
    """The loss by step, and the held-out score by step, as the bytes of a PNG; the figures stand in it, too."""
    before, after, gap = done.before[done.primary], done.after[done.primary], done.difference[done.primary]
    head = f"{base_name(done)}: {done.primary} {before.mean:.4f} before, {after.mean:.4f} after"
    under = (
        f"{figures_line(done)}. Difference {gap.mean:+.4f}, 95 % interval {gap.low:+.4f} to {gap.high:+.4f}. "
        f"Steps: {steps_line(done)}."
    )
    lettering = Lettering([head, under])
    margin = _TRAINING_MARGIN
    width = 2 * margin + 2 * (_LEFT + _PANEL) + _GAP
    notes = wrapped(f"{under} {lettering.note}", width - 2 * margin)
    top = margin + 0.65
    canvas = Canvas(width, top + _PANEL_HEIGHT + 0.6, lettering, notes, margin)
    canvas.write(margin, margin - 0.1, head, 12, weight="bold")
    last = max(point.step for point in (*done.losses, *done.scores))
    _panel(canvas, margin + _LEFT, top, done.losses, last, MINUS, "training loss")
    right = margin + 2 * _LEFT + _PANEL + _GAP
    name = f"{done.primary}, {chosen_by(done)} (dashed: before)"
    _panel(canvas, right, top, done.scores, last, PLUS, name, done.kept)
    return canvas.png("learning curve")


def _panel(
    canvas: Canvas,
    left: float,
    top: float,
    points: Sequence[CurvePoint],
    last: int,
    tone: str,
    name: str,
    kept: int | None = None,
) -> None:
    """One curve; with `kept` that step is marked, and the value before, which is the first point's."""
    canvas.write(left, top - 0.28, name, 9.5, color=tone, weight="bold")
    axes = canvas.axes(left, top, _PANEL, _PANEL_HEIGHT)
    values = [point.value for point in points]
    low, high = curve_range(values or [0.0])
    axes.set_xlim(0, max(last, 1))
    axes.set_ylim(low, high)
    for i in range(_TICKS + 1):
        value = low + (high - low) * i / _TICKS
        _mark(canvas, axes, value, left, top + _PANEL_HEIGHT * (1 - i / _TICKS), tick(value, high - low))
    for step in step_ticks(last, _TICKS):
        x = left + _PANEL * step / max(last, 1)
        canvas.write(x, top + _PANEL_HEIGHT + 0.08, f"{step:,}", 8, ha="center", color=FAINT)
    canvas.write(left + _PANEL / 2, top + _PANEL_HEIGHT + 0.26, "step", 8, ha="center", color=FAINT)
    if kept is not None:
        axes.axhline(values[0], color=FAINT, linewidth=1, linestyle="--")
        best = [point.value for point in points if point.step == kept]
        axes.plot([kept] * len(best), best, "o", color=tone, markersize=8, clip_on=False)
    steps, marker = [point.step for point in points], "" if kept is None else "o"
    axes.plot(steps, values, marker=marker, markersize=3.5, linewidth=1.6, color=tone, clip_on=False)


def _mark(canvas: Canvas, axes: Axes, value: float, left: float, y: float, label: str) -> None:
    """A line across at a value, and its number left of it."""
    axes.axhline(value, color=GRID, linewidth=0.6, clip_on=False)
    canvas.write(left - 0.08, y, label, 8, ha="right", va="center", color=FAINT)
