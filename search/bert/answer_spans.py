"""The best spans of a text by the logits of a question answering head, and how those that repeat another are merged.

The head gives each token a number for "the answer begins here" and one for "it ends here". A span's score is the sum of
the two (Devlin et al. 2019, section 4.2), among all spans that do not end before they begin and are not too long.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from search.records.predictions import Answer, AnswerPlace

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
    start, end = without_space(text, start, end)
    while 0 < start < end and _is_mark(text[start]) and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and _is_mark(text[end]):
        end += 1
    return start, end


def without_space(text: str, start: int, end: int) -> tuple[int, int]:
    """The span [start, end) without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


@dataclass(frozen=True)
class Merged:
    """The best answers, and how many more there are."""

    shown: tuple[Answer, ...]
    more: int


@dataclass
class _Group:
    """An answer, and the candidates that were merged into it."""

    best: Answer
    readings: int = 1
    others: list[Answer] = field(default_factory=list)


def merged(found: Sequence[Answer], most: int, placed: Callable[[Answer], Answer]) -> Merged:
    """Rank candidates by their scores, equal ones by margin; merge each into a better one that it repeats.

    It repeats one if it is the same span (read in another window, or in a passage that overlaps), if it shares
    characters with its span or with a place where its text stands once more, or if it is the same text elsewhere,
    whatever its case and white space.

    Args:
        most: how many come back; the others are counted.
        placed: fills in lines and page of those that come back, and of what was merged into them.
    """
    groups: list[_Group] = []
    by_text: dict[str, _Group] = {}
    by_span: dict[tuple[str, str, int, int], _Group] = {}
    places: dict[tuple[str, str], list[tuple[int, int, _Group]]] = defaultdict(list)
    order = sorted(found, key=lambda one: (-one.score, -one.margin, one.document, one.start, one.end))
    for one in order:
        span = one.path, one.document, one.start, one.end
        same = " ".join(one.text.casefold().split())
        here = places[one.path, one.document]
        if span in by_span:  # read in another window
            group = by_span[span]
            best = group.best
            group.readings += span == (best.path, best.document, best.start, best.end)
            continue
        sharing = [group for start, end, group in here if start < one.end and end > one.start]
        if sharing:
            group = max(sharing, key=lambda group: (group.best.score, group.best.margin))
            group.others.append(one)
        elif same in by_text:
            group = by_text[same]
            group.others.append(one)
        else:
            group = by_text[same] = _Group(one)
            groups.append(group)
        if not sharing:
            here.append((one.start, one.end, group))
        by_span[span] = group
    shown = tuple(_answer(group, rank, placed) for rank, group in enumerate(groups[:most], 1))
    return Merged(shown, len(groups) - len(shown))


def _answer(group: _Group, rank: int, placed: Callable[[Answer], Answer]) -> Answer:
    also = tuple(_place(placed(one)) for one in group.others)
    return replace(placed(group.best), rank=rank, readings=group.readings, also=also)


def _place(one: Answer) -> AnswerPlace:
    return AnswerPlace(
        text=one.text,
        path=one.path,
        document=one.document,
        start=one.start,
        end=one.end,
        line_start=one.line_start,
        line_end=one.line_end,
        page=one.page,
        passage_id=one.passage_id,
        margin=one.margin,
    )
