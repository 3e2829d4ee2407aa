"""Matrices and curves as pictures, drawn with matplotlib (extra `pictures`).

    explanation(...), sentences(...), document_map(...)  ->  the bytes of a PNG
    heat_map(...), bar_chart(...)  ->  axes of matplotlib

pyplot is used only in a notebook, if no axes are given. Settings of matplotlib are changed only while drawing.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from search.records.comparisons import Similarities
from search.records.document_map import OTHER, DocumentMap
from search.records.explanations import Explanation, Side
from search.records.hits import Hit
from search.render.format import headings, letters, named, one_line, where
from search.render.grid import Bars, Grid, Range, Scale
from search.render.heatmap import (
    MOST_COLUMNS,
    MOST_ROWS,
    By,
    Units,
    contribution_grid,
    cosine_grid,
    for_picture,
    layer_grid,
)
from search.render.why import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure


_MAP_COLOURS = ("#2f6fd0", "#b56c00", "#0a8f76", "#a8508c", "#868e99")
_MAP_MARKERS = ("o", "s", "^", "D", ".")

_COLOURS: dict[Scale, str] = {"contribution": "RdBu", "cosine": "PRGn_r", "attention": "Greens"}
_BAR_COLOUR = "#2f6fd0"
_MOST_INCHES = 40.0
_DPI, _MARGIN = 160, 0.3
# Width of a picture for a slide, in pixels, and of its panels, in inches.
WIDEST = 1600
_SLIDE = WIDEST / _DPI - 2 * _MARGIN
_TICKS = 6  # of a colour bar, and below bars
_FEW_TICKS, _LONG_NUMBER = 4, 100_000  # below bars with numbers that are so long
_BETWEEN = 0.4  # two panels
_GAP, _GAP_COLOUR = 0.4, "#e9ecef"  # its width in columns
_LETTER = 0.08  # inches
_BOLD = 1.25  # width of a letter of a title, compared with _LETTER
_NUMBERS_UP_TO = 15  # rows or columns
_LABELS_UP_TO = 150
_LONGEST_LABEL, _LONGEST_LINE = 40, 300

# Fonts for scripts that matplotlib's own font lacks: of Linux, Windows and macOS.
_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Segoe UI",
    "Microsoft YaHei",
    "Arial Unicode MS",
)


@contextmanager
def style() -> Iterator[None]:
    """Context manager that sets fonts for many writing systems, and turns matplotlib's math syntax off."""
    import matplotlib
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    fonts = [name for name in _FONTS if name in installed]
    settings: Any = {"font.family": fonts, "font.size": 9, "text.parse_math": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # About characters that no font has; boxes are drawn for them.
        warnings.simplefilter("ignore")
        yield


def heat_map(ax: Axes | None, drawn: Grid) -> Axes:
    """Draw the cells as coloured squares with labels and a colour scale; a few cells also get numbers.

    Args:
        ax: axes to draw into; None creates a new pyplot figure, which a notebook displays.
    """
    from matplotlib.ticker import MaxNLocator

    if ax is None:  # not in the style, with which the settings of pyplot's first figure would be undone
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=figure_size(drawn), layout="constrained")
    with style():
        down, across = _Edges.of(drawn.rows, drawn.gaps[0]), _Edges.of(drawn.columns, drawn.gaps[1])
        low, high = drawn.range
        cells = np.full((len(down.sizes), len(across.sizes)), np.nan)
        cells[np.ix_(down.places, across.places)] = drawn.cells
        image = ax.pcolormesh(across.edges, down.edges, cells, cmap=_colours(drawn), vmin=low, vmax=high)
        ax.set_facecolor(_GAP_COLOUR)
        ax.invert_yaxis()
        ax.set_title(drawn.title, loc="left", weight="bold", wrap=True)
        for axis, edges, names, angle in (
            (ax.xaxis, across, drawn.columns, 90),
            (ax.yaxis, down, drawn.rows, 0),
        ):
            ticks = edges.labels(names) if len(names) <= _LABELS_UP_TO else []
            axis.set_ticks(edges.centres[: len(ticks)], ticks, rotation=angle, fontsize=8)
        if drawn.texts or max(drawn.cells.shape) <= _NUMBERS_UP_TO:
            for (i, j), value in np.ndenumerate(drawn.cells):
                x, y = across.centres[across.places[j]], down.centres[down.places[i]]
                colour = "white" if abs(drawn.depth(value)) > 0.6 else "black"
                number = _shortened(drawn.texts[i][j]) if drawn.texts else f"{value:.{drawn.places}f}"
                ax.text(x, y, number, ha="center", va="center", fontsize=7, color=colour)
        ax.figure.colorbar(
            image,
            ax=ax,
            extend=beyond(drawn.cells, low, high),
            ticks=MaxNLocator(_TICKS),
            location="bottom",
            aspect=40,
            fraction=0.05,
        )
    return ax


