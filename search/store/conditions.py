"""Trees of conditions, which represent filters; and functions that compare a stored value with a condition.

`search.ranking.where` parses text to a tree; `search.store.filters` finds the passages that pass the filter.

A value typed without quotes is a number or a date if it looks like one ("2024" is both), else text; a quoted value is
text. A stored text that looks like a number or a date counts as one, too, because cells of CSV files and header fields
are always text.

    numbers    by value: 8, 08 and 8.0 are equal
    dates      ISO 8601, in UTC unless an offset is given. A partial date covers the whole year, month, day, minute or
               second: date=2024 is any day of 2024, date>2024 starts with 2025
    text       ignoring case; "<" orders by code points
    yes or no  the words true and false

Values of different kinds cannot be compared: every operator except "!=" is then false.
"""

from __future__ import annotations

import calendar
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeAlias

from search.errors import InputError

Scalar: TypeAlias = "str | int | float | bool"
Test: TypeAlias = Callable[[Any], bool]

# First and last value, both included: equal for a number or text; for a date, its first and last microsecond.
_Range: TypeAlias = tuple[Any, Any]

_HOLDS: dict[str, Callable[[_Range, _Range], bool]] = {
    "=": lambda stored, typed: typed[0] <= stored[0] and stored[1] <= typed[1],
    "<": lambda stored, typed: stored[1] < typed[0],
    "<=": lambda stored, typed: stored[1] <= typed[1],
    ">": lambda stored, typed: stored[0] > typed[1],
    ">=": lambda stored, typed: stored[0] >= typed[0],
}

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_MAX_NUMBER_LENGTH = 100
_DATE = re.compile(
    r"\s*([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?\s*([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
    r")?)?\s*"
)

# Characters of a long filter that a message shows before and after the error.
_BEFORE, _AFTER = 60, 30


@dataclass(frozen=True)
class Value:
    """A value in a filter, with its position in the filter's text, from 0."""

    text: str
    quoted: bool
    at: int = 0

    @cached_property
    def number(self) -> int | float | None:
        return None if self.quoted else as_number(self.text)

    @cached_property
    def date(self) -> tuple[timedelta, timedelta] | None:
        return None if self.quoted else as_date(self.text)

    @cached_property
    def folded(self) -> str:
        return folded(self.text)


