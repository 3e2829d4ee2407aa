"""Times and sizes as they are typed in filters: "7d" is how long ago, "2MB" how many bytes."""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timedelta, timezone

from search.errors import InputError
from search.store.conditions import Comparison, Field, Value

_AGO = re.compile(r"(\d{1,5}) ?(h|hours?|d|days?|w|weeks?|months?|y|years?)", re.IGNORECASE)
_ZONED = re.compile(  # a time of day, its seconds, sign, hours and minutes of its zone
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d)?) ?(?:[Zz]|([+-])(\d\d):?(\d\d)?)"
)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)(B|([kMGT])(i?)B?)", re.IGNORECASE)

TIME = "a time is a date, such as 2024-05-01, or how long ago it was, such as 12h, 7d, 2w, 3months or 1y"


def changed_since(typed: str) -> Comparison:
    """The condition that a file changed at a time or later.

    Raises:
        InputError: that is no time.
    """
    value = as_time(Value(typed.strip(), False))
    if value.date is None:
        raise InputError(f"'{typed}' cannot be understood: {TIME}.")
    return Comparison(Field("mtime", ("mtime",), 0), ">=", (value,))


def as_time(value: Value) -> Value:
    """How long ago, as the date that it was, to the minute; a time with a zone in local time; others as they are."""
    match = None if value.quoted else _AGO.fullmatch(value.text)
    if match is None:
        return _local(value)
    count, unit, now = int(match[1]), match[2][0].lower(), datetime.now()
    try:
        if unit in "my":
            then = _months_before(now, count * (12 if unit == "y" else 1))
        else:
            then = now - count * {"h": timedelta(hours=1), "d": timedelta(1), "w": timedelta(7)}[unit]
    except (OverflowError, ValueError):
        then = datetime.min
    return Value(then.isoformat(timespec="minutes"), False, value.at)


def _local(value: Value) -> Value:
    """A time that names its zone, without it and in local time, as the times of files are; any other value as it is."""
    match = _ZONED.fullmatch(value.text.strip())
    if match is None:
        return value
    hours, minutes = (match[4] or "0"), (match[5] or "0")
    away = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if match[3] == "-" else 1)
    try:
        then = datetime.fromisoformat(match[1].replace("t", "T")).replace(tzinfo=timezone(away)).astimezone()
    except (OverflowError, ValueError, OSError):
        return value
    text = then.replace(tzinfo=None).isoformat(timespec="seconds" if match[2] else "minutes")
    return Value(text, value.quoted, value.at)


def as_bytes(value: Value) -> Value:
    """A size with a unit as a number of bytes; any other value as it is."""
    match = None if value.quoted else _SIZE.fullmatch(value.text)
    if match is None:
        return value
    power = "bkmgt".index((match[3] or "b").lower())
    size = float(match[1]) * (1024 if match[4] else 1000) ** power
    return Value(str(int(size)), False, value.at)


def _months_before(now: datetime, months: int) -> datetime:
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return now.replace(year=year, month=month + 1, day=min(now.day, last))
