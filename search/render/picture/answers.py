"""The logits of a question answering head as a picture: where an answer may begin and end, token by token."""

from __future__ import annotations

from search.records.predictions import Answer, Answers
from search.render.answers import no_answer_line, place_of, sum_line
from search.render.picture.canvas import (
    FAINT,
    GRID,
    INK,
    MINUS,
    PLUS,
    Canvas,
    Lettering,
    fitted,
    shortened,
    wrapped,
)

_MARGIN, _BAR, _TALL = 0.35, 0.24, 1.5
_AROUND = 16  # tokens on each side of the answer
_LONGEST = 14


def answers(found: Answers) -> bytes:
    """Start and end logits of [CLS] and of the tokens around the best answer, as the bytes of a PNG.

    Without an answer those around the nearest span; where nothing was read the question and that sentence alone.
    """
    one = found.answers[0] if found.answers else found.nearest
    places = _places(one) if one else []
    window = one.window if one else None
    tokens = [window.tokens[i] for i in places] if window else []
    said = [f"{place_of(one)}: {one.text}"] if one else []
    if not found.answers:
        said.insert(0, no_answer_line(found))
    lettering = Lettering([found.question, *tokens, *said])
    width = max(2 * _MARGIN + 0.7 + _BAR * len(tokens), 7.5)
    heads = [line for text in said for line in wrapped(text, width - 2 * _MARGIN, 10)]
    notes = wrapped(f"{_note(one, places)} {lettering.note}", width - 2 * _MARGIN)
    top = _MARGIN + 0.35 + 0.22 * len(heads) + 0.2
    rows = (2 * _TALL + 0.3 + 1.0) if one else 0.0
    canvas = Canvas(width, top + rows + 0.2 * len(notes) + _MARGIN, lettering)
    question = fitted(lettering.drawable(found.question), width - 2 * _MARGIN, 12, bold=True)
    canvas.write(_MARGIN, _MARGIN - 0.1, question, 12, weight="bold")
    for i, line in enumerate(heads):
        canvas.write(_MARGIN, _MARGIN + 0.22 + 0.22 * i, line, 10, color=INK)
    if one:
        _draw(canvas, one, places, top)
    for i, line in enumerate(notes):
        y = canvas.height - _MARGIN - 0.2 * (len(notes) - i)
        canvas.write(_MARGIN, y, line, 8.5, color=FAINT)
    return canvas.png(f"Logits of an answer: {found.question}")


def _places(one: Answer) -> list[int]:
    """[CLS], and the tokens of the passage around the answer."""
    first, last = one.window.passage
    return [0, *range(max(first, one.window.first - _AROUND), min(last, one.window.last + 1 + _AROUND))]


def _draw(canvas: Canvas, one: Answer, places: list[int], top: float) -> None:
    window, left = one.window, _MARGIN + 0.7
    for row, (name, logits, at) in enumerate(
        (("start", window.start_logits, window.first), ("end", window.end_logits, window.last))
    ):
        values = [float(logits[i]) for i in places]
        high, low = max(0.0, *values) + 0.3, min(0.0, *values) - 0.3
        y = top + row * (_TALL + 0.3)
        axes = canvas.axes(left, y, _BAR * len(places), _TALL)
        axes.set_xlim(-0.5, len(places) - 0.5)
        axes.set_ylim(low, high)
        axes.axhline(0, color=GRID, linewidth=0.8)
        tones = [PLUS if i == at else MINUS if i == 0 else "#b9c7d8" for i in places]
        axes.bar(range(len(places)), values, width=0.75, color=tones)
        for x, i in enumerate(places):
            if i in (0, at):
                above = y + _TALL * (high - max(values[x], 0.0)) / (high - low)
                canvas.write(
                    left + _BAR * (x + 0.5), above - 0.02, f"{values[x]:+.1f}", 7.5, ha="center", va="bottom"
                )
        canvas.write(left - 0.12, y + _TALL * high / (high - low), name, 9, ha="right", va="center")
    for x, i in enumerate(places):
        inside = window.first <= i <= window.last
        canvas.write(
            left + _BAR * (x + 0.5),
            top + 2 * _TALL + 0.4,
            shortened(canvas.lettering.drawable(window.tokens[i]), _LONGEST),
            8,
            ha="center",
            rotation=90,
            color=PLUS if inside else MINUS if i == 0 else INK,
            weight="bold" if inside or i == 0 else "normal",
        )


def _note(one: Answer | None, places: list[int]) -> str:
    if one is None:
        return ""
    first, last = one.window.passage
    left_out = last - first - (len(places) - 1)
    said = f"{sum_line(one)}. The first bar is [CLS], which stands for no answer."
    return f"{said} {left_out:,} tokens of the passage further away are not shown." if left_out else said
