"""Plain text of entries: diaries, changelogs and chats.

A file is of this kind if it is regular enough, whatever its name:

    headings    lines of a date, or of a version, with the text of an entry below each. They become the headings of
                sections, so that every passage is encoded with its date or version
    messages    most lines, or paragraphs, begin with a time, and are prose, as logs are not. A conversation ends
                with a pause of an hour: messages that belong together stay together, since an answer may stand in the
                next one

Each entry or conversation is a passage of its own, or several if it is long; those of a few words are joined.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from search.records.documents import ParsedDocument, Section

_MOST_LINES = 500_000  # of a file; a list of more takes too much memory
_FEWEST = 5  # entries of a file, or times
_PAUSE = 60  # minutes

_DAY_OF_MONTH = r"\d{1,2}(?:st|nd|rd|th|\.|º)?"
_MONTH = r"[^\W\d_]{3,10}\.?"
_YEAR = r"(?:19|20)\d\d"
_NUMBERS = rf"{_YEAR}-\d\d?-\d\d?|{_YEAR}/\d\d?/\d\d?|\d\d?[./]\d\d?[./](?:{_YEAR}|\d\d)"
_WORDS = rf"(?:{_DAY_OF_MONTH} (?:de )?{_MONTH}|{_MONTH} {{1,2}}{_DAY_OF_MONTH})"
_OF_YEAR = rf",? (?:de )?{_YEAR}"
# "2024-03-01", "Sunday, 8 January 2023: the ridge", "== 3. Mai 2021 ==", "Tuesday, March 5"
_DATED = re.compile(
    rf"[=#*\[ ]{{0,4}}(?:(?:[^\W\d_]{{2,10}}\.?,? )?(?:{_NUMBERS}|{_WORDS}{_OF_YEAR})|[^\W\d_]{{4,10}},? {_WORDS})"
    r"[\])]?(?:\s*[:\u2013\u2014-]\s*[^\n]{1,60}|[ \t=#*.:]*)"
)
# "Version 2.4.1 (2024-08-30)", "exim4 (4.96-15) unstable; urgency=medium", "2024-01-02  Ann Other  <ann@example.org>"
_VERSION = re.compile(
    r"[=#*\[ ]{0,4}(?:[\w.+'-]{1,30} ){0,4}v?\d{1,4}(?:\.\d{1,4}){1,3}[\w.~+-]{0,20}\]?"
    r"(?:\s*[(,:\u2013\u2014-][^\n]{0,60}|[ \t=#*]*)"
    r"|[\w.+-]{2,40} \([^()\s]{1,60}\) [^\n]{0,40}; urgency=\w+"
    rf"|{_YEAR}-\d\d-\d\d  [^\n<>]{{2,60}}  ?<[^\n<>]{{3,60}}>"
)
_DAY = re.compile(rf"{_NUMBERS}|{_WORDS}(?:{_OF_YEAR})?")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\r?\n|\r[^\S\n]*\r")
_TIME = re.compile(
    r"(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::\d\d)?(?:[.,]\d{1,6})?(?:\s?([AaPp])\.?[Mm]\b)?"
)
_STAMP_FIRST = re.compile(r"[\[(<]?\d")
_LONGEST_HEADING = 100
_LONGEST_STAMP = 48  # characters of a line in which its time stands
_LARGEST_SHARE_OF_HEADINGS = 0.5
_SMALLEST_SHARE_OF_TIMES = 0.3
# Of five chats the least has 0.83, of 70 logs the most 0.80.
_SMALLEST_SHARE_OF_LETTERS = 0.82


def with_entries(document: ParsedDocument) -> ParsedDocument:
    """Return a plain text with its entries or conversations set apart; unchanged if it is no text of this kind."""
    if document.records or document.text.count("\n") > _MOST_LINES:
        return document
    lines = list(_lines(document.text))
    for pattern in (_DATED, _VERSION):
        if heads := _headings(document.text, lines, pattern):
            return _in_sections(document, heads)
    if starts := _conversations(document.text, lines):
        ends = [*starts[1:], len(document.text)]
        return replace(
            document,
            apart=[offset for span in zip(starts, ends, strict=True) for offset in span],
            records=len(starts),
        )
    return document


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each line that is not blank, without white space at its end."""
    for match in re.finditer(r"[^\r\n]+", text):
        if line := match[0].rstrip():
            yield match.start(), match.start() + len(line)


