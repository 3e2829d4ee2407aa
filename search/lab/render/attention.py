"""Attention of a text: matrices for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from search.lab.records.inspections import Attention
from search.render import json
from search.render.format import one_line
from search.render.heatmap import draw_cells
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
    names = labels(attention)
    numbered = [f"{i} {name}" for i, name in enumerate(names)]
    for layer in layers:
        canvas.line(attention.title(layer, head), style="bold")
        canvas.gap()
        draw_cells(canvas, numbered, names, attention.matrix(layer, head))
        canvas.gap()
    for line in (rows_line(attention), *CAVEATS):
        canvas.dim(line)


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
