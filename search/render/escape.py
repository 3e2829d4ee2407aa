"""Text from files, made harmless for a terminal.

A file may hold escape sequences that recolour, move or fake what a terminal shows, or bidirectional
overrides that reorder it. They are shown as visible codes instead.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape(text: str) -> str:
    """`text` with control characters, bidi controls and surrogates as codes; tab and line feed stay."""
    return _CONTROL.sub(_code, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`text` escaped, with every run of white space as one space."""
    return escape(" ".join(text.split()))


def _code(match: re.Match[str]) -> str:
    number = ord(match.group())
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file name that is no valid text (PEP 383)
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
