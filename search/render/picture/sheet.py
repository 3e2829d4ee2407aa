"""Tables as a picture; a cell is coloured by its share."""

from __future__ import annotations

from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    MOST_INCHES,
    Canvas,
    Lettering,
    PictureTooLarge,
    contribution_colours,
    shortened,
    text_width,
    wrapped,
)
from search.render.picture.cells import ink_on
from search.render.sheet import Cell, Grid, Sheet

_MARGIN, _LINE, _GAP, _SIZE = 0.35, 0.25, 0.2, 9.0
_LONGEST = 60  # characters of a cell


def sheet(found: Sheet) -> bytes:
    """The tables below each other, as the bytes of a PNG.

    Raises:
        PictureTooLarge: there are more rows or columns than a picture can hold.
    """
    every = [cell.text for grid in found.grids for row in grid.rows for cell in row]
    lettering = Lettering([*every, *(text for _, text in found.about), *(grid.title for grid in found.grids)])
    widths = [_widths(grid, lettering) for grid in found.grids]
    width = max(*(2 * _MARGIN + sum(columns) for columns in widths), 6.5)
    inner = width - 2 * _MARGIN
    about = [
        (name if i == 0 else "", line)
        for name, text in found.about
        for i, line in enumerate(wrapped(text, inner - 0.8, 10) or [""])
    ]
    titles = [wrapped(grid.title, inner, 10) if grid.title else [] for grid in found.grids]
    notes = [[line for note in grid.notes for line in wrapped(note, inner)] for grid in found.grids]
    last = wrapped(lettering.note, inner) if lettering.note else []
    height = 2 * _MARGIN + 0.35 + 0.22 * len(about) + 0.2 * len(last)
    for grid, title, said in zip(found.grids, titles, notes, strict=True):
        height += _GAP + 0.22 * len(title) + _LINE * (len(grid.rows) + 1) + 0.08 + 0.2 * len(said)
    if max(width, height) > MOST_INCHES:
        rows = sum(len(grid.rows) for grid in found.grids)
        columns = max(len(grid.headers) for grid in found.grids)
        raise PictureTooLarge(f"{rows:,} rows of up to {columns:,} columns are more than a picture can hold")
    canvas = Canvas(width, height, lettering)
    canvas.write(_MARGIN, _MARGIN - 0.1, found.title, 12, weight="bold")
    y = _MARGIN + 0.3
    for name, line in about:
        canvas.write(_MARGIN, y, name, 9, color=FAINT)
        canvas.write(_MARGIN + 0.7, y, line, 10)
        y += 0.22
    for grid, columns_of, title, said in zip(found.grids, widths, titles, notes, strict=True):
        y += _GAP
        for line in title:
            canvas.write(_MARGIN, y, line, 10, weight="bold")
            y += 0.22
        y = _draw(canvas, grid, columns_of, y) + 0.08
        for line in said:
            canvas.write(_MARGIN, y, line, 8.5, color=FAINT)
            y += 0.2
    for i, line in enumerate(last):
        canvas.write(_MARGIN, height - _MARGIN - 0.2 * (len(last) - i), line, 8.5, color=FAINT)
    return canvas.png(found.title)


def _widths(grid: Grid, lettering: Lettering) -> list[float]:
    """Inches of each column."""
    found = []
    for number, header in enumerate(grid.headers):
        cells = [text_width(_shown(row[number], lettering), _SIZE) for row in grid.rows]
        found.append(max([text_width(header, 8), *cells]) + 0.22)
    return found


def _shown(cell: Cell, lettering: Lettering) -> str:
    return shortened(lettering.drawable(cell.text), _LONGEST)


def _draw(canvas: Canvas, grid: Grid, widths: list[float], y: float) -> float:
    """One table from `y` on; where it ends."""
    colours = contribution_colours()
    lefts = [_MARGIN + sum(widths[:number]) for number in range(len(widths))]
    axes = canvas.axes(_MARGIN, y + _LINE, sum(widths), _LINE * len(grid.rows))
    axes.set_xlim(0, sum(widths))
    axes.set_ylim(len(grid.rows), 0)
    axes.axhline(0, color=GRID, linewidth=1.2, clip_on=False)
    places = [(left, "left") if i in grid.texts else (left + wide - 0.1, "right")
              for i, (left, wide) in enumerate(zip(lefts, widths, strict=True))]  # fmt: skip
    for (x, side), header in zip(places, grid.headers, strict=True):
        canvas.write(x, y + 0.05, header, 8, ha=side, color=FAINT)
    for i, row in enumerate(grid.rows):
        at = y + _LINE * (i + 1.5)
        for j, cell in enumerate(row):
            tone = FAINT if cell.faint else INK
            if cell.share:
                colour = colours((cell.share + 1) / 2)
                tone = ink_on(colour)
                left = lefts[j] - _MARGIN + 0.03
                right = left + widths[j] - 0.06
                axes.fill([left, right, right, left], [i, i, i + 1, i + 1], color=colour, linewidth=0)
            x, side = places[j]
            canvas.write(
                x, at, _shown(cell, canvas.lettering), _SIZE, ha=side, va="center", color=tone,
                weight="bold" if cell.strong else "normal",
            )  # fmt: skip
    return y + _LINE * (len(grid.rows) + 1)
