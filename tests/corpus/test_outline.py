from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from search.corpus.outline import Heading, sections
from search.records.documents import Section


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