@dataclass(frozen=True)
class Field:
    """The field of a condition.

    Attributes:
        column: one of `BUILT_IN_FIELDS`, "metadata", or "document": the ID, for a topic of the map.
        parts: for a field of metadata, its name as typed, split at the dots.
        at: position of the field in the filter's text, from 0.
    """

    column: str
    parts: tuple[str, ...]
    at: int

    @property
    def name(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class FieldComparison:
    """A leaf of the tree: a comparison of a field with values; true if one of them matches.

    Attributes:
        operator: "=", "<", "<=", ">", ">=" or ":"; or "has", which tests that the field is not empty.
        values: a single value; several for "=", none for "has".
    """

    field: Field
    operator: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Not:
    part: Condition


@dataclass(frozen=True)
class Joined:
    """Conditions joined by `word`: "and" (all must be true) or "or" (at least one)."""

    word: str
    parts: tuple[Condition, ...]


Condition: TypeAlias = "FieldComparison | Not | Joined"


@dataclass(frozen=True)
class Where:
    """A filter: its text and its condition."""

    text: str
    condition: Condition


def comparisons(condition: Condition) -> Iterator[FieldComparison]:
    """Yield the leaves of a tree, from left to right."""
    if isinstance(condition, FieldComparison):
        yield condition
    else:
        for child in condition.parts if isinstance(condition, Joined) else (condition.part,):
            yield from comparisons(child)


def wrong(text: str, at: int, problem: str, kind: type[InputError] = InputError) -> InputError:
    """Return the error for a problem at a position of a filter (from 0): the problem, an excerpt and a caret."""
    start, end = max(0, at - _BEFORE), at + _AFTER
    before, after = "..." if start else "", "..." if end < len(text) else ""
    visible = "".join(character if character.isprintable() else " " for character in text[start:end])
    excerpt = before + visible + after
    caret = " " * (len(before) + at - start) + "^"
    return kind(f"in the filter, column {at + 1}: {problem}\n  {excerpt}\n  {caret}")


def comparing(operator: str, value: Value) -> Test:
    """Return a function that compares a stored value with the typed `value`; the operator is any except "has"."""
    if operator == ":":
        return pattern(value.text)
    holds = _HOLDS[operator]

    def test(stored: Scalar) -> bool:
        ranges = comparable(stored, value)
        if ranges:
            return holds(*ranges)
        return operator == "=" and folded(as_text(stored)) == value.folded

    return test


def comparable(stored: Scalar, value: Value) -> tuple[_Range, _Range] | None:
    """Return a stored and a typed value as two ranges that can be compared; None if they differ in kind."""
    if value.number is not None and (number := as_number(stored)) is not None:
        return (number, number), (value.number, value.number)
    if value.date is not None and (date := as_date(stored)) is not None:
        return date, value.date
    if value.number is None and value.date is None and isinstance(stored, str):
        return (folded(stored), folded(stored)), (value.folded, value.folded)
    return None


def as_text(stored: Scalar) -> str:
    """Return a stored value as JSON writes it, without quotes."""
    if isinstance(stored, bool):
        return "true" if stored else "false"
    return stored if isinstance(stored, str) else repr(stored)


def as_number(stored: Scalar) -> int | float | None:
    """Convert a number, or a text that looks like a number; return None for all other values."""
    if isinstance(stored, bool):
        return None
    if not isinstance(stored, str):
        return stored
    if len(stored) > _MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(stored):
        return None
    try:
        return int(stored)
    except ValueError:
        number = float(stored)
        return number if math.isfinite(number) else None


def as_date(stored: Scalar) -> tuple[timedelta, timedelta] | None:
    """Return the first and last microsecond of a date, as time since the start of the year 1 in UTC.

    None if the value is not a date.
    """
    match = _DATE.fullmatch(stored) if isinstance(stored, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    clock = (int(hour or 0), int(minute or 0), int(second or 0), int(f"{fraction or '':0<6}"[:6]))
    try:
        first = datetime(int(year), int(month or 1), int(day or 1), *clock)
    except ValueError:
        return None
    if month is None:
        length = timedelta(365 + calendar.isleap(first.year))
    elif day is None:
        length = timedelta(calendar.monthrange(first.year, first.month)[1])
    elif hour is None:
        length = timedelta(1)
    elif second is None:
        length = timedelta(minutes=1)
    else:
        length = timedelta(microseconds=1 if fraction else 1_000_000)
    begin = first - datetime.min - _offset(zone)
    return begin, begin + length - timedelta(microseconds=1)


def local_time(text: str) -> str:
    """Convert a time with a zone to local time without one; return any other text unchanged."""
    try:
        then = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", text))
        return then.astimezone().replace(tzinfo=None).isoformat() if then.tzinfo else text
    except (OverflowError, ValueError, OSError):
        return text


def _offset(zone: str | None) -> timedelta:
    """Offset of a time zone from UTC."""
    if zone is None or zone in "Zz":
        return timedelta()
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -offset if zone[0] == "-" else offset


def pattern(glob: str) -> Test:
    """Return a function that tests if a value contains words that match a pattern ("*": any characters, "?": one).

    A backslash escapes the next character. If the pattern begins or ends with a letter or digit, a word must begin or
    end there: "rotat*" matches "How to rotate keys", "tat*" does not. All pieces between stars have fixed lengths, so
    the first match of each piece leaves the most room for the next ones: one search per piece suffices.
    """
    pieces: list[list[str]] = [[]]
    for character in re.findall(r"\\.|.", folded(glob), re.DOTALL):
        if character == "*":
            pieces.append([])
        else:
            pieces[-1].append("." if character == "?" else re.escape(character[-1]))
    if pieces[0] and re.match(r"\w", pieces[0][0].removeprefix("\\")):
        pieces[0].insert(0, r"(?<!\w)")
    if pieces[-1] and re.match(r"\w", pieces[-1][-1].removeprefix("\\")):
        pieces[-1].append(r"(?!\w)")
    regexes = [re.compile("".join(piece), re.DOTALL) for piece in pieces]

    def fits(stored: Scalar) -> bool:
        text, at = folded(as_text(stored)), 0
        for regex in regexes:
            match = regex.search(text, at)
            if match is None:
                return False
            at = match.end()
        return True

    return fits


def folded(text: str) -> str:
    """Normalise a text for comparison: case-folded, accented letters in one form (NFC)."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