def bar_chart(ax: Axes | None, drawn: Bars) -> Axes:
    """Draw numbers as horizontal bars, the first at the top, each with its number.

    Args:
        ax: axes to draw into; None creates a new pyplot figure, which a notebook displays.
    """
    from matplotlib.ticker import MaxNLocator

    if ax is None:
        from matplotlib import pyplot

        height = min(max(0.25 * len(drawn.names) + 1, 1.5), _MOST_INCHES)
        _, ax = pyplot.subplots(figsize=(6.5, height), layout="constrained")
    with style():
        lines = range(len(drawn.names))
        bars = ax.barh(lines, drawn.numbers, color=_BAR_COLOUR)
        ax.bar_label(bars, [_bar_label(number) for number in drawn.numbers], padding=3, fontsize=8)
        ax.set_yticks(lines, list(map(_shortened, drawn.names)), fontsize=8)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.1 * drawn.full)  # with room for the numbers
        is_count = isinstance(drawn.full, int)
        ticks = _TICKS if drawn.full < _LONG_NUMBER else _FEW_TICKS
        ax.xaxis.set_major_locator(MaxNLocator(ticks, integer=is_count))
        if is_count:
            ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set_xlabel(drawn.unit)
        ax.set_title(drawn.title, loc="left", weight="bold", wrap=True)
        ax.spines[["top", "right"]].set_visible(False)
    return ax


def _bar_label(number: float) -> str:
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:.3f}" if number >= 0.0005 or number == 0 else f"{number:.1e}"


def beyond(cells: Any, low: float, high: float) -> Literal["neither", "min", "max", "both"]:
    """Return the ends of a colour bar that get an arrow, because there are numbers beyond them."""
    tolerance = 1e-6 * (high - low)
    below, above = bool(cells.min() < low - tolerance), bool(cells.max() > high + tolerance)
    return "both" if below and above else "min" if below else "max" if above else "neither"


@dataclass(frozen=True)
class _Edges:
    """Sizes and places of rows or columns, with narrow ones for gaps.

    Attributes:
        sizes: size of each row or column, and of each gap.
        places: position of each row or column among the sizes.
    """

    sizes: list[float]
    places: list[int]

    @classmethod
    def of(cls, names: Sequence[str], gaps: Sequence[int]) -> _Edges:
        sizes: list[float] = []
        places: list[int] = []
        for i in range(len(names) + 1):
            if i in gaps:
                sizes.append(_GAP)
            if i < len(names):
                places.append(len(sizes))
                sizes.append(1.0)
        return cls(sizes, places)

    @property
    def edges(self) -> list[float]:
        return [0.0, *accumulate(self.sizes)]

    @property
    def centres(self) -> list[float]:
        return [(start + end) / 2 for start, end in pairwise(self.edges)]

    def labels(self, names: Sequence[str]) -> list[str]:
        labels = ["…"] * len(self.sizes)
        for place, name in zip(self.places, names, strict=True):
            labels[place] = _shortened(name)
        return labels


