"""A learning curve as a picture: the loss by step, and the held-out score by step, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from search.records.evaluations import CurvePoint, TrainingReport
from search.render.picture.canvas import FAINT, GRID, MINUS, PLUS, Canvas, Lettering, wrapped
from search.render.training import (
    base_name,
    chosen_by,
    curve_range,
    figures_line,
    step_ticks,
    steps_line,
    tick,
)

_MARGIN, _WIDTH, _HEIGHT, _LEFT, _GAP = 0.4, 4.2, 2.8, 0.55, 0.45
_TICKS = 4


def training(done: TrainingReport) -> bytes:
    """The bytes of a PNG; the figures stand in it, too."""
    before, after, gap = done.before[done.primary], done.after[done.primary], done.difference[done.primary]
    head = f"{base_name(done)}: {done.primary} {before.mean:.4f} before, {after.mean:.4f} after"
    under = (
        f"{figures_line(done)}. Difference {gap.mean:+.4f}, 95 % interval {gap.low:+.4f} to {gap.high:+.4f}. "
        f"Steps: {steps_line(done)}."
    )
    lettering = Lettering([head, under])
    width = 2 * _MARGIN + 2 * (_LEFT + _WIDTH) + _GAP
    notes = wrapped(f"{under} {lettering.note}", width - 2 * _MARGIN)
    top = _MARGIN + 0.65
    canvas = Canvas(width, top + _HEIGHT + 0.6 + 0.2 * len(notes) + _MARGIN, lettering)
    canvas.write(_MARGIN, _MARGIN - 0.1, head, 12, weight="bold")
    last = max(point.step for point in (*done.losses, *done.scores))
    _panel(canvas, _MARGIN + _LEFT, top, "training loss", done.losses, last, MINUS)
    right = _MARGIN + 2 * _LEFT + _WIDTH + _GAP
    mark = (done.kept, done.scores[0].value)
    _panel(
        canvas,
        right,
        top,
        f"{done.primary}, {chosen_by(done)} (dashed: before)",
        done.scores,
        last,
        PLUS,
        mark,
    )
    for i, line in enumerate(notes):
        canvas.write(_MARGIN, canvas.height - _MARGIN - 0.2 * (len(notes) - i), line, 8.5, color=FAINT)
    return canvas.png("learning curve")


def _panel(
    canvas: Canvas,
    left: float,
    top: float,
    name: str,
    points: Sequence[CurvePoint],
    last: int,
    tone: str,
    mark: tuple[int, float] | None = None,
) -> None:
    """One curve; with `mark` the step that was kept and the value before."""
    canvas.write(left, top - 0.28, name, 9.5, color=tone, weight="bold")
    axes = canvas.axes(left, top, _WIDTH, _HEIGHT)
    values = [point.value for point in points] or [0.0]
    low, high = curve_range(values)
    axes.set_xlim(0, max(last, 1))
    axes.set_ylim(low, high)
    for i in range(_TICKS + 1):
        value = low + (high - low) * i / _TICKS
        axes.axhline(value, color=GRID, linewidth=0.6, clip_on=False)
        y = top + _HEIGHT * (1 - i / _TICKS)
        canvas.write(left - 0.08, y, tick(value, high - low), 8, ha="right", va="center", color=FAINT)
    for step in step_ticks(last, _TICKS):
        x = left + _WIDTH * step / max(last, 1)
        canvas.write(x, top + _HEIGHT + 0.08, f"{step:,}", 8, ha="center", color=FAINT)
    canvas.write(left + _WIDTH / 2, top + _HEIGHT + 0.26, "step", 8, ha="center", color=FAINT)
    if mark:
        axes.axhline(mark[1], color=FAINT, linewidth=1, linestyle="--")
        kept = [point for point in points if point.step == mark[0]]
        axes.plot(
            [one.step for one in kept],
            [one.value for one in kept],
            "o",
            color=tone,
            markersize=8,
            clip_on=False,
        )
    axes.plot(
        [point.step for point in points], values[: len(points)], marker="o" if mark else "", markersize=3.5,
        linewidth=1.6, color=tone, clip_on=False,
    )  # fmt: skip
