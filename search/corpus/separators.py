"""Plain text of many short records with the same line between them, such as sayings with "%" or notes with "---".

Each record is a passage of its own, so that none is cut in the middle, or joined with another one that says something
else; but records of a few words (`search.corpus.blocks`) are joined, as they would be useless as passages. Whether a
file is of this kind is decided by its regularity, not by its name.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import replace

from search.records.documents import ParsedDocument

_SEPARATOR = re.compile(r"^(%%?|---|\*\*\*|\* \* \*|~~~)[^\S\n]*$", re.MULTILINE)
_FEWEST = 5  # separators
_LONGEST_MEDIAN = 1_200  # characters of a record
_LARGEST_SHARE_OF_BLANKS = 0.1


def with_records(document: ParsedDocument) -> ParsedDocument:
    """Return a plain text with its records set apart, and its separators as markup; unchanged if it has none."""
    text = document.text
    lines = list(_SEPARATOR.finditer(text.replace("\r\n", " \n").replace("\r", "\n")))
    (kind, count), *_ = Counter(match[1] for match in lines).most_common(1) or [("", 0)]
    if count < _FEWEST:
        return document
    separators = [match.span() for match in lines if match[1] == kind]
    starts = [0, *(end for _, end in separators)]
    ends = [*(start for start, _ in separators), len(text)]
    spans = [(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]
    blanks = len(starts) - len(spans)
    if blanks > max(2, _LARGEST_SHARE_OF_BLANKS * len(starts)):
        return document
    if statistics.median(end - start for start, end in spans) > _LONGEST_MEDIAN:
        return document
    return replace(
        document,
        apart=[offset for span in spans for offset in span],
        marks=[offset for span in separators for offset in span],
        records=len(spans),
    )
