"""What the values in a filter mean: when a stored value compares with one that was typed.

A typed value without quotes is a number if it looks like one, a date if it looks like one ("2024" is
both), else text; in quotes it is text. A stored text that looks like a number or a date counts as such too,
because cells of CSV files and fields of headers are always text.

    numbers    by their size: 8, 08 and 8.0 are equal
    dates      ISO 8601, or English such as 5-Jul-2001 where stored. What is typed may be partial and then
               stands for all of that year, month, day, hour or minute: date=2024 is any day of it, date>2024
               begins with 2025. Zones count where both have one, else both are taken as they are written
    text       in any case of letters; "<" orders by code points
    yes or no  the words true and false

Two values of different kinds do not compare, which makes every operator false but "!=".
"""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

Scalar = str | int | float | bool
Test = Callable[[Scalar], bool]

_Holds = Callable[[Any, Any], bool]

ORDERS: dict[str, _Holds] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_LONGEST_NUMBER = 100
_ISO = re.compile(
    r"\s*([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?\s*(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
    r")?)?\s*"
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAY_MONTH_YEAR = re.compile(r"\s*(?:[A-Za-z]{3,9},?\s+)?([0-9]{1,2})[ -]([A-Za-z]{3,9})[ -]([0-9]{4})\s*")
_MONTH_DAY_YEAR = re.compile(r"\s*([A-Za-z]{3,9})\s+([0-9]{1,2}),?\s+([0-9]{4})\s*")


@dataclass(frozen=True)
class Date:
    """A date, or as much of it as is known.

    Attributes:
        parts: year, month, day, hour, minute, second, microsecond; at least the year.
        offset: minutes from UTC; None if that is not said.
    """

    parts: tuple[int, ...]
    offset: int | None = None

    def in_utc(self) -> Date:
        if not self.offset:
            return self
        full = (*self.parts, 0, 0)[:7]
        moved = datetime(*full) - timedelta(minutes=self.offset)  # type: ignore[arg-type]
        parts = (
            moved.year,
            moved.month,
            moved.day,
            moved.hour,
            moved.minute,
            moved.second,
            moved.microsecond,
        )
        return Date(parts[: len(self.parts)], 0)


@dataclass(frozen=True)
class Value:
    """A value as it was typed, and where it stands in the filter, from 0."""

    text: str
    quoted: bool
    at: int = 0

    @cached_property
    def number(self) -> int | float | None:
        return None if self.quoted else as_number(self.text)

    @cached_property
    def date(self) -> Date | None:
        return None if self.quoted else as_date(self.text)

    @property
    def is_no_date(self) -> bool:
        """Whether it is written as a date that no calendar has, such as 2023-02-30."""
        is_written_so = not self.quoted and self.number is None and _ISO.fullmatch(self.text) is not None
        return is_written_so and self.date is None


def comparing(comparison: str, value: Value) -> Test:
    """What tells whether a stored value compares with a typed one: by "=", "<", "<=", ">", ">=" or ":"."""
    if comparison == ":":
        return pattern(value.text)
    if comparison == "=":
        return lambda stored: _equal(stored, value)
    holds = ORDERS[comparison]
    return lambda stored: _ordered(stored, value, holds)


def comparable(stored: Scalar, value: Value) -> bool:
    """Whether a stored value is of a kind that can be more or less than a typed one."""
    if value.number is not None and as_number(stored) is not None:
        return True
    if value.date is not None and as_date(stored) is not None:
        return True
    return value.number is None and value.date is None and isinstance(stored, str)


def _equal(stored: Scalar, value: Value) -> bool:
    if value.number is not None and (number := as_number(stored)) is not None:
        return number == value.number
    if value.date is not None and (date := as_date(stored)) is not None:
        return _compared(date, value.date, operator.eq)
    return folded(as_text(stored)) == folded(value.text)


def _ordered(stored: Scalar, value: Value, holds: _Holds) -> bool:
    if value.number is not None and (number := as_number(stored)) is not None:
        return holds(number, value.number)
    if value.date is not None and (date := as_date(stored)) is not None:
        return _compared(date, value.date, holds)
    if value.number is not None or value.date is not None or not isinstance(stored, str):
        return False
    return holds(folded(stored), folded(value.text))


def _compared(stored: Date, typed: Date, holds: _Holds) -> bool:
    if stored.offset is not None and typed.offset is not None:
        stored, typed = stored.in_utc(), typed.in_utc()
    known = min(len(stored.parts), len(typed.parts))
    a, b = stored.parts[:known], typed.parts[:known]
    if a == b and len(stored.parts) < len(typed.parts):
        return False  # "2024" is stored and "2024-05" typed: nobody can tell
    return holds(a, b)


def as_text(stored: Scalar) -> str:
    """A stored value as JSON would write it, without quotes."""
    if isinstance(stored, bool):
        return "true" if stored else "false"
    return stored if isinstance(stored, str) else repr(stored)


def as_number(stored: Scalar) -> int | float | None:
    """A number, or a text that looks like one; None for all else."""
    if isinstance(stored, bool):
        return None
    if not isinstance(stored, str):
        return stored
    if len(stored) > _LONGEST_NUMBER or not _NUMBER.fullmatch(stored):
        return None
    try:
        return int(stored)
    except ValueError:
        found = float(stored)
        return found if math.isfinite(found) else None


def as_date(stored: Scalar) -> Date | None:
    """A text that looks like a date; None for all else."""
    if not isinstance(stored, str):
        return None
    found = _ISO.fullmatch(stored)
    if found is None:
        return _english_date(stored)
    *numbers, fraction, zone = found.groups()
    parts = [int(number) for number in numbers if number is not None]
    if fraction is not None:
        parts.append(int(f"{fraction:0<6}"[:6]))
    offset = None
    if zone in ("Z", "z"):
        offset = 0
    elif zone is not None:
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = int(f"{zone[0]}1") * (60 * int(digits[:2]) + int(digits[2:]))
    return _valid(Date(tuple(parts), offset))


def _english_date(stored: str) -> Date | None:
    if found := _DAY_MONTH_YEAR.fullmatch(stored):
        day, month, year = found.groups()
    elif found := _MONTH_DAY_YEAR.fullmatch(stored):
        month, day, year = found.groups()
    else:
        return None
    if month[:3].lower() not in _MONTHS:
        return None
    return _valid(Date((int(year), _MONTHS.index(month[:3].lower()) + 1, int(day))))


def _valid(date: Date) -> Date | None:
    """None for a date that no calendar has, or that none has in UTC."""
    try:
        datetime(*(*date.parts, 1, 1)[: max(3, len(date.parts))])  # type: ignore[arg-type]
        date.in_utc()
    except (ValueError, OverflowError):
        return None
    return date


def pattern(glob: str) -> Test:
    """What tells whether whole words of a stored value fit a pattern: "*" any characters, "?" one.

    A backslash takes the next character as it is. Where the pattern begins or ends with a letter or digit, a
    word has to begin or end there: "rotat*" fits "How to rotate keys", and "tat*" does not. As all pieces
    between stars have fixed lengths, the first place where one fits leaves the most room for the
    others, so a long value takes no longer than one search for each piece.
    """
    pieces: list[list[str]] = [[]]
    for part in re.findall(r"\\.|.", folded(glob), re.DOTALL):
        if part == "*":
            pieces.append([])
        else:
            pieces[-1].append("." if part == "?" else re.escape(part[-1]))
    if pieces[0] and re.match(r"\w", pieces[0][0].removeprefix("\\")):
        pieces[0].insert(0, r"(?<!\w)")
    if pieces[-1] and re.match(r"\w", pieces[-1][-1].removeprefix("\\")):
        pieces[-1].append(r"(?!\w)")
    regexes = [re.compile("".join(piece), re.DOTALL) for piece in pieces]

    def fits(stored: Scalar) -> bool:
        text, at = folded(as_text(stored)), 0
        for regex in regexes:
            found = regex.search(text, at)
            if found is None:
                return False
            at = found.end()
        return True

    return fits


def folded(text: str) -> str:
    """`text` as it is compared: without differences of case, accented letters in one form."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
