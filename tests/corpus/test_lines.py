from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from search.corpus.lines import kept_lines, line_map, line_starts, unix_lines

# Line ends, and characters that only look like them to str.splitlines.
TEXTS = st.text(st.sampled_from("ab \t\r\n\v\f\x1c\x85\u2028é"), max_size=60)


def as_python_reads(text: str) -> list[str]:
    """The lines that open(..., newline="") gives: universal newlines, line ends kept."""
    return list(io.StringIO(text, newline=""))


@given(TEXTS)
def test_lines_are_those_of_universal_newlines(text: str) -> None:
    assert kept_lines(text) == as_python_reads(text)


@given(TEXTS)
def test_every_offset_is_on_the_line_that_holds_it(text: str) -> None:
    lines = line_map(text)
    offset = 0
    for number, line in enumerate(as_python_reads(text), 1):
        for _ in line:
            assert lines.span(offset, offset + 1) == (number, number)
            offset += 1


@given(TEXTS)
def test_unix_lines_keeps_the_number_of_lines(text: str) -> None:
    assert len(line_starts(unix_lines(text))) == len(line_starts(text))
    assert "\r" not in unix_lines(text)


def test_a_span_over_lines() -> None:
    lines = line_map("one\r\ntwo\rthree\n\ffour")
    assert lines.span(1, 7) == (1, 2)  # "ne\r\ntw"
    assert lines.span(9, 20) == (3, 4)
    assert lines.span(0, 3) == (1, 1)


def test_an_empty_text_has_one_line() -> None:
    assert line_starts("") == [0]
    assert kept_lines("") == []
