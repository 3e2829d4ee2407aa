"""Text of files for agents: without what people do not see, such as comments and invisible characters.

A file may come from somebody else, and an agent's model may take its text for instructions. What people see, they can
judge; the rest is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from search.records.contents import DocumentText
from search.records.hits import Hit
from search.render.format import without_invisible

_FILLER = "\u200b"  # invisible, so `seen` drops it
_NO_LINE_END = re.compile(r"[^\r\n]")


def seen(value: Any) -> Any:
    """Return a JSON value without the invisible characters of its texts."""
    if isinstance(value, str):
        return without_invisible(value)
    if isinstance(value, dict):
        return {seen(name): seen(item) for name, item in value.items()}
    return [seen(item) for item in value] if isinstance(value, list) else value


def commented_out(hit: Hit) -> str:
    """Return the text of a hit with its comments blanked, as `document_text` does."""
    return _blanked(hit.text, hit.hidden)


def document_text(document: DocumentText, text: str) -> str:
    """Blank the HTML comments in the text of a document: offsets and line breaks stay, `seen` drops the rest.

    Comments in code are kept: the index does not hide them, because people see them.

    Args:
        text: `document.text`, or the text of its file, which has the same offsets.
    """
    hidden = [
        (passage.start + start, passage.start + end)
        for passage in document.passages
        for start, end in passage.hidden
    ]
    return _blanked(text, [*hidden, *((gap.start, gap.end) for gap in document.gaps)])


def _blanked(text: str, hidden: Iterable[tuple[int, int]]) -> str:
    """Blank the comments that begin in a hidden span."""
    spans, pieces, done = sorted(hidden), [], 0
    at = text.find("<!--")
    while at >= 0:
        before = bisect_right(spans, (at, len(text))) - 1
        end = at + 4
        if before >= 0 and spans[before][1] > at:
            close = text.find("-->", end - 2)
            end = close + 3 if close >= 0 else len(text)
            pieces += [text[done:at], _NO_LINE_END.sub(_FILLER, text[at:end])]
            done = end
        at = text.find("<!--", end)
    return "".join((*pieces, text[done:]))
