from __future__ import annotations

import pytest

from search.corpus.patterns import Patterns, parse


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.txt", ["a.txt", "a/b.txt", "a.txt/"], ["a.txt.gz", "txt"]),
        ("/*.txt", ["a.txt"], ["a/b.txt"]),
        ("a/", ["a/", "b/a/"], ["a", "a/b"]),
        ("a/*", ["a/b", "a/b/"], ["a/b/c", "b/a/c", "a"]),
        ("a/**", ["a/b", "a/b/c"], ["a/", "b/a/c"]),
        ("**/a", ["a", "x/y/a"], ["xa", "a/b"]),
        ("a/**/b", ["a/b", "a/x/y/b"], ["ab", "a/xb", "x/a/b"]),
        ("a?c", ["abc", "x/a.c"], ["ac", "abbc"]),
        ("[a-c]x", ["bx"], ["dx", "x"]),
        ("[!a-c]x", ["dx"], ["bx", "x"]),
        ("[]x]", ["]", "x"], ["[]x]"]),
        ("[[:digit:]]", ["7"], ["d", "x"]),
        ("a\\*", ["a*"], ["ab"]),
        ("\\!a", ["!a"], ["a"]),
        ("a\\ ", ["a "], ["a"]),
        ("a  ", ["a"], ["a "]),
        ("[a", [], ["[a", "a"]),
        ("a\\", [], ["a", "a\\"]),
        ("é*", ["éx"], ["e"]),
    ],
)
def test_one_line(pattern: str, matching: list[str], other: list[str]) -> None:
    patterns = Patterns([pattern])
    assert [path for path in matching if not patterns.verdict(path)] == []
    assert [path for path in other if patterns.verdict(path) is not None] == []


def test_the_last_line_decides() -> None:
    patterns = Patterns(["*", "!*/", "!*.txt"])
    verdicts = {path: patterns.verdict(path) for path in ("a/", "a/b.log", "a/b.txt", "a/c/")}
    assert verdicts == {"a/": False, "a/b.log": True, "a/b.txt": False, "a/c/": False}


@pytest.mark.parametrize("line", ["", "   ", "# comment", "!", "/"])
def test_lines_that_say_nothing(line: str) -> None:
    assert parse(line) is None


def test_cover_asks_the_folders_above() -> None:
    patterns = Patterns(["docs/", "!docs/old/", "*.md"])
    assert patterns.cover("docs/a/b.txt")
    assert not patterns.cover("docs/old/b.txt")
    assert patterns.cover("docs/old/b.md")
    assert not patterns.cover("src/b.txt")
