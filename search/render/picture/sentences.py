"""A matrix of sentences as a picture."""

from __future__ import annotations

from search.records.comparisons import Similarities
from search.render.format import letters
from search.render.picture.canvas import (
    FAINT,
    INK,
    Canvas,
    Lettering,
    cosine_colours,
    shortened,
    text_width,
    wrapped,
)
from search.render.picture.cells import NARROWEST_SCALE, Block, draw_cells, draw_scale

_MARGIN, _SIZE, _LONGEST = 0.35, 9.0, 60
_MOST_SQUARE_INCHES = 40.0  # of a side: 6,400 pixels


def sentences(found: Similarities) -> bytes:
    """The cosines as the bytes of a PNG: a heatmap, with numbers in it up to about 25 sentences.

    Each row has its number and its sentence, which is shortened where it is long. Where the columns are other
    sentences, they are listed below under letters.
    """
    n, m = found.cosines.shape
    lettering = Lettering([*found.rows, *found.columns])
    names = [str(j + 1) if found.itself else letters(j) for j in range(m)]
    cell = max(min(0.45 if max(n, m) <= 25 else 0.22, _MOST_SQUARE_INCHES / max(n, m)), 0.02)
    labelled = cell >= 0.14
    labels = [
        f"{shortened(lettering.drawable(text), _LONGEST)}  {i + 1}" for i, text in enumerate(found.rows)
    ]
    left = max(text_width(label, _SIZE) for label in labels) * 0.93 + 0.15 if labelled else 0.15
    legend = (
        [] if found.itself else [f"{name}: {text}" for name, text in zip(names, found.columns, strict=True)]
    )
    width = max(_MARGIN + left + max(m * cell, NARROWEST_SCALE) + _MARGIN, 6.5)
    legend = [line for entry in legend for line in wrapped(entry, width - 2 * _MARGIN, _SIZE)]
    note = f"Cosines of sentence embeddings: {found.model}, {found.pooling} pooling. {lettering.note}"
    notes = wrapped(note, width - 2 * _MARGIN)
    top = _MARGIN + 0.55
    height = top + n * cell + 0.4 + 0.5 + 0.2 * (len(legend) + len(notes)) + _MARGIN
    canvas = Canvas(width, height, lettering)
    canvas.write(_MARGIN, _MARGIN - 0.1, f"{n} x {m} sentences", 12, weight="bold")
    x = _MARGIN + left
    block = Block(x, top, cell, labels if labelled else [], [], _SIZE)
    draw_cells(canvas, block, found.cosines, 1.0, cosine_colours(), [INK] * n, [])
    if labelled:
        for j, name in enumerate(names):
            canvas.write(
                x + (j + 0.5) * cell, top - 0.06, name, _SIZE if cell > 0.4 else 6.5, ha="center", va="bottom"
            )
    y = top + n * cell + 0.2
    draw_scale(canvas, x, y, max(m * cell, NARROWEST_SCALE), 1.0, cosine_colours())
    for i, line in enumerate([*legend, *notes]):
        tone = INK if i < len(legend) else FAINT
        canvas.write(_MARGIN, y + 0.55 + 0.2 * i, line, 8.5, color=tone)
    return canvas.png("Cosines of sentences")
