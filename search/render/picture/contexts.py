"""One word in several contexts as a picture: a line for each pair, over the layers."""

from __future__ import annotations

from search.records.inspections import ContextualCosines
from search.render.contexts import compared, what_was_compared
from search.render.format import letters
from search.render.picture.canvas import FAINT, GRID, INK, Canvas, Lettering, shortened, text_width, wrapped

_MARGIN, _WIDTH, _HEIGHT = 0.35, 5.4, 3.6
_TONES = ("#1b62a5", "#b3540a", "#2e7d4f", "#7b3fa0", "#a8324a", "#5d6575")
_DASHES = ("-", "--", ":", "-.")


def contexts(found: ContextualCosines) -> bytes:
    """Cosines by layer, as the bytes of a PNG; what a line is stands at its end, colour is not needed."""
    names, columns = compared(found)
    texts = [f"{letters(i)}: {text}" for i, text in enumerate(found.texts)]
    lettering = Lettering([*texts, *names])
    shown = [shortened(lettering.drawable(name), 28) for name in names]
    right = max(text_width(name, 9) for name in shown) + 0.75
    width = _MARGIN + 0.45 + _WIDTH + right + _MARGIN
    heads = [line for text in texts for line in wrapped(text, width - 2 * _MARGIN, 10)]
    notes = wrapped(f"{what_was_compared(found)} {lettering.note}", width - 2 * _MARGIN)
    top = _MARGIN + 0.3 + 0.22 * len(heads) + 0.15
    tall = max(_HEIGHT, 0.19 * len(names))
    canvas = Canvas(width, top + tall + 0.6 + 0.2 * len(notes) + _MARGIN, lettering)
    canvas.write(
        _MARGIN, _MARGIN - 0.1, f"'{found.word}' in {len(texts)} contexts, by layer", 12, weight="bold"
    )
    for i, line in enumerate(heads):
        canvas.write(_MARGIN, _MARGIN + 0.2 + 0.22 * i, line, 10, color=INK)
    left, layers = _MARGIN + 0.45, len(found.between)
    low = min(0.0, *(min(column) for column in columns)) - 0.02
    axes = canvas.axes(left, top, _WIDTH, tall)
    axes.set_xlim(0, layers - 1)
    axes.set_ylim(low, 1.02)
    for mark in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        axes.axhline(mark, color=GRID, linewidth=0.6)
        y = top + tall * (1.02 - mark) / (1.02 - low)
        canvas.write(left - 0.08, y, f"{mark:.1f}", 8, ha="right", va="center", color=FAINT)
    for number, column in enumerate(columns):
        axes.plot(
            range(layers), column, marker="o", markersize=3, linewidth=1.6, clip_on=False,
            color=_TONES[number % len(_TONES)], linestyle=_DASHES[number // len(_TONES) % len(_DASHES)],
        )  # fmt: skip
    for layer in range(layers):
        x = left + _WIDTH * layer / (layers - 1)
        canvas.write(x, top + tall + 0.08, str(layer), 8, ha="center", color=FAINT)
    canvas.write(left + _WIDTH / 2, top + tall + 0.26, "layer", 8, ha="center", color=FAINT)
    ends = [top + tall * (1.02 - column[-1]) / (1.02 - low) for column in columns]
    for number, y in _apart(ends, 0.19, top + tall):
        label = f"{columns[number][-1]:.2f}  {shown[number]}"
        canvas.write(left + _WIDTH + 0.1, y, label, 9, va="center", color=_TONES[number % len(_TONES)])
    for i, line in enumerate(notes):
        canvas.write(_MARGIN, canvas.height - _MARGIN - 0.2 * (len(notes) - i), line, 8.5, color=FAINT)
    return canvas.png(f"{found.word} in contexts")


def _apart(places: list[float], least: float, bottom: float) -> list[tuple[int, float]]:
    """(number, place) of labels, from the top: moved down where they would lie upon each other, not below `bottom`."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved: list[float] = []
    for i in order:
        moved.append(max(places[i], moved[-1] + least) if moved else places[i])
    limit = max(bottom, places[order[-1]])
    for k in reversed(range(len(moved))):
        moved[k] = min(moved[k], limit)
        limit = moved[k] - least
    return list(zip(order, moved, strict=True))
