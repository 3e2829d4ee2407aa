"""Filters as expressions of a Milvus server, and the values that are stored with each passage for them.

The JSON column `fields` of a passage stores a field F under the following keys, in ASCII letters and numbers only, so
that text from the user never becomes part of an expression:

    "is"            hashes for tests of equality: of each field with its value, of each folder above the
                    file, and of each ending in its path, such as ".md"
    "n0_F", "n1_F"  minimum and maximum of its numbers
    "d0_F", "d1_F"  the earliest end and the latest start of its dates, in ms; 2024 lasts a whole year

A filter passes the same passages as in a local index. But an unknown field is not an error: it matches nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from search.store.conditions import (
    Condition,
    FieldComparison,
    Joined,
    Not,
    Value,
    Where,
    as_date,
    as_number,
    as_text,
    folded,
    wrong,
)
from search.store.filters import flat, is_scalar, is_something

if TYPE_CHECKING:
    from search.errors import InputError
    from search.records.documents import ParsedDocument, Passage

_MILLISECOND = timedelta(milliseconds=1)


def fields_of(document: ParsedDocument, passage: Passage, size: int) -> dict[str, Any]:
    """Build the value of the column `fields` for a passage."""
    values: dict[str, list[Any]] = {
        "path": [document.path],
        "name": [document.path.rpartition("/")[2]],
        "kind": [document.kind],
        "title": [document.title],
        "heading": [passage.heading],
        "page": [passage.page],
        "size": [size if size >= 0 else None],
    }
    fields: dict[str, Any] = {"is": []}
    for name, value in flat(document.metadata):
        values.setdefault(_key(name), []).append(value)
        if is_something(value):
            fields["is"] += [_mark(_key(above), "has") for above in _above(name)]
    for field, stored in values.items():
        _add(fields, field, stored)
    parts = unicodedata.normalize("NFC", document.path).split("/")
    fields["is"] += [_mark("path", "in", "/".join(parts[:depth])) for depth in range(1, len(parts))]
    fields["is"] += [_mark("path", "ends", ending) for part in parts for ending in _endings(part)]
    fields["is"] += [_mark("name", "ends", ending) for ending in _endings(parts[-1])]
    return fields


def _endings(name: str) -> Iterator[str]:
    """Yield the endings of a file name, each starting at a dot: ".tar.gz" and ".gz"."""
    return (name[dot.start() :] for dot in re.finditer(r"\.", name))


def _above(name: str) -> Iterator[str]:
    """Yield the names of the objects that contain a nested field: "a" and "a.b" for "a.b.c"."""
    while name := name.rpartition(".")[0]:
        yield name


def _add(fields: dict[str, Any], field: str, values: list[Any]) -> None:
    """Add the values of a field to `fields`."""
    marks = {_mark(field, "has")} if any(map(is_something, values)) else set[str]()
    ends: dict[str, list[tuple[Any, Any]]] = {}
    for value in filter(is_scalar, values):
        text, number, date = folded(as_text(value)), as_number(value), as_date(value)
        marks.add(_mark(field, "t", text))
        if number is not None:
            marks.add(_mark(field, "n", float(number)))
            ends.setdefault("n", []).append((float(number), float(number)))
        if date is not None:
            marks |= {_mark(field, "d", prefix) for prefix in _prefixes(*date)}
            ends.setdefault("d", []).append((date[0] // _MILLISECOND, date[1] // _MILLISECOND))
    for kind, pairs in ends.items():
        fields[f"{kind}0_{field}"] = min(last for _, last in pairs)
        fields[f"{kind}1_{field}"] = max(first for first, _ in pairs)
    fields["is"] += sorted(marks)


def expression(where: Where) -> str:
    """Translate a filter into an expression.

    Raises:
        InputError: the server cannot check a condition; the message names it.
    """

    def of(condition: Condition) -> str:
        if isinstance(condition, Joined):
            return "(" + f" {condition.word} ".join(map(of, condition.parts)) + ")"
        if isinstance(condition, Not):
            return f"(not {of(condition.part)})"
        return _comparison(where, condition)

    return of(where.condition)


def path_is(name: str) -> str:
    """Return the expression for the passages of a file."""
    return _any_of([_mark("path", "t", folded(name))])


def _comparison(where: Where, leaf: FieldComparison) -> str:
    column, operator, value = leaf.field.column, leaf.operator, (*leaf.values, None)[0]
    field = _key(leaf.field.name) if column == "metadata" else column
    if column in ("mtime", "dated"):
        raise _refused(where, leaf, "it stores no modification times")
    if column == "text":
        raise _refused(where, leaf, "it cannot search for phrases or exclude words. Leave that part out")
    if operator == "has" or value is None:
        return _any_of([_mark(field, "has")])
    if operator == ":":
        return _pattern(where, leaf, unicodedata.normalize("NFC", value.text))
    if operator == "=":
        return _any_of(mark for value in leaf.values for mark in _equal(field, value))
    if value.number is None and value.date is None:
        raise _refused(where, leaf, "it compares only numbers and dates")
    return _or(_ordered(field, operator, value))


def _equal(field: str, value: Value) -> Iterator[str]:
    yield _mark(field, "t", value.folded)
    if value.number is not None:
        yield _mark(field, "n", float(value.number))
    if value.date is not None:
        yield _mark(field, "d", list(_prefixes(*value.date))[-1])


def _ordered(field: str, operator: str, value: Value) -> Iterator[str]:
    """Yield the conditions for <, <=, > and >=: they compare the smallest or the largest value of a field."""
    side = int(operator[0] == ">")
    if value.number is not None:
        yield _stored(f"n{side}_{field}", operator, repr(float(value.number)))
    if value.date is not None:
        end = value.date[operator in (">", "<=")] // _MILLISECOND
        yield _stored(f"d{side}_{field}", operator, str(end))


def _pattern(where: Where, leaf: FieldComparison, glob: str) -> str:
    """Return the condition for a pattern: path:FOLDER/**, path:*.EXT or name:*.EXT; others are refused."""
    folder, ending = re.fullmatch(r"/?([^*?[\\]+)/\*\*?", glob), re.fullmatch(r"\*(\.[^*?[\\/]+)", glob)
    column = leaf.field.column
    if column == "path" and folder:
        return _any_of([_mark(column, "in", folder[1])])
    if column in ("path", "name") and ending:
        return _any_of([_mark(column, "ends", ending[1])])
    raise _refused(where, leaf, "use path:FOLDER/**, path:*.EXT or name:*.EXT")


def _stored(key: str, operator: str, literal: str) -> str:
    return f'(exists fields["{key}"] and fields["{key}"] {operator} {literal})'


def _any_of(marks: Iterable[str]) -> str:
    listed = ", ".join(f'"{mark}"' for mark in sorted(set(marks)))
    return f'json_contains_any(fields["is"], [{listed}])'


def _or(parts: Iterable[str]) -> str:
    return "(" + " or ".join(dict.fromkeys(parts)) + ")"


def _refused(where: Where, leaf: FieldComparison, why: str) -> InputError:
    typed = leaf.field.name + leaf.operator + "".join(value.text for value in leaf.values[:1])
    return wrong(
        where.text, leaf.field.at, f"an index on a Milvus server does not support '{typed}': {why}."
    )


def _key(name: str) -> str:
    """Return the name of a field of metadata in the column `fields`."""
    return "m" + hashlib.blake2b(folded(name).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _mark(field: str, *parts: Any) -> str:
    return hashlib.blake2b(json.dumps([field, *parts]).encode(), digest_size=8).hexdigest()


def _prefixes(first: timedelta, last: timedelta) -> Iterator[str]:
    """Yield the prefixes of a date, from the year to its full precision."""
    text = (datetime.min + first).isoformat(timespec="microseconds") + "Z"
    for end in (4, 7, 10, 16, 19, 26):
        prefix = text[:end]
        span = as_date(prefix)
        if span is None or span[1] < last:
            return
        yield prefix
