"""Attention of a text: matrices for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from search.lab.records.inspections import Attention
from search.render import json
from search.render.format import one_line
from search.render.grid import Grid
from search.render.heatmap import draw_grid
from search.render.terminal import Canvas, as_text

CAVEATS = (
    "A weight tells how much one head of one layer attends to a token: one of the model's many steps.",
    "It is disputed if attention explains a result (Jain & Wallace 2019, Wiegreffe & Pinter 2019).",
)


@as_text
def attention(
    canvas: Canvas, attention: Attention, layers: Sequence[int], head: int | None = None
) -> None:
    """Draw the attention weights of one head, or the mean over the heads, in each of some layers as a matrix."""
    numbered = [f"{i} {name}" for i, name in enumerate(labels(attention))]
    for layer in layers:
        weights = attention_grid(attention, layer, head)
        canvas.line(weights.title, style="bold")
        canvas.gap()
        draw_grid(canvas, replace(weights, rows=numbered, limit=1.0))
        canvas.gap()
    for line in (rows_line(attention), *CAVEATS):
        canvas.dim(line)


def last_layer(attention_: Attention) -> str:
    """Return the mean over the heads of the last layer as a matrix, for a terminal."""
    return attention(attention_, [attention_.layers])


def attention_grid(attention: Attention, layer: int | None, head: int | None, limit: float = 0) -> Grid:
    """Return the weights of one head, or the mean over the heads, in a layer; None is the last layer.

    Args:
        limit: the weight with the darkest colour; 0 for the largest one.
    """
    layer, names = layer or attention.layers, labels(attention)
    cells = attention.matrix(layer, head)
    return Grid(
        attention.title(layer, head), names, names, cells, "attention", limit or float(cells.max())
    )


def attention_json(attention: Attention, layers: Sequence[int] = (), head: int | None = None) -> str:
    """Return tokens and weights as JSON: (layers, heads, n, n) for all, (n, n) for one layer, else (l, n, n)."""
    matrices = [attention.matrix(layer, head) for layer in layers]
    if len(layers) == 1:
        return json.document(attention, layer=layers[0], head=head, weights=matrices[0])
    return json.document(
        attention, layer=layers or None, head=head, weights=matrices or attention.weights
    )


def rows_line(attention: Attention) -> str:
    """Return the sentence that explains the rows and columns of a matrix of attention."""
    size = f"{len(attention.tokens)} tokens, {one_line(attention.model)}"
    return f"Each row is a token that attends to the tokens in the columns. Rows sum to 1; {size}."


def labels(attention: Attention) -> list[str]:
    return [one_line(token.text) for token in attention.tokens]
