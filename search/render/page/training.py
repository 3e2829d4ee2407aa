"""A training as a page: figures before and after, and learning curves."""

from __future__ import annotations

from collections.abc import Sequence

from search.records.evaluations import CurvePoint, TrainingReport
from search.render.page.document import document, header, isolated, matrix, text
from search.render.training import (
    base_name,
    chosen_by,
    curve_range,
    figures_line,
    gap_cells,
    step_ticks,
    steps_line,
    tick,
)

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 560, 220, 60, 12, 34
_TICKS = 4


def training(done: TrainingReport) -> str:
    """The page of a training, as the text of an HTML file."""
    rows = [
        (
            text(name),
            [f"<td>{cell}</td>" for cell in gap_cells(before, done.after[name], done.difference[name])],
        )
        for name, before in done.before.items()
    ]
    notes = "".join(f'<p class="faint">{text(note)}.</p>' for note in done.notes)
    said = f"{text(figures_line(done))}. Loss: {text(done.loss)}. Steps: {text(steps_line(done))}."
    body = f"""{header(f"Training of {isolated(base_name(done))}", said=said)}
<main>{matrix(("before", "after", "difference", "95 % interval"), rows)}
<h2>Training loss by step</h2>{_curve(done.losses, "training loss", done)}
<h2>{text(done.primary)} by step, {chosen_by(done)}; the line is the value before</h2>
{_curve(done.scores, done.primary, done, scores=True)}
{notes}</main>"""
    return document("training", body, {}, style="training.css")


def _curve(points: Sequence[CurvePoint], name: str, done: TrainingReport, *, scores: bool = False) -> str:
    """A line, its points with their values as titles; of scores a horizontal line for the value before, and the
    step that was kept is marked."""
    if not points:
        return '<p class="faint">Nothing was recorded.</p>'
    low, high = curve_range([point.value for point in points])
    last = max(point.step for point in (*done.losses, *done.scores)) or 1

    def x(step: float) -> str:
        return f"{_LEFT + _WIDTH * step / last:.1f}"

    def y(value: float) -> str:
        return f"{_TOP + _HEIGHT * (high - value) / (high - low):.1f}"

    def across(value: float, style: str) -> str:
        return f'<line x1="{x(0)}" x2="{x(last)}" y1="{y(value)}" y2="{y(value)}" stroke="currentColor" {style}/>'

    drawn = []
    for i in range(_TICKS + 1):
        value = low + (high - low) * i / _TICKS
        drawn.append(across(value, 'opacity="0.15"'))
        drawn.append(_label(f"{_LEFT - 6}", y(value), "end", tick(value, high - low)))
    for step in step_ticks(last, _TICKS):
        drawn.append(_label(x(step), f"{_TOP + _HEIGHT + 18}", "middle", f"{step:,}"))
    if scores:
        drawn.append(across(points[0].value, 'stroke-dasharray="5 4" opacity="0.6"'))
    line = " ".join(f"{x(point.step)},{y(point.value)}" for point in points)
    drawn.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"/>')
    for point in points:
        radius = 6 if scores and point.step == done.kept else 3
        drawn.append(
            f'<circle cx="{x(point.step)}" cy="{y(point.value)}" r="{radius}" fill="currentColor">'
            f"<title>step {point.step:,}: {point.value:.4f}</title></circle>"
        )
    width, height = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + _BOTTOM
    return (
        f'<div class="scroll"><svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{text(name)}">{"".join(drawn)}</svg></div>'
    )


def _label(x: str, y: str, anchor: str, number: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" dominant-baseline="middle" font-size="11" '
        f'fill="currentColor">{number}</text>'
    )
