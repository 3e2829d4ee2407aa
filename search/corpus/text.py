"""Text: bytes to characters, and what the formats share of lines, headings and values.

A file is decoded strictly, without a single replacement, or refused: as UTF-8, or else in the encoding that chardet
finds by a byte order mark, by escape sequences, by what the file itself declares, or by the bytes.

Lines end at "\\r\\n", "\\n" or "\\r", and nowhere else. `str.splitlines` also ends them at form feeds, U+2028 and
others that editors, `grep -n` and compilers do not count, so line numbers made with it point beside the target.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any

from search.corpus.sources import Reason, file_stem
from search.errors import ReadError
from search.records.documents import DEEPEST, Document, LineMap, Section

_LINE_END = re.compile(r"\r\n|\n|\r")
KEPT_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")

# Python neither reads nor writes numbers of more than 4,300 digits, unless they are hexadecimal.
_MOST_BITS = 10_000

# Of a heading, as it is named above each passage below it. A file could have one that is as long as itself.
_LONGEST_HEADING = 500

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
    starts = array("I", line_starts(text))
    return LineMap(starts, range(1, len(starts) + 1))


def unix_lines(text: str) -> str:
    """`text` with every line end as "\\n": the same number of lines, other offsets."""
    return _LINE_END.sub("\n", text)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where it starts in the text, how deep it is (1 is outermost), and its plain words."""

    start: int
    level: int
    words: str


def sections(headings: Iterable[Heading], start: int, end: int) -> tuple[Section, ...]:
    """Cut [start, end) at the headings, which come in order and lie within it.

    A heading's trail holds the nearest heading before it of each smaller level, its first 500 characters. Levels
    may be left out (an h3 right under an h1), and a heading without words gets the trail of those above it.

    Returns:
        Sections that follow each other without a gap from `start` to `end`; the first has an empty
        trail if there is text (even blank) before the first heading.
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
    """`words` with every run of whitespace made one space, for headings and titles."""
    return " ".join(words.split())


def json_values(value: Any, levels: int = DEEPEST) -> Any:
    """A copy of a mapping that JSON can hold: dates as ISO 8601, keys as strings.

    Raises:
        ValueError: if it holds a number of thousands of digits, or is nested more than 50 deep.
    """
    if not levels:
        raise ValueError(f"nested more than {DEEPEST} deep")
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ValueError("a number of too many digits")
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
    """`text` with lone surrogates as U+FFFD.

    JSON and YAML can spell half a UTF-16 pair ("\\ud800"); it is no character, and neither UTF-8 nor
    a tokenizer can hold it. Every offset stays where it is.
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


def file_document(path: str, kind: str, text: str, title: str, **more: Any) -> Document:
    """The document of a file whose text is `text`, line by line; without a `title` the file's stem is it."""
    return Document(
        path=path, kind=kind, text=text, title=title or file_stem(path), lines=line_map(text), **more
    )


# UTF-8 would take these for characters: the NULs of UTF-16 and UTF-32, and the escapes of ISO-2022.
_NOT_UTF8 = re.compile(rb"\0|\x1b[$(]")

_PRIVATE_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d+:)"
)

# Allowed in text: tab, line ends, form feed, vertical tab, backspace (overstruck manual pages) and
# escape (terminal colours in logs). U+0085 is a line end in some old encodings.
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_MOST_CONTROLS = 0.05
_SAMPLE = 2**16


def decode(path: str, raw: bytes) -> str:
    """The text in `raw`, the bytes of the file at `path`, without a byte order mark.

    Raises:
        ReadError: "secret" for a private key, "empty" for nothing but whitespace, "binary" for bytes
            that are no text, "undecodable" for text in an unknown encoding.
    """
    if _PRIVATE_KEY.match(raw):
        raise ReadError(path, Reason.SECRET, "it begins with a private key")
    text = _utf8(raw) or _guessed(path, raw)
    if not text.replace("\ufeff", "").strip():
        raise ReadError(path, Reason.EMPTY)
    sample = text[:_SAMPLE]
    if "\0" in text or len(_CONTROLS.findall(sample)) > _MOST_CONTROLS * len(sample):
        raise ReadError(path, Reason.BINARY, "it holds control characters")
    return text


def _utf8(raw: bytes) -> str:
    """The bytes as UTF-8; "" where they are something else."""
    try:
        return "" if _NOT_UTF8.search(raw) else raw.decode("utf-8-sig")
    except UnicodeError:
        return ""


def _guessed(path: str, raw: bytes) -> str:
    """The bytes in the encoding that their mark or the file itself declares, or else that fits best."""
    import chardet

    guess = chardet.detect(raw, max_bytes=len(raw) + 1)
    if guess["encoding"] is None:
        raise ReadError(path, Reason.BINARY, str(guess["mime_type"] or "no encoding fits its bytes"))
    try:
        return raw.decode(guess["encoding"])
    except UnicodeError:
        detail = f"it looks like {guess['encoding']}, but some bytes are not"
        raise ReadError(path, Reason.UNDECODABLE, detail) from None
