"""One head worked through for one token, for a terminal."""

from __future__ import annotations

import numpy as np
from rich.table import Column

from search.records.attention import HeadAtWork
from search.render.format import first_values, fixed, one_line
from search.render.terminal import Canvas, as_text, bar, folded, grid


@as_text
def head_at_work(canvas: Canvas, work: HeadAtWork, *, values: int = 0) -> None:
    """Products, scaled, softmax and value vectors, a token a line; then what the head hands on, and the checks.

    Args:
        values: how many of the first numbers of the vectors to show.
    """
    reader = one_line(work.tokens[work.token].text)
    canvas.line(
        f"Layer {work.layer}, head {work.head}: what '{reader}' (token {work.token}) reads", style="bold"
    )
    canvas.gap()
    width = work.query.size
    bias = [] if work.bias is None else ["+ by distance"]
    names = ("q.k", f"/ sqrt({width})", *bias, "softmax")
    table = grid(folded("#"), "token", *map(folded, names), Column(no_wrap=True), folded("|v|"), header="dim")
    divided = work.products / np.sqrt(width)
    lengths = np.linalg.norm(work.values, axis=1)
    for i, token in enumerate(work.tokens):
        numbers = [fixed(work.products[i], 3), fixed(divided[i], 3)]
        numbers += [] if work.bias is None else [fixed(work.scaled[i], 3)]
        share = float(work.weights[i])
        table.add_row(
            str(i), one_line(token.text), *numbers, f"{share:.4f}", bar(share, 10), f"{lengths[i]:.3f}"
        )
    canvas.table(table)
    canvas.gap()
    canvas.line(
        f"The head hands on the sum of the values v, each times its softmax: {width} numbers, length "
        f"{np.linalg.norm(work.output):.3f}."
    )
    if values:
        rows = [
            ("q", work.query),
            *((f"v {i}", row) for i, row in enumerate(work.values)),
            ("sum", work.output),
        ]
        canvas.facts((name, first_values(vector, values)) for name, vector in rows)
    canvas.gap()
    canvas.dim(
        f"Computed here in float64 from what layer {work.layer} of {one_line(work.model)} reads. The weights differ "
        f"from those that the model returns by at most {work.difference:.1e}, the sum from what it hands on by at "
        f"most {work.output_difference:.1e}."
    )
