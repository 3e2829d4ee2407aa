"""Blocks, and the contexts that are encoded before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from search.corpus.blocks import Contexts, blocks, choices

from .conftest import parsed


def shown(folder: Path, name: str, source: str) -> list[tuple[tuple[str, ...], tuple[str, ...], str, str]]:
    """Of each block: trail, headings that are shown, the text of the headings, the text beneath them."""
    document = parsed(folder, name, source)
    text = document.text
    return [
        (b.trail, b.shown, text[b.start : b.body].strip(), text[b.body : b.end].strip())
        for b in blocks(document)
    ]


@pytest.mark.parametrize(
    ("name", "source", "one", "two", "three"),
    [
        ("a.md", "# One\n\n## Two\ntext\n\n## Three #\n\nmore", "# One", "## Two", "## Three #"),
        ("b.md", "One\n===\n\nTwo\n---\ntext\n\nThree\n---\nmore", "One\n===", "Two\n---", "Three\n---"),
        (
            "a.rst",
            "===\nOne\n===\n\nTwo\n---\ntext\n\nThree\n-----\nmore",
            "===\nOne\n===",
            "Two\n---",
            "Three\n-----",
        ),
        ("a.html", "<h1>One</h1><h2>Two</h2>text<h2>Thr<br>ee</h2>more", "One", "Two", "Thr\nee"),
    ],
)
def test_a_heading_alone_joins_the_next_section(
    tmp_path: Path, name: str, source: str, one: str, two: str, three: str
) -> None:
    third = "Thr ee" if name == "a.html" else "Three"
    assert shown(tmp_path, name, source) == [
        (("One", "Two"), ("One", "Two"), f"{one}\n\n{two}", "text"),
        (("One", third), (third,), three, "more"),
    ]


def test_a_heading_alone_at_the_end(tmp_path: Path) -> None:
    assert shown(tmp_path, "a.md", "# A\ntext\n# B") == [
        (("A",), ("A",), "# A", "text"),
        (("B",), ("B",), "# B", ""),
    ]


def test_a_block_of_nothing_but_headings_ends_somewhere(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.md", "".join(f"# H{number}\n" for number in range(20)))
    assert [len(headings) for _, headings, _, _ in found] == [8, 8, 4]


def test_a_section_that_does_not_begin_with_its_heading(tmp_path: Path) -> None:
    source = "Title\n=====\n:Author: Ada\n\nOnly line about the Title\n\nNext\n----\ntext\n"
    assert shown(tmp_path, "a.rst", source) == [
        (("Title",), (), "", "Only line about the Title"),
        (("Title", "Next"), ("Next",), "Next\n----", "text"),
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
