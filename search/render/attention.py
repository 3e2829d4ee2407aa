"""Attention, drawn for a terminal: one matrix with numbers, or all heads small, in shades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from search.records.inspections import Attention
from search.render.escape import one_line
from search.render.heatmap import draw_cells, shade
from search.render.terminal import canvas, drawn

if TYPE_CHECKING:
    from rich.console import Console

    from search.records.tokens import Matrix

MOST_SMALL, MOST_LARGE = 24, 60  # tokens

CAVEATS = (
    "A weight says with what share one head of one layer reads a token: one step among many. It says nothing about "
    "how long the vector is that is read, what other heads read, or what the rest of the layer adds.",
    'Whether attention explains what a model answers is disputed: Jain & Wallace 2019 ("Attention is not '
    'Explanation"), Wiegreffe & Pinter 2019 ("Attention is not not Explanation"). Here it explains no score.',
)


def attention(
    found: Attention,
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
    console = canvas(width, colour)
    console.print(Text(title(found, layer, head, rollout=rollout), style="bold"))
    console.print()
    n = len(found.tokens)
    if n > (MOST_LARGE if layer or rollout else MOST_SMALL):
        console.print(
            f"{n} tokens are too many to draw here; --html, --png and --json have them all.", style="dim"
        )
    elif layer or rollout:
        _draw_matrix(console, found, chosen(found, layer, head, rollout=rollout), width)
    else:
        _draw_all(console, found, width)
    console.print()
    console.print(rows_line(found), style="dim")
    for caveat in CAVEATS:
        console.print(caveat, style="dim")
    return drawn(console)


def title(found: Attention, layer: int | None, head: int | None, *, rollout: bool = False) -> str:
    """What a picture shows."""
    if rollout:
        return f"Attention rollout, layers 1 to {layer or found.layers}"
    if layer is None:
        return f"Attention of {found.layers} layers with {found.heads} heads each"
    if head is None:
        return f"Attention in layer {layer}, mean of {found.heads} heads"
    return f"Attention in layer {layer}, head {head}"


def chosen(found: Attention, layer: int | None, head: int | None, *, rollout: bool = False) -> Matrix:
    """The (n, n) matrix that a title of `title` names."""
    if rollout:
        return found.rollout(layer)
    assert layer is not None
    return found.matrix(layer, head)


def rows_line(found: Attention) -> str:
    """How to read a picture, and the check of its rows."""
    return (
        "A row reads, a column is read. Every row sums to 1 "
        f"(largest difference {found.row_error:.1e}); {len(found.tokens)} tokens, {one_line(found.model)}."
    )


def labels(found: Attention) -> list[str]:
    return [one_line(token.text) for token in found.tokens]


def _draw_matrix(console: Console, found: Attention, weights: Matrix, width: int) -> None:
    names = labels(found)
    numbered = [f"{i} {name}" for i, name in enumerate(names)]
    draw_cells(console, numbered, names, weights.tolist(), 1.0, width, places=2)


def _draw_all(console: Console, found: Attention, width: int) -> None:
    """Every head as n lines of n shades, as many beside each other as fit; shades are of square roots."""
    n = len(found.tokens)
    at_once = max(1, (width + 2) // (max(n, 6) + 2))
    cell = max(n, 6)
    for layer in range(1, found.layers + 1):
        for first in range(0, found.heads, at_once):
            heads = range(first + 1, min(first + at_once, found.heads) + 1)
            names = "  ".join(f"{layer}-{head}".ljust(cell) for head in heads)
            console.print(Text(names, style="bold"), no_wrap=True, crop=False)
            roots = [np.sqrt(found.matrix(layer, head)) for head in heads]
            for i in range(n):
                lines = [
                    "".join(shade(value, 1.0) for value in root[i].tolist()).ljust(cell) for root in roots
                ]
                console.print(Text("  ".join(lines), style="blue"), no_wrap=True, crop=False)
            console.print()
    listed = " · ".join(f"{i} {name}" for i, name in enumerate(labels(found)))
    console.print(Text(f"layer-head; rows and columns in the order of the tokens: {listed}", style="dim"))
    console.print("A shade grows with the square root of a weight.", style="dim")