def _headings(text: str, lines: list[tuple[int, int]], pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the lines after a blank one that are dates or versions; none if few, or without text below them."""
    heads = [
        (start, end)
        for (_, before), (start, end) in pairwise([(0, 0), *lines])
        if end - start <= _LONGEST_HEADING
        and (not before or _BLANK_LINE.search(text, before, start))
        and pattern.fullmatch(text, start, end)
    ]
    is_regular = _FEWEST <= len(heads) <= _LARGEST_SHARE_OF_HEADINGS * len(lines)
    bare = sum(not text[end:start].strip() for (_, end), (start, _) in pairwise(heads))
    return heads if is_regular and bare <= len(heads) // 10 else []


def _in_sections(document: ParsedDocument, heads: list[tuple[int, int]]) -> ParsedDocument:
    """Return a document with a section for each entry, under its heading."""
    text, starts = document.text, [start for start, _ in heads]
    names = [text[start:end].strip(" \t=#*:") for start, end in heads]
    spans = list(zip(starts, [*starts[1:], len(text)], strict=True))
    first = (Section(0, starts[0]),) if text[: starts[0]].strip() else ()
    sections = (Section(start, end, (name,)) for (start, end), name in zip(spans, names, strict=True))
    return replace(
        document,
        sections=(*first, *sections),
        apart=[offset for span in spans for offset in span],
        records=len(heads),
    )


def _conversations(text: str, lines: list[tuple[int, int]]) -> list[int]:
    """Return the offsets at which conversations begin; none if times are few, or there is no pause."""
    stamps = [
        (start, match)
        for start, end in lines
        if (match := _TIME.search(text, start, min(end, start + _LONGEST_STAMP)))
        and _is_time_of_day(text, start, match)
    ]
    is_regular = len(stamps) >= max(_FEWEST, _SMALLEST_SHARE_OF_TIMES * len(lines))
    if not is_regular or not _is_prose(text, lines, stamps):
        return []
    moments = [(start, match.end(), *_moment(text, start, match)) for start, match in stamps]
    starts = [
        _start_of_message(text, before, start)
        for (_, before, day, minutes), (start, _, next_day, next_minutes) in pairwise(moments)
        if day != next_day or not 0 <= next_minutes - minutes < _PAUSE
    ]
    return [0, *starts] if len(starts) + 1 >= _FEWEST else []


def _is_prose(text: str, lines: list[tuple[int, int]], stamps: list[tuple[int, re.Match[str]]]) -> bool:
    """Return True if lines consist of letters beside their times, as those of a chat do, but not those of a log."""
    after_time = {start: match.end() for start, match in stamps}
    words = "".join(text[after_time.get(start, start) : end] for start, end in lines)
    letters = sum(c.isalpha() or c.isspace() or unicodedata.category(c)[0] == "M" for c in words)
    return letters >= _SMALLEST_SHARE_OF_LETTERS * len(words)


def _start_of_message(text: str, before: int, start: int) -> int:
    """Return where the message with a time in the line at `start` begins.

    If the line begins with the date and time, that is the line; else lines before it may have the name of the writer,
    so it is after the last blank line.

    Args:
        before: end of the time of the previous message.
    """
    if _STAMP_FIRST.match(text, start):
        return start
    ends = [blank.end() for blank in _BLANK_LINE.finditer(text, before, start)]
    return ends[-1] if ends else start


def _is_time_of_day(text: str, start: int, time: re.Match[str]) -> bool:
    """Return False for what is probably no time: "3:16" at the beginning of a line, without a date before it."""
    return len(time[1]) == 2 or bool(time[3]) or _DAY.search(text, start, time.start()) is not None


def _moment(text: str, start: int, time: re.Match[str]) -> tuple[str, int]:
    """Return the date before a time, as written, and the minutes since midnight."""
    day = _DAY.search(text, start, time.start())
    hours, half = int(time[1]), (time[3] or "").lower()
    hours = hours % 12 + 12 * (half == "p") if half else hours
    return day[0] if day else "", 60 * hours + int(time[2])
