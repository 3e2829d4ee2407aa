"""Two scores of one query beside each other, word by word: two bars that grow from the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from search.records.comparisons import Contrast, Difference
from search.records.explanations import STOP_WORDS
from search.render.why import share_name

OTHER = "other words"
_NAMED = 2  # words of a sentence
_VISIBLE = 0.005  # of a score with two decimals


@dataclass(frozen=True)
class MirrorLine:
    """A word of the query with what it adds to each of two scores, by meaning and as a keyword together."""

    name: str
    in_a: float
    in_b: float

    @property
    def gap(self) -> float:
        return self.in_a - self.in_b


def mirror_lines(compared: Contrast) -> list[MirrorLine]:
    """Return a line for each word, the largest first; stop words and what is no word are the last line together.

    All lines sum to the scores, but for the residual.
    """
    sums: dict[str, list[float]] = {}
    names: dict[str, str] = {}
    has_content = any(_is_content(word) for word in compared.words)
    for word in compared.words:
        is_named = _is_content(word) or (not has_content and word.kind in ("word", "term"))
        name = share_name(word) if word.kind not in ("word", "term") else word.text
        if not is_named and word.kind not in ("model", "like", "late"):
            name = OTHER
        key = name.casefold()
        names.setdefault(key, name)
        line = sums.setdefault(key, [0.0, 0.0])
        line[0] += word.in_a
        line[1] += word.in_b
    lines = [MirrorLine(names[key], *values) for key, values in sums.items()]
    return sorted(lines, key=lambda line: (line.name == OTHER, -max(abs(line.in_a), abs(line.in_b))))


def _is_content(word: Difference) -> bool:
    return word.kind in ("word", "term") and word.text.casefold() not in STOP_WORDS


def verdict_on(lines: Sequence[MirrorLine], above: str, below: str, gap: float) -> str:
    """Return the difference as a sentence: '"Lease" is 0.06 ahead by "deposit" (+0.15). "Savings" gains 0.04 by "get".'

    Args:
        above, below: names of the hits, of which `above` has the higher score.
        gap: score of the first hit less that of the second one.
    """
    if abs(gap) < _VISIBLE / 100:
        return "Both have the same score."
    sign = 1 if gap > 0 else -1
    gains = sorted(((sign * line.gap, line.name) for line in lines), reverse=True)
    ahead = [f"\u201c{name}\u201d (+{gain:.2f})" for gain, name in gains[:_NAMED] if gain >= _VISIBLE]
    behind = [f"{-gain:.2f} by \u201c{name}\u201d" for gain, name in reversed(gains) if gain <= -_VISIBLE]
    sentence = f"{above} is {abs(gap):.3f} ahead"
    sentence += f", most by {' and '.join(ahead)}." if ahead else "."
    if behind:
        sentence += f" {below} gains {' and '.join(behind[:_NAMED])}."
    return sentence