def _colours(drawn: Grid) -> ListedColormap:
    """Return the colours of a grid's range, from its lowest to its highest number."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    depths = drawn.depth(np.linspace(*drawn.range, 256))
    whole = colormaps[_COLOURS[drawn.scale]]
    return ListedColormap(whole(depths if drawn.scale == "attention" else (depths + 1) / 2))


@style()
def sentences(similarities: Similarities, colours: Range | None = None) -> bytes:
    """Return the cosines of sentences as a PNG; if the columns are other sentences, they get letters.

    Args:
        colours: range of the colours; None is -1 to 1.
    """
    rows, columns, legend = names_of(similarities)
    title = f"{len(rows)} x {len(columns)} sentences"
    drawn = Grid(title, rows, columns, similarities.cosines, colours=colours)
    figure = new_figure(figure_size(drawn))
    heat_map(figure.subplots(), drawn)
    note = f"Cosines of sentence embeddings: {similarities.model}, {similarities.pooling} pooling."
    return png(figure, title, [], [*legend, note])


@style()
def document_map(map_: DocumentMap, name: str) -> bytes:
    """Return the map of an index as a PNG."""
    figure = new_figure((8, 7))
    scatter(figure.subplots(), map_)
    note = "Each mark is a document; documents with similar content are close to each other."
    return png(figure, f"Map of {name}", [f"Map of {name}"], [note])


def scatter(axes: Axes | None, map_: DocumentMap) -> Axes:
    """Draw the map of an index into axes; None creates a new pyplot figure."""
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(figsize=(8, 7), layout="constrained")
    for number, group in enumerate(map_.groups):
        colour, marker = _MAP_COLOURS[-1], _MAP_MARKERS[-1]
        if group != OTHER:  # of the fifth group on, the colours return with other markers
            kinds = len(_MAP_COLOURS) - 1
            colour, marker = (
                _MAP_COLOURS[number % kinds],
                _MAP_MARKERS[(number + number // kinds) % kinds],
            )
        points = [point for point in map_.points if point.group == group]
        xs, ys = [point.x for point in points], [point.y for point in points]
        axes.scatter(xs, ys, s=22, c=colour, marker=marker, alpha=0.8, label=f"{group} · {len(points):,}")
    axes.set(xticks=[], yticks=[])
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        ncols=5 if map_.grouped_by != "topic" else 3,
        frameon=False,
    )
    return axes


def names_of(similarities: Similarities) -> tuple[list[str], list[str], list[str]]:
    """Return the labels of the rows and the columns, and the lines of a legend for columns with letters."""
    numbers = [f"  {i}" for i in range(1, len(similarities.rows) + 1)]
    rows = [
        _shortened(text, _LONGEST_LABEL - len(number)) + number
        for text, number in zip(similarities.rows, numbers, strict=True)
    ]
    if similarities.itself:
        return rows, [str(i) for i in range(1, len(rows) + 1)], []
    columns = [letters(j) for j in range(len(similarities.columns))]
    legend = [f"{name}: {text}" for name, text in zip(columns, similarities.columns, strict=True)]
    return rows, columns, legend


@style()
def explanation(
    why: Explanation,
    drawn: Units,
    hit: Hit | None = None,
    *,
    special: bool = True,
    colours: Range | None = None,
) -> bytes:
    """Return both matrices of an explanation as a PNG, at most `WIDEST` pixels wide.

    If there are too many units, only the strongest are drawn, with gaps between them, and a note counts the others.

    Args:
        drawn: the units of `why`.
        special: draw special tokens.
        colours: range of the colours of cosines; None is -1 to 1.
    """
    visible, notes = for_picture(drawn, MOST_ROWS, MOST_COLUMNS, special)
    added = replace(contribution_grid(visible), title="Contributions to the score, in thousandths")
    grids = [added, cosine_grid(why, visible, colours)]
    width, height = figure_size(added)
    if 2 * width + _BETWEEN <= _SLIDE:
        figure = new_figure((2 * width + _BETWEEN, height))
        panels = figure.subplots(1, 2)
    else:
        figure = new_figure((min(width, _SLIDE), 2 * height))
        panels = figure.subplots(2, 1)
    letters_of_title = int(width / _LETTER / _BOLD)
    for axes, grid in zip(panels, grids, strict=True):
        heat_map(axes, replace(grid, title=fill(grid.title, letters_of_title)))
    return png(figure, f"Why: {why.query}", _head(why, hit), [_sum(why), *notes], WIDEST)


@style()
def layers(why: Explanation, by: By, hit: Hit | None = None, *, special: bool = True) -> bytes:
    """Return the contributions of both texts, traced to each layer, as a PNG."""
    grids = [layer_grid(why, side, by, special) for side in get_args(Side)]
    limit = max(grid.limit for grid in grids)
    grids = [replace(grid, limit=limit) for grid in grids]
    sizes = [figure_size(grid) for grid in grids]
    width = max(width for width, _ in sizes)
    figure = new_figure((width, sum(height for _, height in sizes)))
    heights = [height for _, height in sizes]
    for axes, grid in zip(figure.subplots(2, 1, height_ratios=heights), grids, strict=True):
        heat_map(axes, grid)
    return png(
        figure,
        f"Layers: {why.query}",
        _head(why, hit),
        ["Each row sums to the cosine's part of the score."],
    )


def _head(why: Explanation, hit: Hit | None) -> list[str]:
    if hit is None:
        return [f"First: {why.query}", f"Second: {why.passage}"]
    return [f"Query: {why.query}", f"Passage: {where(hit)} {named(hit)}", headings(hit)]


def _sum(why: Explanation) -> str:
    """Return the score as a sum of its parts, in one line."""
    parts = [f"{why.meaning:.6f} (contributions)"]
    if why.terms:
        parts.append(f"{sum(term.contribution for term in why.terms):.6f} (terms)")
    if why.late is not None:
        parts.append(f"{float(why.late.sum()):.6f} (best matches)")
    return f"score {why.score:.6f} = {' + '.join(parts)} {signed(why.residual)} (residual)."


def figure_size(drawn: Grid) -> tuple[float, float]:
    """Return width and height of a matrix with its labels, in inches."""
    rows, columns = drawn.rows, drawn.columns
    cell = 0.45 if max(len(rows), len(columns)) <= _NUMBERS_UP_TO else 0.25
    longest = max((len(text) for texts in drawn.texts for text in texts), default=0)
    sides = ((rows, cell), (columns, max(cell, _LETTER * min(longest, _LONGEST_LABEL))))
    down, across = (
        side * (len(names) + _GAP * len(gaps))
        for (names, side), gaps in zip(sides, drawn.gaps, strict=True)
    )
    beside, below = (_LETTER * min(max(map(len, names)), _LONGEST_LABEL) for names in (rows, columns))
    return (
        min(max(across + beside, 4.0), _MOST_INCHES),
        min(max(down, 1.5) + below + 1.0, _MOST_INCHES),
    )


def new_figure(size: tuple[float, float]) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(max(size[0], 6.5), size[1]), layout="constrained", facecolor="white")


def png(
    figure: Figure, title: str, head: Sequence[str], notes: Sequence[str], widest: int | None = None
) -> bytes:
    """Return a figure as a PNG with lines of text above and below it; the picture is enlarged for long lines.

    Args:
        widest: maximum width in pixels, for which a picture that is wider is made smaller.
    """
    room = int(figure.get_figwidth() / _LETTER)
    above = [fill(shorten(one_line(line), _LONGEST_LINE), room) for line in head if line]
    below = [fill(one_line(note), room) for note in notes if note]
    figure.suptitle("\n".join(above), x=0, ha="left", weight="bold")
    figure.supxlabel("\n".join(below), x=0, ha="left", fontsize=8)
    file = io.BytesIO()
    named = {"Title": one_line(title)}
    dpi = float(_DPI)
    if widest:
        figure.set_dpi(dpi)
        figure.draw_without_rendering()  # lays it out
        width = figure.get_tightbbox().width + 2 * _MARGIN
        dpi = min(dpi, (widest - 1) / width)
    figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight", pad_inches=_MARGIN, metadata=named)
    return file.getvalue()


def _shortened(text: str, longest: int = _LONGEST_LABEL) -> str:
    text = one_line(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"
