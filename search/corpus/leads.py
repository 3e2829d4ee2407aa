"""Lead-ins: the lines before a cut that introduce what follows, such as a term, a heading or "for example:".

A definition without its term, or a list without the sentence that introduces it, cannot be understood; so a passage
ends before its lead-in. The texts have no markup, so a term is recognised by its layout: a short line that begins a
paragraph, or with indented lines below it.
"""

from __future__ import annotations

import re

# Lines of a lead-in, for example a heading, a term in two forms, and a sentence.
_MOST_LINES = 4
_LONGEST_TERM = 80  # characters
_END = tuple(".!?…;,。！？；，")
_COLON = (":", "：")
_SENTENCE = re.compile(r"\n[^\S\n]*\n\s*|[.!?…][\"'”’)\]]*\s+|[。！？]\s*")
_SPACE = re.compile(r"\s*")


def lead_in(text: str, start: int, end: int) -> int:
    """Return the start of the lead-in at the end of [start, end); `end` if there is none.

    A lead-in is at most a third of the span.

    Example:
        >>> text = "Some text.\\n\\nKEY\\n   The secret key."
        >>> lead_in(text, 0, 16)
        12
    """
    floor = end - (end - start) // 3
    for _ in range(_MOST_LINES):
        begin = _begin(text, floor, end)
        if begin == end:
            break
        end = begin
    return end


def _begin(text: str, floor: int, end: int) -> int:
    """Return the start of the last line or sentence of [floor, end), if it is a lead-in; else `end`."""
    stop = floor + len(text[floor:end].rstrip())
    below = _SPACE.match(text, stop).end()  # type: ignore[union-attr]
    first = text.rfind("\n", 0, stop) + 1
    if stop == floor or "\n" not in text[stop:below]:
        return end
    if text.endswith(_COLON, floor, stop):
        return _sentence(text, floor, first, stop) or end
    return first if first >= floor and _is_term(text, first, stop, below) else end


def _sentence(text: str, floor: int, first: int, stop: int) -> int:
    """Return the start of the sentence, or line, that ends at `stop`; 0 if that is before `floor`."""
    if first >= floor and not text[first:stop].lstrip()[0].islower():
        return first
    starts = [match.end() for match in _SENTENCE.finditer(text, floor, stop)]
    if first >= floor:
        starts.append(first)
    return max((start for start in starts if start < stop), default=0)


def _is_term(text: str, first: int, stop: int, below: int) -> bool:
    """Return True if text[first:stop] is a term that the line at `below` defines, or its heading."""
    line, above = text[first:stop], text[text.rfind("\n", 0, max(first - 1, 0)) + 1 : first].rstrip()
    is_deeper = below - text.rfind("\n", 0, below) - 1 > _indent(line)
    if not above:
        is_shorter = len(line) <= min(_LONGEST_TERM, text.find("\n", below) % (len(text) + 1) - below)
        return is_deeper or (is_shorter and not line.endswith(_END))
    return is_deeper and _indent(above) > _indent(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
