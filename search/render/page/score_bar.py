"""The bar of a score: a segment for each of its parts, on a scale that all bars of a page have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from search.render.score_parts import OFFSET, Part

# Pixels that a letter and the bar take: on a phone, then on a wider screen.
_LETTER, _PHONE, _WIDE = 6.5, 250, 480
_NARROWEST = 1.0  # percent of a bar: narrower segments have no label


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar, in percent of its full width.

    Attributes:
        fits: screens on which the name has room: "" for none, "wide" or "all".
        met_fits: screens on which the name has room together with the word that it meets.
    """

    part: Part
    x: float
    width: float
    meaning: float
    fits: str
    met_fits: str


@dataclass(frozen=True)
class ScoreBar:
    """A score with its parts, which sum to it."""

    score: float
    parts: Sequence[Part] = ()

    def segments(self, full: float) -> list[BarSegment]:
        """Return the bar: positive parts from the left, then negative parts back from their end."""
        parts = sorted(self.parts, key=lambda part: part.value < 0)
        shares = [100 * part.value / full for part in parts]
        ends = list(accumulate(shares, initial=0.0))
        starts = [x + min(share, 0) for x, share in zip(ends, shares, strict=False)]
        spans = list(zip(starts, map(abs, shares), strict=True))
        wide, phone = (_labels(parts, spans, pixels) for pixels in (_WIDE, _PHONE))
        segments = []
        for part, (x, width), on_wide, on_phone in zip(parts, spans, wide, phone, strict=True):
            both = part.meaning > 0 < part.keyword
            meaning = part.meaning / part.value if both else part.meaning > part.keyword
            fits, met_fits = (_screens(on_wide >= length, on_phone >= length) for length in (1, 2))
            segments.append(BarSegment(part, x, width, 100 * meaning, fits, met_fits))
        return segments


def _labels(parts: Sequence[Part], spans: Sequence[tuple[float, float]], pixels: float) -> list[int]:
    """Return which label each segment has room for: 0 for none, 1 for its name, 2 also for the word that it meets.

    A label begins with its segment and may be longer than it, if it meets no other one. Words come first, wide segments
    before narrow ones.

    Args:
        spans: begin and width of each segment, in percent of the bar.
        pixels: width of the bar.
    """
    labels, taken = [0] * len(parts), list[tuple[float, float]]()
    order = sorted(range(len(parts)), key=lambda at: (not parts[at].is_word, -spans[at][1]))
    for at in order:
        x, width = spans[at]
        names = [parts[at].name, *([f"{parts[at].name} ~ {parts[at].met}"] if parts[at].met else [])]
        for length in range(len(names), 0, -1):
            end = x + 100 * (len(names[length - 1]) + 1) * _LETTER / pixels
            is_free = parts[at].word != OFFSET and all(end <= start or x >= stop for start, stop in taken)
            if width >= _NARROWEST and end <= 100 and is_free:
                labels[at] = length
                taken.append((x, end))
                break
    return labels


def _screens(wide: bool, phone: bool) -> str:
    return "all" if wide and phone else "wide" if wide else ""


def full_width(bars: Iterable[ScoreBar]) -> float:
    """Return the score that fills a bar: 1, whatever the hits, or more for scores of a reranker.

    On a fixed scale, the hits of a question without an answer have short bars.
    """
    best = max((sum(max(part.value, 0) for part in bar.parts) for bar in bars), default=0.0)
    return max(1.0, math.ceil(best * 10 - 1e-9) / 10)
