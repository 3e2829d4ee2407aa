"""Texts that are made to take long: every parser is linear, and no short text takes long."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from search.corpus import reader
from search.corpus.parsing import Request, parsed
from search.corpus.sources import kind_of
from search.errors import ReadError
from tests.faults.hostile import FORMATS, Pattern, patterns

# Bytes; parsers of markup build trees, or search for pairs of marks. benchmarks/hostile.py --patterns takes more.
LARGE, LARGE_MARKUP = 100_000, 25_000
MOST_GROWTH = 2.5  # of the time, for twice the bytes
MARKUP = ("markdown", "rst", "html", "org", "asciidoc", "tex", "man")
SLOW = 0.5  # seconds for an eighth of the text; linear parsers take a fifth of that
FLOOR = 0.3  # seconds; the growth of shorter times cannot be measured on a busy machine


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collecting garbage takes the time of what is in memory, not of what is parsed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(pattern: Pattern, n_bytes: int) -> float:
    """Processor time of parsing a file of this pattern in this process."""
    request = Request(pattern.name, kind_of(pattern.name), pattern.content(n_bytes), is_named=True)
    with no_garbage_collection():
        started = time.process_time()
        try:
            for _ in parsed(request):
                pass
        except ReadError:
            pass
        return time.process_time() - started


def is_linear(pattern: Pattern) -> bool:
    """Return True if twice the text takes about twice the time, and a text of LARGEST_HERE less than a second."""
    n_bytes = LARGE_MARKUP if kind_of(pattern.name) in MARKUP else LARGE
    if seconds(pattern, n_bytes // 8) > SLOW:
        return False
    large = seconds(pattern, n_bytes)
    if large <= FLOOR:
        return True
    small = seconds(pattern, n_bytes // 2)
    for _ in range(4):  # a busy machine may slow down one of them
        if large <= MOST_GROWTH * small and large * reader.LARGEST_HERE / n_bytes < 1:
            return True
        small, large = min(small, seconds(pattern, n_bytes // 2)), min(large, seconds(pattern, n_bytes))
    return False


@pytest.mark.parametrize("name", FORMATS)
def test_twice_the_text_takes_twice_the_time(name: str) -> None:
    for pattern in patterns(name):
        assert is_linear(pattern), pattern
