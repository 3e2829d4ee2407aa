"""How good a trained head is, as a picture: the confusion matrix, and the calibration curve."""

from __future__ import annotations

from search.records.predictions import LabelReport, LabelTraining
from search.render.label_report import count, examples_line, judged_line
from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    PLUS,
    Canvas,
    Lettering,
    cosine_colours,
    shortened,
    text_width,
    wrapped,
)

_MARGIN, _SIZE, _CURVE = 0.35, 9.0, 2.6
_LARGEST = 20.0  # inches of a side
_LABELLED = 0.14  # a cell must have to be labelled
_ROOM = 0.9  # between the two drawings, for the numbers of the curve


def labels(found: LabelTraining) -> bytes:
    """A line of drawings for each pooling, as the bytes of a PNG: confusion matrix left, calibration right."""
    reports = found.reports
    lettering = Lettering([found.name, *reports[0].classes, examples_line(found)])
    names = [shortened(lettering.drawable(name), 24) for name in reports[0].classes]
    cell = min(0.75, max(0.28, 3.0 / len(names)), _LARGEST / len(names))
    side = cell * len(names)
    left = max(text_width(name, _SIZE) for name in names) + 0.15 if cell >= _LABELLED else 0.15
    below = left if cell < 0.7 else 0.3
    width = max(_MARGIN + left + side + _ROOM + _CURVE + _MARGIN, 7.5)
    tall = max(side + below, _CURVE + 0.5) + 1.15
    head = wrapped(f"{examples_line(found)}; {judged_line(reports[0])}", width - 2 * _MARGIN)
    top = _MARGIN + 0.3 + 0.2 * len(head) + 0.2
    canvas = Canvas(width, top + tall * len(reports) + 0.3 + _MARGIN, lettering)
    canvas.write(_MARGIN, _MARGIN - 0.1, f"Labels: {found.name}", 12, weight="bold")
    for i, line in enumerate(head):
        canvas.write(_MARGIN, _MARGIN + 0.2 + 0.2 * i, line, 8.5, color=FAINT)
    for number, report in enumerate(reports):
        y = top + number * tall
        canvas.write(_MARGIN, y, f"{report.pooling} pooling", 10, weight="bold")
        for i, line in enumerate(_figures(report)):
            canvas.write(_MARGIN, y + 0.24 + 0.2 * i, line, 9)
        _confusion(canvas, report, names, _MARGIN + left, y + 1.0, cell)
        _calibration(canvas, report, _MARGIN + left + side + _ROOM, y + 1.0)
    note = (
        f"Colours: share of the true label's examples. Dots: size by number of predictions. {lettering.note}"
    )
    canvas.write(_MARGIN, canvas.height - _MARGIN - 0.1, note, 8.5, color=FAINT)
    return canvas.png(f"Labels: {found.name}")


def _figures(report: LabelReport) -> list[str]:
    one, f1 = report.accuracy, report.macro_f1
    return [
        f"accuracy {one.mean:.3f} ({one.low:.3f} to {one.high:.3f}); majority class {report.majority_accuracy:.3f}",
        f"macro F1 {f1.mean:.3f} ({f1.low:.3f} to {f1.high:.3f})",
    ]


def _confusion(
    canvas: Canvas, report: LabelReport, names: list[str], x: float, y: float, cell: float
) -> None:
    import numpy as np

    from search.render.picture.cells import ink_on

    totals = np.maximum(report.confusion.sum(axis=1, keepdims=True), 1e-12)
    shares = report.confusion / totals
    n, colours = len(names), cosine_colours()
    axes = canvas.axes(x, y, n * cell, n * cell)
    axes.pcolormesh(
        np.arange(n + 1),
        np.arange(n + 1),
        shares,
        cmap=colours,
        vmin=-1,
        vmax=1,
        edgecolors=GRID,
        linewidth=0.4,
    )
    axes.set_xlim(0, n)
    axes.set_ylim(n, 0)
    canvas.write(x, y - 0.08, "true label by what was said", 8.5, va="bottom", color=FAINT)
    upright = cell < 0.7
    for i, name in enumerate(names if cell >= _LABELLED else ()):
        canvas.write(x - 0.08, y + (i + 0.5) * cell, name, _SIZE, ha="right", va="center")
        place = x + (i + 0.5) * cell
        canvas.write(
            place,
            y + n * cell + 0.06,
            name,
            _SIZE if upright else 8,
            ha="center",
            rotation=90 if upright else 0,
        )
        for j in range(n):
            if cell >= 0.4:
                canvas.write(
                    x + (j + 0.5) * cell, y + (i + 0.5) * cell, count(float(report.confusion[i, j])), 8,
                    ha="center", va="center", color=ink_on(colours((float(shares[i, j]) + 1) / 2)),
                )  # fmt: skip


def _calibration(canvas: Canvas, report: LabelReport, x: float, y: float) -> None:
    axes = canvas.axes(x, y, _CURVE, _CURVE)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for mark in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        axes.axhline(mark, color=GRID, linewidth=0.6)
        canvas.write(
            x - 0.06, y + _CURVE * (1 - mark), f"{mark:.1f}", 8, ha="right", va="center", color=FAINT
        )
        canvas.write(x + _CURVE * mark, y + _CURVE + 0.06, f"{mark:.1f}", 8, ha="center", color=FAINT)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, linestyle="--")
    bins = report.calibration.bins
    said, right = [one.confidence for one in bins], [one.accuracy for one in bins]
    total = sum(one.count for one in bins)
    axes.plot(said, right, color=PLUS, linewidth=1.6)
    axes.scatter(
        said, right, s=[8 + 220 * one.count / total for one in bins], color=PLUS, clip_on=False, zorder=3
    )
    canvas.write(
        x,
        y - 0.08,
        f"right, by probability; error {report.calibration.error:.3f}",
        8.5,
        va="bottom",
        color=INK,
    )
    canvas.write(x + _CURVE / 2, y + _CURVE + 0.24, "probability that was said", 8, ha="center", color=FAINT)
