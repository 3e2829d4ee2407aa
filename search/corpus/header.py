"""The header that may begin a reStructuredText file: its fields, and where it ends.

Two forms are known: RFC 2822 lines as in Python's PEPs ("Title: Assignment Expressions"), and a field
list (":Author: Ada"), which may also follow the document's title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_RFC2822 = re.compile(r"([!-9;-~]+):(?:[ \t]+(.*))?$")
_FIELD = re.compile(r":((?:[^:\\\s]|\\.)(?:[^:\\]|\\.|:(?!\s|$))*):(?:[ \t]+(.*))?$")

# One line "Note: such and such" is prose.
_FEWEST_RFC2822 = 2


def fields_at(lines: Sequence[str], first: int) -> tuple[dict[str, str], int]:
    """The header fields from line number `first` (from 0) on, and the number of the line after them.

    A field goes on in the indented lines below it; its lines are joined with a space. A field that
    comes twice keeps both values, one a line. The header ends at a blank line or the end of the file;
    without that it is prose, and ({}, first) is returned.

    Example:
        >>> fields_at(["PEP: 8", "Author: Guido,", "        Barry", "", "Text"], 0)
        ({'PEP': '8', 'Author': 'Guido, Barry'}, 3)
    """
    for pattern, fewest in ((_RFC2822, _FEWEST_RFC2822), (_FIELD, 1)):
        found, after = _fields(lines, first, pattern)
        ended = after == len(lines) or not lines[after].strip()
        if len(found) >= fewest and ended:
            return found, after
    return {}, first


def _fields(lines: Sequence[str], first: int, pattern: re.Pattern[str]) -> tuple[dict[str, str], int]:
    found: dict[str, str] = {}
    name, number = "", first
    for number in range(first, len(lines)):
        line = lines[number].rstrip()
        match = pattern.match(line)
        if match:
            name, value = match[1].strip(), (match[2] or "").strip()
            found[name] = f"{found[name]}\n{value}" if name in found else value
        elif name and line and line[0] in " \t":
            found[name] = f"{found[name]} {line.strip()}".strip()
        else:
            return found, number
    return found, len(lines)
