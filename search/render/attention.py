"""Attention, for a terminal and as JSON: one matrix with numbers, or all heads small, in shades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from search.records.inspections import Attention
from search.render import json
from search.render.format import one_line
from search.render.heatmap import draw_cells, shade
from search.render.terminal import Canvas

if TYPE_CHECKING:
    from search.records.tokens import Matrix

MOST_SMALL, MOST_LARGE = 24, 60  # tokens

CAVEATS = (
    "A weight says with what share one head of one layer reads a token: one step among many. It says nothing about "
    "how long the vector is that is read, what other heads read, or what the rest of the layer adds.",
    'Whether attention explains what a model answers is disputed: Jain & Wallace 2019 ("Attention is not '
    'Explanation"), Wiegreffe & Pinter 2019 ("Attention is not not Explanation"). Here it explains no score.',
)


def attention(
    attention: Attention,
    layer: int | None = None,
    head: int | None = None,
    *,
    rollout: bool = False,
    width: int = 80,
    colour: bool = False,
) -> str:
    """Weights of a text.

    Args:
        layer, head: one head; a layer without a head is the mean of its heads; neither is every head of every
            layer, small.
        rollout: instead, what rollout makes of the layers up to `layer`, all by default.
    """
    canvas = Canvas(width, colour)
    canvas.line(title(attention, layer, head, rollout=rollout), style="bold")
    canvas.gap()
    n = len(attention.tokens)
    if n > (MOST_LARGE if layer or rollout else MOST_SMALL):
        canvas.line(
            f"{n} tokens are too many to draw here; --html, --png and --json have them all.", style="dim"
        )
    elif layer or rollout:
        names = labels(attention)
        numbered = [f"{i} {name}" for i, name in enumerate(names)]
        draw_cells(
            canvas, numbered, names, chosen(attention, layer, head, rollout=rollout).tolist(), 1.0, places=2
        )
    else:
        _draw_all(canvas, attention)
    canvas.gap()
    for said in (rows_line(attention), *CAVEATS):
        canvas.line(said, style="dim")
    return canvas.drawn()


def as_json(
    attention: Attention, layer: int | None = None, head: int | None = None, *, rollout: bool = False
) -> str:
    """Tokens and weights: of all heads (layers, heads, n, n), or of what `layer` and `head` name, (n, n)."""
    every = layer is None and not rollout
    return json.document(
        {
            "texts": attention.texts,
            "tokens": attention.tokens,
            "model": attention.model,
            "layers": attention.layers,
            "heads": attention.heads,
            "layer": layer,
            "head": head,
            "rollout": rollout,
            "row_error": attention.row_error,
            "weights": attention.weights if every else chosen(attention, layer, head, rollout=rollout),
        }
    )


def title(attention: Attention, layer: int | None, head: int | None, *, rollout: bool = False) -> str:
    """What a picture shows."""
    if rollout:
        return f"Attention rollout, layers 1 to {layer or attention.layers}"
    if layer is None:
        return f"Attention of {attention.layers} layers with {attention.heads} heads each"
    if head is None:
        return f"Attention in layer {layer}, mean of {attention.heads} heads"
    return f"Attention in layer {layer}, head {head}"


def chosen(attention: Attention, layer: int | None, head: int | None, *, rollout: bool = False) -> Matrix:
    """The (n, n) matrix that a title of `title` names."""
    if rollout:
        return attention.rollout(layer)
    assert layer is not None
    return attention.matrix(layer, head)


def rows_line(attention: Attention) -> str:
    """How to read a picture, and the check of its rows."""
    return (
        "A row reads, a column is read. Every row sums to 1 "
        f"(largest difference {attention.row_error:.1e}); {len(attention.tokens)} tokens, {one_line(attention.model)}."
    )


def labels(attention: Attention) -> list[str]:
    return [one_line(token.text) for token in attention.tokens]


def _draw_all(canvas: Canvas, attention: Attention) -> None:
    """Every head as n lines of n shades, as many beside each other as fit; shades are of square roots."""
    n = len(attention.tokens)
    cell = max(n, 6)
    at_once = max(1, (canvas.width + 2) // (cell + 2))
    for layer in range(1, attention.layers + 1):
        for first in range(0, attention.heads, at_once):
            heads = range(first + 1, min(first + at_once, attention.heads) + 1)
            names = (f"{layer}-{head}".ljust(cell) for head in heads)
            canvas.line("  ".join(names), style="bold", whole=True)
            roots = [np.sqrt(attention.matrix(layer, head)) for head in heads]
            for i in range(n):
                lines = (
                    "".join(shade(value, 1.0) for value in root[i].tolist()).ljust(cell) for root in roots
                )
                canvas.line("  ".join(lines), style="blue", whole=True)
            canvas.gap()
    listed = " · ".join(f"{i} {name}" for i, name in enumerate(labels(attention)))
    canvas.line(f"layer-head; rows and columns in the order of the tokens: {listed}", style="dim")
    canvas.line("A shade grows with the square root of a weight.", style="dim")
