from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.corpus.writing import Writing, clean, real_title, row
from search.errors import ReadError

TEXTS = st.text(alphabet="ab \t\n\r\x00\x0b\u2028\ud800\ufffeé", max_size=8)
STEPS = st.one_of(
    st.tuples(st.just("add"), TEXTS, st.integers(1, 2)),
    st.tuples(st.just("group"), st.lists(st.lists(TEXTS, max_size=3).map(row), max_size=3)),
    st.tuples(st.just("heading"), TEXTS, st.integers(0, 3)),
    st.tuples(st.just("section"), TEXTS, st.integers(0, 3)),
    st.tuples(st.just("page")),
)


@given(st.lists(STEPS, max_size=20))
def test_any_sequence_of_steps_gives_a_sound_text(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    writing = Writing("a", "text")
    for name, *arguments in steps:
        getattr(writing, name)(*arguments)
    found = writing.done()
    assert found.text == clean(found.text) == found.text.strip("\n")
    assert "\r" not in found.text
    found.text.encode("utf-8")
    bounds = [(section.start, section.end) for section in found.sections]
    assert "".join(found.text[start:end] for start, end in bounds) == found.text
    assert list(found.pages) == sorted(found.pages)
    assert len(found.pages) == sum(name == "page" for name, *_ in steps)
    assert all(0 <= page <= len(found.text) for page in found.pages)


def test_pages_begin_where_their_text_does() -> None:
    writing = Writing("a", "text")
    for text in ("", "one", "", "two", ""):
        writing.page()
        writing.paragraph(text)
    assert writing.done().pages == (0, 0, 5, 5, 8)


def test_a_heading_without_words_ends_the_sections_above() -> None:
    writing = Writing("a", "text")
    writing.heading("One", 1)
    writing.section("", 1)
    writing.paragraph("text")
    assert [section.trail for section in writing.done().sections] == [("One",), ()]


def test_too_much_text() -> None:
    writing = Writing("a.pdf", "pdf", max_characters=10)
    writing.paragraph("12345678")
    with pytest.raises(ReadError, match=r"a\.pdf: too large when unpacked \(its text has more than 10 char"):
        writing.paragraph("1")


def test_titles_that_nobody_gave() -> None:
    assert [real_title(title) for title in ("Untitled ", "PowerPoint Presentation", " A\n b ")] == [
        "",
        "",
        "A b",
    ]
    writing = Writing("a", "text")
    writing.heading("Deep", 2)
    writing.heading("First", 1)
    assert writing.done("untitled").title == "First"
    assert writing.done("untitled", titled_by_heading=False).title == "a"
    assert writing.done("Given", {"author": " A\x00da ", "subject": None}).metadata == {"author": "Ada"}
