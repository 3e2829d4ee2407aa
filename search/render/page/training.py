"""A training as a page: figures, learning curves, what it was trained with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from search.records.evaluations import CurvePoint, TrainingReport
from search.render.page.document import document, isolated, text
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
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th>'
        + "".join(
            f"<td>{text(cell)}</td>" for cell in gap_cells(before, done.after[name], done.difference[name])
        )
        + "</tr>"
        for name, before in done.before.items()
    )
    files = "".join(
        f'<tr><th scope="row">{isolated(file.name)}</th><td>{text(file.role)}</td><td>{file.rows:,}</td>'
        f"<td><code>{text(file.sha256[:12])}</code></td></tr>"
        for file in done.files
    )
    settings = {**done.counts, **{name: value for name, value in done.settings.items() if value is not None}}
    listed = "".join(
        f"<div><dt>{text(name.replace('_', ' '))}</dt><dd>{isolated(_said(value))}</dd></div>"
        for name, value in settings.items()
    )
    notes = "".join(f'<p class="faint">{text(note)}.</p>' for note in done.notes)
    head = '<th scope="col">before</th><th scope="col">after</th><th scope="col">difference</th>'
    body = f"""<header><div class="title"><h1>Training of {isolated(base_name(done))}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div>
<p>{text(figures_line(done))}. Loss: {text(done.loss)}. Steps: {text(steps_line(done))}.</p></header>
<main><div class="scroll"><table class="matrix narrow"><thead><tr><td></td>{head}<th scope="col">95 % interval</th></tr>
</thead><tbody>{rows}</tbody></table></div>
<h2>Training loss by step</h2>{_curve(done.losses, "training loss", done)}
<h2>{text(done.primary)} by step, {chosen_by(done)}; the line is the value before</h2>
{_curve(done.scores, done.primary, done, before=done.scores[0].value)}
{notes}
<h2>Data</h2><div class="scroll"><table class="matrix narrow"><thead><tr><td></td><th scope="col">for</th>
<th scope="col">rows</th><th scope="col">sha256</th></tr></thead><tbody>{files}</tbody></table></div>
<h2>Counts and settings</h2><dl>{listed}</dl></main>"""
    return document("training", body, {}, style="training.css")


def _said(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _curve(
    points: Sequence[CurvePoint], name: str, done: TrainingReport, *, before: float | None = None
) -> str:
    """A line, its points with their values as titles, and a horizontal line for the value before."""
    if not points:
        return '<p class="faint">Nothing was recorded.</p>'
    values = [point.value for point in points]
    low, high = curve_range(values)
    last = max(point.step for point in (*done.losses, *done.scores)) or 1

    def x(step: float) -> str:
        return f"{_LEFT + _WIDTH * step / last:.1f}"

    def y(value: float) -> str:
        return f"{_TOP + _HEIGHT * (high - value) / (high - low):.1f}"

    ticks = "".join(_tick(x, y, low + (high - low) * i / _TICKS, high - low, last) for i in range(_TICKS + 1))
    ticks += "".join(_step(x, step) for step in step_ticks(last, _TICKS))
    line = " ".join(f"{x(point.step)},{y(point.value)}" for point in points)
    dots = "".join(
        f'<circle cx="{x(point.step)}" cy="{y(point.value)}" r="{_radius(point, done, before)}" '
        f'fill="currentColor"><title>step {point.step:,}: {point.value:.4f}</title></circle>'
        for point in points
    )
    base = ""
    if before is not None:
        base = (
            f'<line x1="{x(0)}" x2="{x(last)}" y1="{y(before)}" y2="{y(before)}" stroke="currentColor" '
            'stroke-dasharray="5 4" opacity="0.6"/>'
        )
    width, height = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + _BOTTOM
    return (
        f'<div class="scroll"><svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{text(name)}">{ticks}{base}'
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"/>{dots}</svg></div>'
    )


def _radius(point: CurvePoint, done: TrainingReport, before: float | None) -> int:
    """The step that was kept is marked on the curve of scores."""
    return 6 if before is not None and point.step == done.kept else 3


def _tick(x: Callable[[float], str], y: Callable[[float], str], value: float, span: float, last: int) -> str:
    return (
        f'<line x1="{x(0)}" x2="{x(last)}" y1="{y(value)}" y2="{y(value)}" stroke="currentColor" opacity="0.15"/>'
        f'<text x="{_LEFT - 6}" y="{y(value)}" text-anchor="end" dominant-baseline="middle" font-size="11" '
        f'fill="currentColor">{tick(value, span)}</text>'
    )


def _step(x: Callable[[float], str], step: int) -> str:
    return (
        f'<text x="{x(step)}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle" font-size="11" '
        f'fill="currentColor">{step:,}</text>'
    )
