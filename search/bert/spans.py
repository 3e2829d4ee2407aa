"""The best spans of a text by the logits of a question answering head; arithmetic alone, no model.

The head gives each token a number for "the answer begins here" and one for "it ends here". A span's score is the sum of
the two (Devlin et al. 2019, section 4.2), among all spans that do not end before they begin and are not too long.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TokenSpan:
    """Tokens `first` to `last`, both included, and the sum of their two logits."""

    first: int
    last: int
    score: float


def best_spans(
    start: NDArray[np.float32],
    end: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    *,
    longest: int,
    least: float,
) -> list[TokenSpan]:
    """The best span, and every other one that scores `least` and shares no token with a better one; best first.

    Exact: all spans are looked at. Of equal scores the shorter goes first, then the earlier.

    Args:
        start, end: (t,) logits.
        allowed: (t,) where a span may begin and end: tokens of the passage that hold a character.
        longest: most tokens of a span, at least 1.
        least: least score of a second and any further span.

    Returns:
        Nothing if nothing is allowed.

    Example:
        >>> best_spans(np.array([0, 3, 1]), np.array([0, 1, 2]), np.array([False, True, True]), longest=2, least=9)
        [TokenSpan(first=1, last=2, score=5.0)]
    """
    scores = _scores(start, end, allowed, longest)
    found: list[TokenSpan] = []
    while scores.size:
        extra, first = np.unravel_index(int(np.argmax(scores)), scores.shape)
        score = float(scores[extra, first])
        if score == -np.inf or (found and score < least):
            break
        one = TokenSpan(int(first), int(first + extra), score)
        found.append(one)
        for row in range(len(scores)):  # spans of row + 1 tokens that share one with it
            scores[row, max(0, one.first - row) : one.last + 1] = -np.inf
    return found


def _scores(
    start: NDArray[np.float32], end: NDArray[np.float32], allowed: NDArray[np.bool_], longest: int
) -> NDArray[np.float64]:
    """(rows, t): in row r and column i the score of the span of r + 1 tokens that begins at i; -inf for none."""
    tokens = len(start)
    rows = min(longest, tokens)
    found = np.full((rows, tokens), -np.inf)
    begins = np.where(allowed, start.astype(np.float64), -np.inf)
    ends = np.where(allowed, end.astype(np.float64), -np.inf)
    for row in range(rows):
        found[row, : tokens - row] = begins[: tokens - row] + ends[row:]
    return found


def tidy(text: str, start: int, end: int) -> tuple[int, int]:
    """The span [start, end) without white space at its ends, and with the marks of its first and last letter.

    A tokenizer may count the space before a word to its token, and drop the accent that follows a letter as a
    character of its own.

    Example:
        >>> tidy("a cafe\\u0301 here", 1, 6)
        (2, 7)
    """
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while 0 < start < end and _is_mark(text[start]) and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and _is_mark(text[end]):
        end += 1
    return start, end


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
