from __future__ import annotations

import pytest

from search.corpus.context import Contexts, choices


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
