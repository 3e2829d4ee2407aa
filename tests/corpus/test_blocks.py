"""Blocks, the contexts that are encoded before them, and windows on long ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantic_text_splitter import TextSplitter

from search.corpus.blocks import Contexts, blocks, choices, safe_stop, spans
from search.corpus.cut import as_read

from .conftest import parsed


def shown(folder: Path, name: str, source: str) -> list[tuple[tuple[str, ...], tuple[str, ...], str, str]]:
    """Of each block: trail, headings that are shown, the text of the headings, the text beneath them."""
    document, _ = as_read(parsed(folder, name, source))
    text = document.text
    return [
        (b.trail, b.shown, text[b.start : b.body].strip(), text[b.body : b.end].strip())
        for b in blocks(document)
    ]


@pytest.mark.parametrize(
    ("name", "source", "three"),
    [
        ("a.md", "# One\n\n## Two\ntext\n\n## Three #\n\nmore", "Three"),
        ("b.md", "One\n===\n\nTwo\n---\ntext\n\nThree\n---\nmore", "Three"),
        ("a.rst", "===\nOne\n===\n\nTwo\n---\ntext\n\nThree\n-----\nmore", "Three"),
        ("a.html", "<h1>One</h1><h2>Two</h2>text<h2>Thr<br>ee</h2>more", "Thr\nee"),
    ],
)
def test_a_heading_alone_joins_the_next_section(tmp_path: Path, name: str, source: str, three: str) -> None:
    third = " ".join(three.split())
    found = [
        (*trails, " ".join(heading.split()), text) for *trails, heading, text in shown(tmp_path, name, source)
    ]
    assert found == [
        (("One", "Two"), ("One", "Two"), "One Two", "text"),
        (("One", third), (third,), third, "more"),
    ]


def test_a_heading_alone_at_the_end(tmp_path: Path) -> None:
    assert shown(tmp_path, "a.md", "# A\ntext\n# B") == [
        (("A",), ("A",), "A", "text"),
        (("B",), ("B",), "B", ""),
    ]


def test_a_block_of_nothing_but_headings_ends_somewhere(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.md", "".join(f"# H{number}\n" for number in range(20)))
    assert [len(headings) for _, headings, _, _ in found] == [8, 8, 4]


def test_a_section_that_does_not_begin_with_its_heading(tmp_path: Path) -> None:
    source = "Title\n=====\n:Author: Ada\n\nOnly line about the Title\n\nNext\n----\ntext\n"
    assert shown(tmp_path, "a.rst", source) == [
        (("Title",), (), "", "Only line about the Title"),
        (("Title", "Next"), ("Next",), "Next", "text"),
    ]


def test_blocks_cover_what_sections_cover(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.md", "---\na: b\n---\nintro\n# A\n## B\n\n## C\ntext\n")
    found = list(blocks(document))
    assert found[0].start == document.sections[0].start
    assert found[-1].end == document.sections[-1].end
    assert [b.start for b in found[1:]] == [b.end for b in found[:-1]]


@pytest.mark.parametrize(
    ("title", "trail", "shown", "expected"),
    [
        ("T", ("A", "B", "C"), (), ["T\nA\nB\nC", "T\nC", "C", "T", ""]),
        ("T", (), (), ["T", ""]),
        ("T", ("A",), (), ["T\nA", "A", "T", ""]),
        ("", ("A", "B"), (), ["A\nB", "B", ""]),
        ("a  guide", ("A Guide", "B"), (), ["a  guide\nB", "B", "a  guide", ""]),
        ("T", ("A", "B"), ("B",), ["T\nA", "A", "T", ""]),
        ("T", ("A", "B"), ("A", "B"), ["T", ""]),
        ("A", ("A", "B"), ("A", "B"), [""]),
        ("A", ("A",), ("A",), [""]),
    ],
)
def test_choices(title: str, trail: tuple[str, ...], shown: tuple[str, ...], expected: list[str]) -> None:
    assert list(choices(title, trail, shown)) == expected


def test_the_fullest_that_is_short_enough() -> None:
    trail = ("outer words", "inner")
    by_limit = {most: Contexts("title", most, lambda text: len(text.split())).of(trail) for most in range(5)}
    assert by_limit == {
        0: "",
        1: "inner",
        2: "title\ninner",
        3: "title\ninner",
        4: "title\nouter words\ninner",
    }


def test_the_line_end_is_part_of_the_cost() -> None:
    contexts = Contexts("ab", 3, len)
    assert (contexts.of(()), contexts.cost("ab"), contexts.cost("")) == ("ab", 3, 0)


class Words:
    """A splitter that is easy to foresee: two words a chunk."""

    def chunk_indices(self, text: str) -> list[tuple[int, str]]:
        starts = [i for i, c in enumerate(text) if not c.isspace() and (i == 0 or text[i - 1].isspace())][::2]
        return [
            (start, text[start:stop].rstrip())
            for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)
        ]


def test_a_window_decides_no_span_but_its_last() -> None:
    text = "aa bb cc dd ee ff gg hh ii"
    found = [text[start:end] for start, end in spans(Words(), text, 0, len(text), 14)]
    assert found == ["aa bb ", "cc dd ", "ee ff ", "gg hh ", "ii"]


@given(
    st.text(st.sampled_from("ab. \n漢é\u0301👍🏽\u200d"), max_size=200), st.integers(4, 40), st.integers(1, 9)
)
def test_spans_follow_each_other_and_fit_the_window(text: str, window: int, capacity: int) -> None:
    found = list(spans(TextSplitter(capacity), text, 0, len(text), window))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(0 < end - start <= window for start, end in found)


@given(st.text(st.sampled_from("ab \n"), max_size=200), st.integers(0, 8))
def test_with_overlap_nothing_is_between_spans(text: str, overlap: int) -> None:
    found = list(spans(TextSplitter(9, overlap=overlap), text, 0, len(text), 30))
    covered = {at for start, end in found for at in range(start, end)}
    assert covered == set(range(len(text)))
    assert [start for start, _ in found] == sorted({start for start, _ in found})


def test_where_a_window_ends() -> None:
    assert safe_stop("one two\nthree four", 0, 12) == 8
    assert safe_stop("one two three", 0, 10) == 8
    assert safe_stop("x" * 20, 0, 10) == 10
    assert safe_stop("xxxxxxxxe\u0301e\u0301", 0, 9) == 8
    assert safe_stop("xxxxx👩\u200d👩\u200d👧xxx", 0, 8) == 5
    assert safe_stop("xxxxxx👍🏽x", 0, 7) == 6
    assert safe_stop("xxxxxxx\r\nx", 0, 8) == 7
