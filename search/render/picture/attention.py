"""Attention as a picture: every head of every layer, small; or one matrix with its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from search.records.attention import EVERY_HEAD, Attention, View
from search.render.format import one_line
from search.render.heatmap import CAVEATS, labels, rows_line
from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    Canvas,
    colours,
    fitted,
    shortened,
    text_width,
    wrapped,
)
from search.render.picture.matrices import NARROWEST_SCALE, Block, draw_cells, draw_scale
from search.render.scale import Ends

if TYPE_CHECKING:
    from search.records.tokens import Matrix

_MARGIN, _SIZE = 0.35, 8.5
_MOST_INCHES = 40.0  # of a side: 6,400 pixels
_LABELLED_FROM = 0.12  # inches a cell must have to be labelled


def attention(attention: Attention, view: View = EVERY_HEAD) -> bytes:
    """Weights of a text, as the bytes of a PNG: a matrix, or every head of every layer, in rows and columns."""
    weights = view.matrix(attention)
    return _all(attention) if weights is None else _one(attention, weights, view.title(attention))


def _one(attention: Attention, weights: Matrix, name: str) -> bytes:
    n = len(weights)
    cell = min(0.5 if n <= 14 else 0.26, _MOST_INCHES / n)
    shown = [shortened(label) for label in labels(attention)] if cell >= _LABELLED_FROM else []
    size = 10.0 if cell > 0.4 else _SIZE
    left = max((text_width(label, size) for label in shown), default=0) + 0.15
    ends = Ends(0.0, float(weights.max()))
    width = max(_MARGIN + left + n * cell + _MARGIN, 6.5)
    notes = _notes(attention, width, "The deepest colour is the largest weight. ")
    top = _MARGIN + 0.6
    canvas = Canvas(width, top + n * cell + left + 0.55, notes, _MARGIN)
    _head(canvas, attention, name)
    tones = [FAINT if token.special else INK for token in attention.tokens] if shown else []
    block = Block(_MARGIN + left, top, cell, shown, shown, size)
    draw_cells(canvas, block, np.asarray(weights), ends, "attention", tones, tones)
    draw_scale(canvas, _MARGIN + left, top + n * cell + left + 0.05, NARROWEST_SCALE, ends, "attention")
    return canvas.png(name)


def _all(attention: Attention) -> bytes:
    n = len(attention.tokens)
    gap, left = 0.12, 0.75
    side = min(
        max(0.9, min(2.2, 0.035 * n)), (_MOST_INCHES - 2) / max(attention.heads, attention.layers) - gap
    )
    width = max(_MARGIN + left + attention.heads * (side + gap) + _MARGIN, 6.5)
    order = " · ".join(f"{i} {label}" for i, label in enumerate(labels(attention)))
    more = f"Rows and columns in the order of the tokens: {order}. The colour grows with the square root of a weight. "
    notes = _notes(attention, width, more)
    top = _MARGIN + 0.85
    height = top + attention.layers * (side + gap)
    canvas = Canvas(width, height + 0.55, notes, _MARGIN)
    name = EVERY_HEAD.title(attention)
    _head(canvas, attention, name)
    for head in range(attention.heads):
        x = _MARGIN + left + head * (side + gap) + side / 2
        canvas.write(x, top - 0.06, f"head {head + 1}", 8, ha="center", va="bottom", color=FAINT)
    for layer in range(attention.layers):
        y = top + layer * (side + gap)
        canvas.write(_MARGIN, y + side / 2, f"layer {layer + 1}", 8, va="center", color=FAINT)
        for head in range(attention.heads):
            axes = canvas.axes(_MARGIN + left + head * (side + gap), y, side, side)
            roots = np.sqrt(attention.weights[layer, head])
            axes.imshow(
                roots, cmap=colours("attention"), vmin=-1, vmax=1, interpolation="nearest", aspect="auto"
            )
            axes.set_axis_on()
            axes.set_xticks([])
            axes.set_yticks([])
            for spine in axes.spines.values():
                spine.set_color(GRID)
    draw_scale(canvas, _MARGIN + left, height, NARROWEST_SCALE, Ends(0.0, 1.0), "attention")
    return canvas.png(name)


def _head(canvas: Canvas, attention: Attention, name: str) -> None:
    canvas.write(_MARGIN, _MARGIN - 0.1, name, 12, weight="bold")
    texts = one_line("  |  ".join(attention.texts))
    canvas.write(_MARGIN, _MARGIN + 0.17, fitted(texts, canvas.width - 2 * _MARGIN, 10), 10, color=FAINT)


def _notes(attention: Attention, width: float, more: str) -> list[str]:
    said = [f"{rows_line(attention)} {more}", *CAVEATS]
    return [line for note in said for line in wrapped(note, width - 2 * _MARGIN)]
