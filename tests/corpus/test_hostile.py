"""Texts that are made to take long: every parser is linear, and no short text takes long."""

from __future__ import annotations

import pytest

from search.corpus import reader
from search.corpus.sources import kind_of
from tests.faults.hostile import FLOOR, FORMATS, MOST_GROWTH, Pattern, parse_seconds, patterns

# Bytes; parsers of markup build trees, or search for pairs of marks. benchmarks/hostile.py --patterns takes more.
LARGE, LARGE_MARKUP = 30_000, 8_000
MARKUP = ("markdown", "rst", "html", "org", "asciidoc", "tex", "man")
SLOW = 0.5  # seconds for an eighth of the text; linear parsers take a fifth of that


def is_linear(pattern: Pattern) -> bool:
    """Return True if twice the text takes about twice the time, and a text of LARGEST_HERE less than a second."""
    n_bytes = LARGE_MARKUP if kind_of(pattern.name) in MARKUP else LARGE
    if parse_seconds(pattern, n_bytes // 8) > SLOW:
        return False
    large = parse_seconds(pattern, n_bytes)
    if large <= FLOOR:
        return True
    small = parse_seconds(pattern, n_bytes // 2)
    for _ in range(4):  # a busy machine may slow down one of them
        if large <= MOST_GROWTH * small and large * reader.LARGEST_HERE / n_bytes < 1:
            return True
        small, large = (
            min(small, parse_seconds(pattern, n_bytes // 2)),
            min(large, parse_seconds(pattern, n_bytes)),
        )
    return False


@pytest.mark.parametrize("name", FORMATS)
def test_twice_the_text_takes_twice_the_time(name: str) -> None:
    for pattern in patterns(name):
        assert is_linear(pattern), pattern
