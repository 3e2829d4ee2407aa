"""The best spans by logits, against a look at every span."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.bert.answering import TokenSpan, best_spans, tidy


def every_span(
    start: list[int], end: list[int], allowed: list[bool], longest: int
) -> list[tuple[int, int, int]]:
    """(score, first, last) of all spans, best first; of equal scores the shorter, then the earlier."""
    tokens = range(len(start))
    found = [
        (start[i] + end[j], i, j)
        for i in tokens
        for j in tokens
        if i <= j < i + longest and allowed[i] and allowed[j]
    ]
    return sorted(found, key=lambda one: (-one[0], one[2] - one[1], one[1]))


def test_a_case_worked_by_hand() -> None:
    #                  CLS  who   ?    the  key  of  water
    start = np.array([0.5, 9.0, 0.0, 2.0, 3.0, -1, 1.5], dtype=np.float32)
    end = np.array([0.25, 9.0, 0.0, -1.0, 1.0, 0, 4.0], dtype=np.float32)
    allowed = np.array([False, False, False, True, True, True, True])
    assert best_spans(start, end, allowed, longest=3, least=3) == [TokenSpan(4, 6, 7.0)]
    assert best_spans(start, end, allowed, longest=3, least=0) == [TokenSpan(4, 6, 7.0), TokenSpan(3, 3, 1.0)]
    assert best_spans(start, end, allowed, longest=1, least=4) == [TokenSpan(6, 6, 5.5), TokenSpan(4, 4, 4.0)]
    assert best_spans(start, end, np.zeros(7, dtype=np.bool_), longest=3, least=0) == []


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.booleans()), max_size=12),
    st.integers(1, 14),
    st.integers(-12, 12),
)
def test_the_same_as_a_look_at_every_span(
    tokens: list[tuple[int, int, bool]], longest: int, least: int
) -> None:
    start, end, allowed = ([one[i] for one in tokens] for i in range(3))
    expected: list[TokenSpan] = []
    for score, first, last in every_span(start, end, allowed, longest):
        apart = all(last < one.first or first > one.last for one in expected)
        if apart and (not expected or score >= least):
            expected.append(TokenSpan(first, last, score))
    found = best_spans(
        np.array(start, dtype=np.float32),
        np.array(end, dtype=np.float32),
        np.array(allowed, dtype=np.bool_),
        longest=longest,
        least=least,
    )
    assert found == expected


@pytest.mark.parametrize(
    ("text", "span", "tidied"),
    [
        ("a key \r\n", (1, 7), "key"),
        ("cafe\u0301 au lait", (0, 4), "cafe\u0301"),
        ("cafe\u0301", (4, 5), "e\u0301"),
        ("\u0301a", (0, 2), "\u0301a"),
        ("no \u0301x", (3, 5), "\u0301x"),
        ("\u2764\ufe0f yes", (0, 1), "\u2764\ufe0f"),
    ],
)
def test_spans_are_tidy(text: str, span: tuple[int, int], tidied: str) -> None:
    start, end = tidy(text, *span)
    assert text[start:end] == tidied
