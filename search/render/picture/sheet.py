"""Tables as a picture; a cell is coloured by its share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

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

_MARGIN, _LINE, _GAP, _SIZE, _HEADER = 0.35, 0.25, 0.2, 9.0, 8.0
_LONGEST, _LONGEST_HEADER = 60, 40  # characters of a cell and of a header
_NARROWEST_TITLE = 2.0  # inches that a table has at least where it has a title
_BESIDE = 0.35  # inches between two tables
_MOST_CELLS = 10_000


@dataclass(frozen=True)
class _Part:
    """A table where it is drawn."""

    grid: Grid
    columns: tuple[float, ...]  # inches of each
    title: tuple[str, ...]

    @property
    def width(self) -> float:
        return max(sum(self.columns), _NARROWEST_TITLE if self.title else 0.0)


def sheet(found: Sheet) -> bytes:
    """The tables below each other, those with the same rows beside each other, as the bytes of a PNG.

    Raises:
        PictureTooLarge: there are more rows or columns than a picture can hold.
    """
    cells = sum(len(grid.rows) * len(grid.headers) for grid in found.grids)
    if cells > _MOST_CELLS:
        raise PictureTooLarge(f"{cells:,} cells are more than the {_MOST_CELLS:,} that a picture can hold")
    lettering = Lettering(_texts(found))
    bands = [[_part(grid, lettering) for grid in band] for band in _bands(found.grids)]
    widest = max(sum(part.width for part in band) + _BESIDE * (len(band) - 1) for band in bands)
    width = max(widest + 2 * _MARGIN, 6.5)
    inner = width - 2 * _MARGIN
    title = wrapped(lettering.drawable(found.title), inner, 12, bold=True)
    about = [
        (name if i == 0 else "", line)
        for name, text in found.about
        for i, line in enumerate(wrapped(lettering.drawable(text), inner - 0.8, 10) or [""])
    ]
    notes = [
        [
            line
            for part in band
            for note in part.grid.notes
            for line in wrapped(lettering.drawable(note), inner)
        ]
        for band in bands
    ]
    last = wrapped(lettering.note, inner) if lettering.note else []
    height = 2 * _MARGIN + 0.25 * len(title) + 0.1 + 0.22 * len(about) + 0.2 * len(last)
    height += sum(_height(band) + 0.2 * len(said) for band, said in zip(bands, notes, strict=True))
    if max(width, height) > MOST_INCHES:
        raise PictureTooLarge(
            f"{max(len(grid.rows) for grid in found.grids):,} rows of up to "
            f"{max(len(grid.headers) for grid in found.grids):,} columns are more than a picture can hold"
        )
    canvas = Canvas(width, height, lettering)
    y = _MARGIN - 0.1
    for line in title:
        canvas.write(_MARGIN, y, line, 12, weight="bold")
        y += 0.25
    y += 0.15
    for name, line in about:
        canvas.write(_MARGIN, y, name, 9, color=FAINT)
        canvas.write(_MARGIN + 0.7, y, line, 10)
        y += 0.22
    for band, said in zip(bands, notes, strict=True):
        x, below = _MARGIN, y + _height(band)
        for part in band:
            _draw(canvas, part, x, y + _GAP, max(len(other.title) for other in band))
            x += part.width + _BESIDE
        y = below
        for line in said:
            canvas.write(_MARGIN, y, line, 8.5, color=FAINT)
            y += 0.2
    for i, line in enumerate(last):
        canvas.write(_MARGIN, height - _MARGIN - 0.2 * (len(last) - i), line, 8.5, color=FAINT)
    return canvas.png(found.title)


def _texts(found: Sheet) -> Iterable[str]:
    """All that is written."""
    yield found.title
    for name, text in found.about:
        yield from (name, text)
    for grid in found.grids:
        yield from (grid.title, *grid.headers, *grid.notes)
        yield from (cell.text for row in grid.rows for cell in row)


def _bands(grids: Sequence[Grid]) -> list[list[Grid]]:
    """Tables that are drawn beside each other: those that follow one with the same keys, which they leave out."""
    found: list[list[Grid]] = []
    for grid in grids:
        first = found[-1][0] if found else None
        if first and grid.keys and _keys(grid) == _keys(first):
            texts = tuple(number - grid.keys for number in grid.texts if number >= grid.keys)
            rows = tuple(row[grid.keys :] for row in grid.rows)
            found[-1].append(replace(grid, headers=grid.headers[grid.keys :], rows=rows, texts=texts))
        else:
            found.append([grid])
    return found


def _keys(grid: Grid) -> list[tuple[Cell, ...]]:
    return [row[: grid.keys] for row in grid.rows]


def _part(grid: Grid, lettering: Lettering) -> _Part:
    columns = []
    for number, header in enumerate(grid.headers):
        cells = [
            text_width(_shown(row[number].text, lettering), _SIZE, bold=row[number].strong)
            for row in grid.rows
        ]
        named = text_width(_shown(header, lettering, _LONGEST_HEADER), _HEADER)
        columns.append(max([named, *cells]) + 0.22)
    room = max(sum(columns), _NARROWEST_TITLE if grid.keys else 6.5 - 2 * _MARGIN)
    title = wrapped(lettering.drawable(grid.title), room, 10, bold=True)
    return _Part(grid, tuple(columns), tuple(title))


def _shown(text: str, lettering: Lettering, most: int = _LONGEST) -> str:
    return shortened(lettering.drawable(text), most)


def _height(band: Sequence[_Part]) -> float:
    lines = max(len(part.title) for part in band)
    return _GAP + 0.22 * lines + _LINE * (len(band[0].grid.rows) + 1) + 0.08


def _draw(canvas: Canvas, part: _Part, x: float, y: float, lines: int) -> None:
    """One table, its top left corner at a place; its title takes `lines`."""
    for i, line in enumerate(part.title):
        canvas.write(x, y + 0.22 * (lines - len(part.title) + i), line, 10, weight="bold")
    y += 0.22 * lines
    grid, widths = part.grid, part.columns
    lefts = [sum(widths[:number]) for number in range(len(widths))]
    _paint(canvas, grid, x, y + _LINE, lefts, widths)
    for j, header in enumerate(grid.headers):
        at, side = _place(grid, j, x + lefts[j], widths[j])
        shown = _shown(header, canvas.lettering, _LONGEST_HEADER)
        canvas.write(at, y + 0.05, shown, _HEADER, ha=side, color=FAINT)
    colours = contribution_colours()
    for i, row in enumerate(grid.rows):
        for j, cell in enumerate(row):
            tone = ink_on(colours((cell.share + 1) / 2)) if cell.share else FAINT if cell.faint else INK
            at, side = _place(grid, j, x + lefts[j], widths[j])
            canvas.write(
                at, y + _LINE * (i + 1.5), _shown(cell.text, canvas.lettering), _SIZE, ha=side, va="center",
                color=tone, weight="bold" if cell.strong else "normal",
            )  # fmt: skip


def _place(grid: Grid, column: int, left: float, width: float) -> tuple[float, str]:
    """Where the text of a cell begins or ends."""
    return (left + 0.06, "left") if column in grid.texts else (left + width - 0.1, "right")


def _paint(
    canvas: Canvas, grid: Grid, x: float, y: float, lefts: Sequence[float], widths: Sequence[float]
) -> None:
    """The line below the headers, and the colours of the cells."""
    from matplotlib.collections import PolyCollection

    axes = canvas.axes(x, y, sum(widths), _LINE * len(grid.rows))
    axes.set_xlim(0, sum(widths))
    axes.set_ylim(len(grid.rows), 0)
    axes.axhline(0, color=GRID, linewidth=1.2, clip_on=False)
    colours = contribution_colours()
    boxes, tones = [], []
    for i, row in enumerate(grid.rows):
        for j, cell in enumerate(row):
            if cell.share:
                left, right = lefts[j] + 0.02, lefts[j] + widths[j] - 0.02
                boxes.append([(left, i), (right, i), (right, i + 1), (left, i + 1)])
                tones.append(colours((cell.share + 1) / 2))
    axes.add_collection(PolyCollection(boxes, facecolors=tones, linewidths=0))
