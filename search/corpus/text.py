"""Text: bytes to characters, and what the formats share of lines, headings and values.

A file is decoded strictly, without a single replacement, or refused. In this order, the first that decodes every byte
wins: a byte order mark; ISO-2022 escape sequences (pure ASCII bytes, so UTF-8 would take them too); UTF-8; the encoding
that the file itself declares (HTML, XML, a coding cookie); chardet's guess, and nothing else if there are NUL bytes, as
in UTF-16 without a mark.

Lines end at "\\r\\n", "\\n" or "\\r", and nowhere else. `str.splitlines` also ends them at form feeds, U+2028 and
others that editors, `grep -n` and compilers do not count, so line numbers made with it point beside the target.
"""

from __future__ import annotations

import codecs
import math
import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any

from search.corpus.files import Reason, file_stem
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
        trail if text (even blank) stands before the first heading.
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
    """`words` with every run of whitespace made one space: a heading or title as it is shown."""
    return " ".join(words.split())


def json_values(value: Any, levels: int = DEEPEST) -> Any:
    """A copy of a mapping that JSON can hold: dates as ISO 8601, sets as lists, keys as strings.

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
    if isinstance(value, (set, frozenset)):
        return sorted((json_values(item, levels - 1) for item in value), key=str)
    return whole_characters(str(value))


def whole_characters(text: str) -> str:
    """`text` with lone surrogates as U+FFFD.

    JSON and YAML can spell half a UTF-16 pair ("\\ud800"); it is no character, and neither UTF-8 nor
    a tokenizer can hold it. Every offset stays where it is.
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


@dataclass(frozen=True)
class Decoded:
    """A file's characters, without the byte order mark, and the encoding they were read from."""

    text: str
    encoding: str

    def document(self, path: str, kind: str, title: str, **more: Any) -> Document:
        """The document of a file whose text this is, line by line; without a `title` the file's stem is it."""
        return Document(
            path=path,
            kind=kind,
            text=self.text,
            title=title or file_stem(path),
            lines=line_map(self.text),
            encoding=self.encoding,
            **more,
        )


# UTF-32's little-endian mark begins with UTF-16's, so it has to be tried first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_DECLARATIONS = (
    re.compile(rb"""\A\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]+)"""),
    re.compile(rb"""<meta\s[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE),
    re.compile(rb"\A(?:[^\r\n]*(?:\r\n|\r|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([\w.-]+)"),  # PEP 263
)
_DECLARED_WITHIN = 2048

# Python codecs that are no character sets, or that turn ASCII into something else behind one's back.
_NOT_DECLARABLE = "utf-7 unicode-escape unicode_escape raw-unicode-escape idna punycode undefined mbcs oem"

_ISO_2022 = re.compile(rb"\x1b(?:\$[@AB]|\$\([@ABCD]|\([BIJ]|\$\)[ACG])")
_ISO_2022_CODECS = "iso2022_jp iso2022_kr iso2022_jp_2 iso2022_jp_3 iso2022_jp_2004 iso2022_jp_ext"

_PRIVATE_KEY = re.compile(
    rb"\s*(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d+:)"
)

# Allowed in text: tab, line ends, form feed, vertical tab, backspace (overstruck manual pages) and
# escape (terminal colours in logs). U+0085 is a line end in some old encodings.
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_MOST_CONTROLS = 0.05
_SAMPLE = 2**16


def decode(path: str, raw: bytes) -> Decoded:
    """The text in `raw`, the bytes of the file at `path`.

    Raises:
        ReadError: "secret" for a private key, "empty" for nothing but whitespace, "binary" for bytes
            that are no text, "undecodable" for text in no encoding that could be told.
    """
    if _PRIVATE_KEY.match(_without_mark(raw[:200])):
        raise ReadError(path, Reason.SECRET, "it begins with a private key")
    decoded = _marked(raw)
    if decoded is None and b"\0" not in raw:  # to UTF-8 it would be a character like any other
        decoded = _escaped(raw) or _strictly(raw, "utf-8") or _declared(raw)
    decoded = decoded or _guessed(path, raw)
    _check(path, decoded.text)
    return decoded


def _check(path: str, text: str) -> None:
    if not text.replace("\ufeff", "").strip():
        raise ReadError(path, Reason.EMPTY)
    if "\0" in text:
        raise ReadError(path, Reason.BINARY, "it holds NUL characters")
    sample = text[:_SAMPLE]
    if len(_CONTROLS.findall(sample)) > _MOST_CONTROLS * len(sample):
        raise ReadError(path, Reason.BINARY, "it holds many control characters")


def _strictly(raw: bytes, encoding: str) -> Decoded | None:
    try:
        return Decoded(raw.decode(encoding), encoding)
    except (UnicodeError, LookupError):
        return None


def _without_mark(raw: bytes) -> bytes:
    return raw.removeprefix(codecs.BOM_UTF8)


def _first(
    raw: bytes, encodings: Iterable[str], accepts: Callable[[str], bool] = lambda text: True
) -> Decoded | None:
    """The text in the first of the encodings that all bytes are valid in and that gives a text to accept."""
    for encoding in encodings:
        decoded = _strictly(raw, encoding)
        if decoded is not None and accepts(decoded.text):
            return decoded
    return None


def _marked(raw: bytes) -> Decoded | None:
    decodings = (_strictly(raw[len(mark) :], encoding) for mark, encoding in _MARKS if raw.startswith(mark))
    return next(filter(None, decodings), None)


def _escaped(raw: bytes) -> Decoded | None:
    if not _ISO_2022.search(raw):
        return None
    # A codec that does not know an escape sequence may hand it on as it stands.
    return _first(raw, _ISO_2022_CODECS.split(), lambda text: "\x1b" not in text)


def _declared(raw: bytes) -> Decoded | None:
    head = _without_mark(raw[:_DECLARED_WITHIN])
    for declared in filter(None, (declaration.search(head) for declaration in _DECLARATIONS)):
        try:
            encoding = codecs.lookup(declared[1].decode("ascii", "replace")).name
        except LookupError:
            continue
        if encoding not in _NOT_DECLARABLE.split() and not encoding.startswith(("utf-16", "utf-32")):
            return _strictly(raw, encoding)
    return None


def _guessed(path: str, raw: bytes) -> Decoded:
    import chardet

    # chardet's own names, not the supersets it offers: on the 425 files of its test set the former
    # give the text that the file's maker meant 416 times, the latter 373 times.
    guess = chardet.detect(raw)
    if guess["encoding"] is None:
        if guess.get("mime_type") not in (None, "text/plain"):
            raise ReadError(path, Reason.BINARY, str(guess.get("mime_type")))
        raise ReadError(path, Reason.UNDECODABLE, "no encoding fits its bytes")
    names = [guess["encoding"]]
    # The guess rests on the first 200 kB; what follows may need the larger set of the same family.
    names.append(str(chardet.detect(raw, prefer_superset=True)["encoding"]))
    decoded = _first(raw, names)
    if decoded is None:
        raise ReadError(path, Reason.UNDECODABLE, f"it begins like {names[0]}, but some bytes are not")
    return Decoded(decoded.text, codecs.lookup(decoded.encoding).name)
