"""Where lines begin: after "\\r\\n", "\\n" or "\\r", and nowhere else.

`str.splitlines` also ends lines at form feeds, U+2028 and others that editors, `grep -n` and compilers
do not count, so line numbers made with it point beside the target.
"""

from __future__ import annotations

import re
from itertools import pairwise

from search.records.documents import LineMap

_LINE_END = re.compile(r"\r\n|\n|\r")

# What str.splitlines, and with it docutils, would take for line ends on top of ours.
FALSE_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


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
