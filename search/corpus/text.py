"""Lines, headings and values of a text: what the formats share.

Lines end at "\\r\\n", "\\n" or "\\r", and nowhere else. `str.splitlines` also ends them at form feeds, U+2028 and
others that editors, `grep -n` and compilers do not count, so line numbers made with it point beside the target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from itertools import pairwise
from typing import Any

from search.records.documents import LineMap, Section

_LINE_END = re.compile(r"\r\n|\n|\r")

# What str.splitlines, and with it docutils, would take for line ends on top of ours.
FALSE_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"

# YAML's anchors let twenty lines stand for a billion values; nobody's metadata needs this many.
_MOST_VALUES = 100_000

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def line_starts(text: str) -> list[int]:
    """Offset of the first character of every line; [0] for an empty text.

    Example:
        >>> line_starts("a\\r\\nb\\rc\\n")
        [0, 3, 5, 7]
    """
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def line_map(text: str) -> LineMap:
    """The map of a text that is the decoded file itself: offset to 1-based line."""
    starts = line_starts(text)
    return LineMap(tuple(starts), tuple(range(1, len(starts) + 1)))


def unix_lines(text: str) -> str:
    """`text` with every line end as "\\n": the same number of lines, other offsets."""
    return _LINE_END.sub("\n", text)


def kept_lines(text: str) -> list[str]:
    """The lines of `text` with their ends: joined, they are `text` again. No empty one at the end.

    Example:
        >>> kept_lines("a\\r\\nb\\x0cc")
        ['a\\r\\n', 'b\\x0cc']
    """
    starts = line_starts(text)
    bounds = [*starts, len(text)] if starts[-1] < len(text) else starts
    return [text[first:last] for first, last in pairwise(bounds)]


@dataclass(frozen=True)
class Heading:
    """A heading: where it starts in the text, how deep it is (1 is outermost), and its plain words."""

    start: int
    level: int
    words: str


def sections(headings: Iterable[Heading], start: int, end: int) -> tuple[Section, ...]:
    """Cut [start, end) at the headings, which come in order and lie within it.

    A heading's trail holds the nearest heading before it of each smaller level. Levels may be left
    out (an h3 right under an h1), and a heading without words gets the trail of those above it.

    Returns:
        Sections that follow each other without a gap from `start` to `end`; the first has an empty
        trail if text (even blank) stands before the first heading.
    """
    parts: list[Section] = []
    above: list[Heading] = []
    opened, trail = start, tuple[str, ...]()
    for heading in headings:
        if heading.start > opened:
            parts.append(Section(opened, heading.start, trail))
        above = [other for other in above if other.level < heading.level] + [heading]
        opened, trail = heading.start, tuple(other.words for other in above if other.words)
    if end > opened:
        parts.append(Section(opened, end, trail))
    return tuple(parts)


def one_line(words: str) -> str:
    """`words` with every run of whitespace made one space: a heading or title as it is shown."""
    return " ".join(words.split())


def json_values(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy of `mapping` that JSON can hold: dates as ISO 8601, sets as lists, keys as strings.

    Raises:
        ValueError: if it holds more than 100,000 values.
        RecursionError: if it is nested too deeply, or holds itself.
    """
    copy: dict[str, Any] = _copied(mapping, iter(range(_MOST_VALUES)))
    return copy


def whole_characters(text: str) -> str:
    """`text` with lone surrogates as U+FFFD.

    JSON and YAML can spell half a UTF-16 pair ("\\ud800"); it is no character, and neither UTF-8 nor
    a tokenizer can hold it. Every offset stays where it is.
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


def _copied(value: Any, left: Iterator[int]) -> Any:
    if next(left, None) is None:
        raise ValueError(f"more than {_MOST_VALUES:,} values")
    if isinstance(value, str):
        return whole_characters(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): _copied(item, left) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item, left) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_copied(item, left) for item in value), key=str)
    return whole_characters(str(value))
