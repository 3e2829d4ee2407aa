"""Text: decoding, and the lines, headings and values that all formats share.

A file is decoded strictly, without replacement characters, or refused: as UTF-8, or else in the encoding that chardet
detects from a byte order mark, escape sequences, the file's own declaration, or its bytes.

Lines end at "\r\n", "\n" or "\r" only. `str.splitlines` also splits at form feeds, U+2028 and others, which editors,
`grep -n` and compilers do not count.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any

from search.corpus.sources import MAX_BYTES, Reason, file_stem
from search.errors import ReadError
from search.records.documents import DEEPEST, LineMap, ParsedDocument, Section

_LINE_END = re.compile(r"\r\n|\n|\r")
KEPT_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")

# Python neither reads nor writes numbers of more than 4,300 digits, unless they are hexadecimal.
_MOST_BITS = 10_000

# Characters of a heading, which is repeated in each passage below it. A file could consist of one long heading.
_LONGEST_HEADING = 500

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def line_starts(text: str) -> list[int]:
    """Return the offset of the first character of each line; [0] for an empty text.

    Example:
        >>> line_starts("a\r\nb\rc\n")
        [0, 3, 5, 7]
    """
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def line_map(text: str) -> LineMap:
    """Return the mapping from offsets to 1-based lines for a text that is the whole decoded file."""
    starts = array("I", line_starts(text))
    return LineMap(starts, range(1, len(starts) + 1))


def unix_lines(text: str) -> str:
    """Replace every line end with "\n": same number of lines, different offsets."""
    return _LINE_END.sub("\n", text)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its offset in the text, its level (1 is outermost) and its plain words."""

    start: int
    level: int
    words: str


def sections(headings: Iterable[Heading], start: int, end: int) -> tuple[Section, ...]:
    """Cut [start, end) at the headings, which are in order and inside it.

    The trail of a heading holds the nearest heading before it of each smaller level, each shortened to 500 characters.
    Levels may be missing (an h3 directly below an h1). A heading without words gets the trail of the headings above it.

    Returns:
        Consecutive sections from `start` to `end`; the first has an empty trail if any text (even blank) precedes the
        first heading.
    """
    parts: list[Section] = []
    above: list[Heading] = []
    opened, trail = start, tuple[str, ...]()
    for heading in headings:
        if heading.start > opened:
            parts.append(Section(opened, heading.start, trail))
        above = [other for other in above if other.level < heading.level] + [heading]
        opened = heading.start
        trail = tuple(other.words[:_LONGEST_HEADING] for other in above if other.words)
    if end > opened:
        parts.append(Section(opened, end, trail))
    return tuple(parts)


def one_line(words: str) -> str:
    """Collapse each run of whitespace to one space, for headings and titles."""
    return " ".join(words.split())


def json_values(value: Any, levels: int = DEEPEST) -> Any:
    """Return a copy of a value that JSON can represent: dates as ISO 8601, keys as strings.

    Raises:
        ValueError: a number has thousands of digits, or values are nested more than 50 levels deep.
    """
    if not levels:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ValueError("a number with too many digits")
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): json_values(item, levels - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(item, levels - 1) for item in value]
    return whole_characters(str(value))


def whole_characters(text: str) -> str:
    """Replace lone surrogates with U+FFFD; offsets do not change.

    JSON and YAML can contain half of a UTF-16 pair ("\\ud800"), which UTF-8 and tokenizers cannot represent.
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


def file_document(path: str, kind: str, text: str, title: str, **more: Any) -> ParsedDocument:
    """Build the document of a file from its text; the default title is the file name without suffix."""
    return ParsedDocument(
        path=path, kind=kind, text=text, title=title or file_stem(path), lines=line_map(text), **more
    )


# Valid in UTF-8, but signs of other encodings: the NULs of UTF-16 and UTF-32, and the escapes of ISO-2022.
_NOT_UTF8 = re.compile(rb"\0|\x1b[$(]")

_GZIP = b"\x1f\x8b"

_PRIVATE_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d+:)"
)

# Allowed in text: tab, line ends, form feed, vertical tab, backspace (overstruck manual pages) and
# escape (terminal colours in logs). U+0085 is a line end in some old encodings.
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_MOST_CONTROLS = 0.05
_SAMPLE = 2**16


def is_gzip(raw: bytes) -> bool:
    """Return True for the bytes of a gzip file."""
    return raw.startswith(_GZIP)


def unpacked(path: str, raw: bytes) -> bytes:
    """Return the bytes inside a gzip file; other bytes are returned unchanged.

    Raises:
        ReadError: "damaged"; "too large" for more than 64 MiB.
    """
    if not is_gzip(raw):
        return raw
    try:
        inside = gzip.GzipFile(fileobj=io.BytesIO(raw)).read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(path, Reason.DAMAGED, str(error)) from None
    if len(inside) > MAX_BYTES:
        raise ReadError(path, Reason.TOO_LARGE, f"more than {MAX_BYTES:,} bytes once unpacked")
    return inside


def decode(path: str, raw: bytes) -> str:
    """Unpack and decode the bytes of a file; errors as for `unpacked` and `decoded`."""
    return decoded(path, unpacked(path, raw))


def decoded(path: str, raw: bytes) -> str:
    """Decode bytes, and drop a byte order mark.

    Raises:
        ReadError: "secret" for a private key, "empty" for whitespace only, "binary" for data that is not text,
            "undecodable" for text in an unknown encoding.
    """
    if _PRIVATE_KEY.match(raw):
        raise ReadError(path, Reason.SECRET, "contains a private key")
    text = _utf8(raw) or _guessed(path, raw)
    if not text.replace("\ufeff", "").strip():
        raise ReadError(path, Reason.EMPTY)
    sample = text[:_SAMPLE]
    if "\0" in text or len(_CONTROLS.findall(sample)) > _MOST_CONTROLS * len(sample):
        raise ReadError(path, Reason.BINARY, "contains control characters")
    return text


def _utf8(raw: bytes) -> str:
    """Decode UTF-8; "" if the bytes are something else."""
    try:
        return "" if _NOT_UTF8.search(raw) else raw.decode("utf-8-sig")
    except UnicodeError:
        return ""


def _guessed(path: str, raw: bytes) -> str:
    """Decode with the encoding that the bytes declare, or else the most likely one."""
    import chardet

    guess = chardet.detect(raw, max_bytes=len(raw) + 1)
    if guess["encoding"] is None:
        raise ReadError(path, Reason.BINARY, str(guess["mime_type"] or "unknown text encoding"))
    try:
        return raw.decode(guess["encoding"])
    except UnicodeError:
        detail = f"detected as {guess['encoding']}, but some bytes are invalid in it"
        raise ReadError(path, Reason.UNDECODABLE, detail) from None
