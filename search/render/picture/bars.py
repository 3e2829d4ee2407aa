"""Probabilities as a picture of bars."""

from __future__ import annotations

from collections.abc import Iterable

from search.render.bars import Chart, Group
from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    MOST_INCHES,
    PLUS,
    Canvas,
    Lettering,
    PictureTooLarge,
    shortened,
    text_width,
    wrapped,
)

_MARGIN, _LINE, _LONG, _NUMBER = 0.35, 0.25, 3.2, 0.95
_LONGEST = 40


def bars(found: Chart) -> bytes:
    """The groups of a chart below each other, as the bytes of a PNG; a full bar is a probability of 1.

    Raises:
        PictureTooLarge: there are more bars than a picture can hold.
    """
    every = [bar for group in found.groups for bar in group.bars]
    lettering = Lettering(_texts(found))
    names = [shortened(lettering.drawable(bar.name), _LONGEST) for bar in every]
    labels = max((text_width(name, 9) for name in names), default=0.0)
    left = _MARGIN + max(labels, 0.6) + 0.15
    numbers = max((len(group.headers) - 1 for group in found.groups), default=0)
    width = max(left + numbers * _NUMBER + 0.2 + _LONG + _MARGIN, 6.5)
    inner = width - 2 * _MARGIN
    about = [
        (line, name if i == 0 else "")
        for name, text in found.about
        for i, line in enumerate(wrapped(lettering.drawable(text), inner - 0.8, 10) or [""])
    ]
    titles = [wrapped(lettering.drawable(group.title), inner, 10, bold=True) for group in found.groups]
    result = wrapped(lettering.drawable(found.result), inner, 10, bold=True)
    said = (*(found.notes if every else ("Nothing was found.", *found.notes)), lettering.note)
    notes = [line for note in said for line in wrapped(lettering.drawable(note), inner)]
    height = 2 * _MARGIN + 0.35 + 0.22 * (len(about) + len(result)) + 0.2 * len(notes) + 0.3
    height += sum(
        0.45 + 0.22 * len(title) + _LINE * len(group.bars)
        for title, group in zip(titles, found.groups, strict=True)
    )
    if height > MOST_INCHES:
        raise PictureTooLarge(f"{len(every):,} bars are more than a picture can hold")
    canvas = Canvas(width, height, lettering)
    canvas.write(_MARGIN, _MARGIN - 0.1, found.title, 12, weight="bold")
    y = _MARGIN + 0.3
    for line, name in about:
        canvas.write(_MARGIN, y, name, 9, color=FAINT)
        canvas.write(_MARGIN + 0.7, y, line, 10)
        y += 0.22
    for title, group in zip(titles, found.groups, strict=True):
        y = _draw(canvas, group, title, left, y + 0.15)
    for i, line in enumerate(result):
        canvas.write(_MARGIN, y + 0.15 + 0.22 * i, line, 10, weight="bold")
    for i, line in enumerate(notes):
        canvas.write(_MARGIN, height - _MARGIN - 0.2 * (len(notes) - i), line, 8.5, color=FAINT)
    return canvas.png(found.title)


def _texts(found: Chart) -> Iterable[str]:
    """All that is written."""
    yield from (found.title, found.result, *found.notes)
    for name, text in found.about:
        yield from (name, text)
    for group in found.groups:
        yield from (group.title, *group.headers)
        for bar in group.bars:
            yield from (bar.name, *bar.numbers)


def _draw(canvas: Canvas, group: Group, title: list[str], left: float, y: float) -> float:
    """One group from `y` on; where it ends."""
    for line in title:
        canvas.write(_MARGIN, y, line, 10, weight="bold")
        y += 0.22
    for i, header in enumerate(group.headers[1:]):
        canvas.write(left + (i + 1) * _NUMBER - 0.1, y + 0.02, header, 8, ha="right", color=FAINT)
    y += 0.22
    n, x = len(group.bars), left + (len(group.headers) - 1) * _NUMBER + 0.2
    axes = canvas.axes(x, y, _LONG, n * _LINE)
    axes.set_xlim(0, 1)
    axes.set_ylim(n - 0.5, -0.5)
    for mark in (0.0, 0.5, 1.0):
        axes.axvline(mark, color=GRID, linewidth=0.6, zorder=0, clip_on=False)
        canvas.write(x + mark * _LONG, y - 0.2, f"{mark:g}", 8, ha="center", color=FAINT)
    tones = [FAINT if bar.faint else PLUS for bar in group.bars]
    axes.barh(range(n), [bar.value for bar in group.bars], height=0.66, color=tones)
    for i, bar in enumerate(group.bars):
        at, tone = y + (i + 0.5) * _LINE, FAINT if bar.faint else INK
        name = shortened(canvas.lettering.drawable(bar.name), _LONGEST)
        canvas.write(left - 0.15, at, name, 9, ha="right", va="center", color=tone)
        for j, number in enumerate(bar.numbers):
            canvas.write(left + (j + 1) * _NUMBER - 0.1, at, number, 9, ha="right", va="center", color=tone)
    return y + n * _LINE
