"""Lines, sections and values."""

from __future__ import annotations

import datetime
import io
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.corpus.text import (
    Heading,
    json_values,
    kept_lines,
    line_map,
    line_starts,
    sections,
    unix_lines,
    whole_characters,
)
from search.records.documents import Section

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


def test_levels_close_what_is_not_above_them() -> None:
    headings = [
        Heading(5, 1, "A"),
        Heading(10, 3, "A.x"),
        Heading(20, 2, "A.b"),
        Heading(30, 3, ""),
        Heading(40, 1, "B"),
    ]
    assert sections(headings, 2, 50) == (
        Section(2, 5, ()),
        Section(5, 10, ("A",)),
        Section(10, 20, ("A", "A.x")),
        Section(20, 30, ("A", "A.b")),
        Section(30, 40, ("A", "A.b")),
        Section(40, 50, ("B",)),
    )


def test_no_text_before_the_first_heading_is_no_section() -> None:
    assert sections([Heading(0, 2, "A")], 0, 9) == (Section(0, 9, ("A",)),)
    assert sections([], 4, 4) == ()


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 6)), max_size=12, unique_by=lambda item: item[0])
)
def test_sections_cover_everything_once(items: list[tuple[int, int]]) -> None:
    found = sections([Heading(start, level, f"h{start}") for start, level in sorted(items)], 0, 100)
    assert found[0].start == 0
    assert found[-1].end == 100
    assert all(one.end == two.start and one.start < one.end for one, two in pairwise(found))


def test_dates_sets_keys_and_odd_numbers() -> None:
    values = {
        1: datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 2, 29, 12, 30),
        "clock": datetime.time(7, 5),
        "tags": {"b", "a"},
        "nested": {"pair": (1, 2.5), None: True},
        "odd": [float("nan"), float("inf")],
        "raw": b"\x00",
    }
    copy = json_values(values)
    assert copy == {
        "1": "2024-02-29",
        "at": "2024-02-29T12:30:00",
        "clock": "07:05:00",
        "tags": ["a", "b"],
        "nested": {"pair": [1, 2.5], "None": True},
        "odd": ["nan", "inf"],
        "raw": "b'\\x00'",
    }
    assert json.loads(json.dumps(copy, allow_nan=False)) == copy


def test_a_value_that_grows_without_end_is_refused() -> None:
    lol: list[object] = ["lol"] * 10
    for _ in range(9):
        lol = [lol] * 10  # a billion strings in a few hundred bytes, as YAML's anchors can spell it
    with pytest.raises(ValueError, match="more than 100,000 values"):
        json_values({"lol": lol})


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises((ValueError, RecursionError)):
        json_values({"ring": ring})


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert whole_characters("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert json_values({"\ud800": "\ud800"}) == {"\ufffd": "\ufffd"}
