"""Matrices and curves as pictures, by matplotlib, which the extra `pictures` brings.

    explanation(...), sentences(...), attention(...), training(...)  ->  the bytes of a PNG
    heat_map(...)  ->  axes of matplotlib

pyplot is used only for a notebook that gives no axes; settings of matplotlib are changed only while drawing.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.inspections import Attention
from search.render.format import headings, layer_of, letters, named, one_line, where
from search.render.heatmap import (
    CAVEATS,
    Units,
    labels,
    largest_addend,
    left_out,
    part,
    rows_line,
)
from search.render.why import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from search.records.tokens import Matrix

MOST_ROWS, MOST_COLUMNS = 24, 40

Scale = Literal["contribution", "cosine", "attention"]
_COLOURS: dict[Scale, str] = {"contribution": "RdBu", "cosine": "PRGn_r", "attention": "Greens"}
_MOST_INCHES = 40.0
_LETTER = 0.08  # inches
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
def _style() -> Iterator[None]:
    """Fonts for many scripts; no text is read as mathematics."""
    import matplotlib
    from matplotlib.font_manager import fontManager

    here = {font.name for font in fontManager.ttflist}
    fonts = [name for name in _FONTS if name in here]
    settings: Any = {"font.family": fonts, "font.size": 9, "text.parse_math": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that no font has, which are drawn as boxes
        yield


@_style()
def heat_map(
    ax: Axes | None,
    cells: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    scale: Scale,
    limit: float = 1.0,
) -> Axes:
    """Draw the cells as coloured squares with labels, a scale below them, and numbers if there are few.

    Args:
        ax: where to draw; None for the axes of a new figure of pyplot, which a notebook shows below its cell.
        limit: value of the deepest colour; its negative below zero.
    """
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=_size(rows, columns), layout="constrained")
    lowest = 0.0 if scale == "attention" else -limit
    image = ax.imshow(cells, cmap=_COLOURS[scale], vmin=lowest, vmax=limit, aspect="auto")
    ax.set_title(title, loc="left", weight="bold")
    for axis, names, angle in ((ax.xaxis, columns, 90), (ax.yaxis, rows, 0)):
        ticks = [_shortened(name) for name in names] if len(names) <= _LABELS_UP_TO else []
        axis.set_ticks(range(len(ticks)), ticks, rotation=angle, fontsize=8)
    if max(cells.shape) <= _NUMBERS_UP_TO:
        form = "{:.1f}" if scale == "contribution" else "{:.2f}"
        for (i, j), value in np.ndenumerate(cells):
            colour = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(j, i, form.format(value), ha="center", va="center", fontsize=7, color=colour)
    ax.figure.colorbar(image, ax=ax, location="bottom", aspect=40, fraction=0.05)
    return ax


@_style()
def sentences(similarities: Similarities) -> bytes:
    """Cosines of sentences as the bytes of a PNG; columns of other sentences have letters, listed below."""
    rows, columns, legend = names_of(similarities)
    figure = _figure(_size(rows, columns))
    title = f"{len(rows)} x {len(columns)} sentences"
    heat_map(figure.subplots(), similarities.cosines, rows, columns, title, "cosine")
    note = f"Cosines of sentence embeddings: {similarities.model}, {similarities.pooling} pooling."
    return _png(figure, title, [], [*legend, note])


def names_of(similarities: Similarities) -> tuple[list[str], list[str], list[str]]:
    """Labels of the rows and columns, and a legend for the letters of the columns."""
    rows = [f"{_shortened(text)}  {i}" for i, text in enumerate(similarities.rows, 1)]
    if similarities.itself:
        return rows, [str(i) for i in range(1, len(rows) + 1)], []
    columns = [letters(j) for j in range(len(similarities.columns))]
    legend = [f"{name}: {text}" for name, text in zip(columns, similarities.columns, strict=True)]
    return rows, columns, legend


@_style()
def explanation(why: Explanation, drawn: Units, hit: Hit | None = None) -> bytes:
    """Both matrices of an explanation as the bytes of a PNG.

    Of many units only those that added most are drawn; a line counts the others.

    Args:
        drawn: the units of `why`.
    """
    visible = part(drawn, MOST_ROWS, MOST_COLUMNS)
    rows, columns = visible.labels
    width, height = _size(rows, columns)
    figure = _figure((2 * width + 1, height))
    left, right = figure.subplots(1, 2)
    title = "Contributions, in thousandths: what made the score"
    limit = 1000 * largest_addend(visible)
    heat_map(left, 1000 * visible.contributions, rows, columns, title, "contribution", limit)
    heat_map(right, visible.similarity, rows, columns, f"Cosines at {layer_of(why)}", "cosine")
    return _png(figure, f"Why: {why.query}", _head(why, hit), [_sum(why), left_out(drawn, visible)])


def _head(why: Explanation, hit: Hit | None) -> list[str]:
    if hit is None:
        return [f"First: {why.query}", f"Second: {why.passage}"]
    return [f"Query: {why.query}", f"Passage: {where(hit)} {named(hit)}", headings(hit)]


def _sum(why: Explanation) -> str:
    """The sum that makes the score, in a line."""
    parts = [f"{why.weight * why.contributions.sum():.6f} (contributions)"]
    if why.terms:
        parts.append(f"{sum(term.contribution for term in why.terms):.6f} (terms)")
    if why.late is not None:
        parts.append(f"{float(why.late.sum()):.6f} (best matches)")
    return f"score {why.score:.6f} = {' + '.join(parts)} {signed(why.residual)} (residual)."


@_style()
def attention(attention: Attention, layer: int, head: int | None = None) -> bytes:
    """Weights of a text as the bytes of a PNG."""
    names, title = labels(attention), attention.title(layer, head)
    figure, weights = _figure(_size(names, names)), attention.matrix(layer, head)
    heat_map(figure.subplots(), weights, names, names, "", "attention", float(weights.max()))
    notes = [rows_line(attention), *CAVEATS]
    return _png(figure, title, [title, "  |  ".join(attention.texts)], notes)


def _size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Width and height of a matrix with its labels, in inches."""
    cell = 0.45 if max(len(rows), len(columns)) <= _NUMBERS_UP_TO else 0.25
    beside, below = (_LETTER * min(max(map(len, names)), _LONGEST_LABEL) for names in (rows, columns))
    return (
        min(max(len(columns) * cell + beside, 4.0), _MOST_INCHES),
        min(max(len(rows) * cell, 1.5) + below + 1.0, _MOST_INCHES),
    )


def _figure(size: tuple[float, float]) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(max(size[0], 6.5), size[1]), layout="constrained", facecolor="white")


def _png(figure: Figure, title: str, head: Sequence[str], notes: Sequence[str]) -> bytes:
    """The file with lines above and below the picture; it grows to hold a long one."""
    room = int(figure.get_figwidth() / _LETTER)
    above = [fill(shorten(one_line(line), _LONGEST_LINE), room) for line in head if line]
    below = [fill(one_line(note), room) for note in notes if note]
    figure.suptitle("\n".join(above), x=0, ha="left", weight="bold")
    figure.supxlabel("\n".join(below), x=0, ha="left", fontsize=8)
    file = io.BytesIO()
    named = {"Title": one_line(title)}
    figure.savefig(file, format="png", dpi=160, bbox_inches="tight", pad_inches=0.3, metadata=named)
    return file.getvalue()


def _shortened(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
