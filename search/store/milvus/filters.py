"""Filters as expressions of a Milvus server, and what is stored of a passage for them.

Of the field F of a passage its JSON column `fields` holds, in plain letters and numbers alone, so that nothing that was
typed becomes part of an expression:

    "is"            marks: hashes of a field and what one of its values is equal to
    "n0_F", "n1_F"  the least and the greatest of its numbers
    "d0_F", "d1_F"  the first end and the last beginning of its dates, in milliseconds
    "p_path", "g_name"  the path and the name of its file for patterns, spelled in letters and digits

What passes here passes in a folder's index. A field that no document has passes nothing, and is no error.
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
    Comparison,
    Condition,
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
    from search.records.documents import Document, Passage

_MILLISECOND = timedelta(milliseconds=1)
_SPELLED = str.maketrans("0123456789abcdef", "ABCDEFGHIJKLMNOP")
_SEPARATOR = "Q"  # of the parts of a path, which are spelled without it


def fields_of(document: Document, passage: Passage, size: int) -> dict[str, Any]:
    """`fields` of a passage."""
    values: dict[str, list[Any]] = {
        "path": [document.path],
        "name": [document.path.rpartition("/")[2]],
        "kind": [document.kind],
        "title": [document.title],
        "heading": [passage.heading],
        "page": [passage.page],
        "size": [size if size >= 0 else None],
    }
    made: dict[str, Any] = {"is": []}
    for name, value in flat(document.metadata):
        values.setdefault(_key(name), []).append(value)
        if is_something(value):
            made["is"] += [_mark(_key(above), "has") for above in _above(name)]
    for field, found in values.items():
        _add(made, field, found)
    parts = unicodedata.normalize("NFC", document.path).split("/")
    made["g_name"] = _letters(parts[-1])
    made["p_path"] = _SEPARATOR + "".join(_letters(part) + _SEPARATOR for part in parts)
    return made


def _above(name: str) -> Iterator[str]:
    """The names of the objects that a field is in."""
    while name := name.rpartition(".")[0]:
        yield name


def _add(made: dict[str, Any], field: str, values: list[Any]) -> None:
    """Put in what is compared of a field."""
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
        made[f"{kind}0_{field}"] = min(last for _, last in pairs)
        made[f"{kind}1_{field}"] = max(first for first, _ in pairs)
    made["is"] += sorted(marks)


def expression(where: Where) -> str:
    """A filter as an expression.

    Raises:
        InputError: naming what cannot be asked of a server.
    """

    def of(condition: Condition) -> str:
        if isinstance(condition, Joined):
            return "(" + f" {condition.word} ".join(map(of, condition.parts)) + ")"
        if isinstance(condition, Not):
            return f"(not {of(condition.part)})"
        return _comparison(where, condition)

    return of(where.condition)


def path_is(name: str) -> str:
    """The expression for the passages of a file."""
    return _any_of([_mark("path", "t", folded(name))])


def _comparison(where: Where, leaf: Comparison) -> str:
    column, operator, value = leaf.field.column, leaf.operator, (*leaf.values, None)[0]
    field = _key(leaf.field.name) if column == "metadata" else column
    if column == "mtime":
        raise _refused(where, leaf, "it does not know when files changed")
    if operator == "has" or value is None:
        return _any_of([_mark(field, "has")])
    if operator == ":":
        if column not in ("path", "name"):
            raise _refused(where, leaf, "patterns are for path and name alone")
        return (_path if column == "path" else _named)(where, leaf, value)
    if operator == "=":
        return _any_of(mark for value in leaf.values for mark in _equal(field, value))
    if value.number is None and value.date is None:
        raise _refused(where, leaf, "it orders numbers and dates alone")
    return _or(_ordered(field, operator, value))


def _equal(field: str, value: Value) -> Iterator[str]:
    yield _mark(field, "t", value.folded)
    if value.number is not None:
        yield _mark(field, "n", float(value.number))
    if value.date is not None:
        yield _mark(field, "d", list(_prefixes(*value.date))[-1])


def _ordered(field: str, operator: str, value: Value) -> Iterator[str]:
    """That the first end of all values is before a moment, or their last beginning behind it."""
    side = int(operator[0] == ">")
    if value.number is not None:
        yield _stored(f"n{side}_{field}", operator, repr(float(value.number)))
    if value.date is not None:
        end = value.date[operator in (">", "<=")] // _MILLISECOND
        yield _stored(f"d{side}_{field}", operator, str(end))


def _named(where: Where, leaf: Comparison, value: Value) -> str:
    """That the name of a file fits a pattern without slashes."""
    literal, front, back = _stars(where, leaf, unicodedata.normalize("NFC", value.text))
    return _like("g_name", "%" * front + _letters(literal) + "%" * back)


def _path(where: Where, leaf: Comparison, value: Value) -> str:
    """That a path, or a folder above it, is matched, as .gitignore has it."""
    glob = unicodedata.normalize("NFC", value.text)
    anywhere, is_folder = "/" not in glob.rstrip("/"), re.search(r"/\*{0,2}$", glob)
    *folders, last = re.sub(r"/\*{0,2}$", "", glob).removeprefix("/").split("/")
    literal, front, back = _stars(where, leaf, last)
    if not last or (front and not anywhere) or re.search(r"[*?\[\\]", "".join(folders)):
        raise _refused(where, leaf, "write such a pattern as NAME, *.EXT or FOLDER/**")
    within = _SEPARATOR + "".join(_letters(part) + _SEPARATOR for part in folders)
    spelled = "%" * front + _letters(literal) + "%" * back + _SEPARATOR
    return _like("p_path", "%" * anywhere + within + spelled + (f"%{_SEPARATOR}" if is_folder else "%"))


def _stars(where: Where, leaf: Comparison, glob: str) -> tuple[str, bool, bool]:
    """What is between the stars of a pattern, and whether there is one before and behind it."""
    front, back = glob.startswith("*"), glob.endswith("*") and not glob.endswith("\\*")
    inner = glob.strip("*") if back else glob.lstrip("*")
    literal = re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL)
    if re.search(r"(?<!\\)[*?\[]", inner):
        raise _refused(where, leaf, "a pattern can have '*' at its beginning and end alone")
    return literal, front, back


def _stored(key: str, operator: str, literal: str) -> str:
    return f'(exists fields["{key}"] and fields["{key}"] {operator} {literal})'


def _like(key: str, pattern: str) -> str:
    return _stored(key, "like", '"' + re.sub("%+", "%", pattern) + '"')


def _any_of(marks: Iterable[str]) -> str:
    listed = ", ".join(f'"{mark}"' for mark in sorted(set(marks)))
    return f'json_contains_any(fields["is"], [{listed}])'


def _or(parts: Iterable[str]) -> str:
    return "(" + " or ".join(dict.fromkeys(parts)) + ")"


def _refused(where: Where, leaf: Comparison, why: str) -> InputError:
    typed = leaf.field.name + leaf.operator + "".join(value.text for value in leaf.values[:1])
    return wrong(
        where.text, leaf.field.at, f"'{typed}' cannot be asked of an index on a Milvus server: {why}."
    )


def _key(name: str) -> str:
    """What a field of metadata is called in `fields`."""
    return "m" + hashlib.blake2b(folded(name).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _mark(field: str, *what: Any) -> str:
    return hashlib.blake2b(json.dumps([field, *what]).encode(), digest_size=8).hexdigest()


def _prefixes(first: timedelta, last: timedelta) -> Iterator[str]:
    """The year, month, day, minute, second and microsecond that a date lies in, as far as it says them."""
    text = (datetime.min + first).isoformat(timespec="microseconds") + "Z"
    for end in (4, 7, 10, 16, 19, 26):
        prefix = text[:end]
        span = as_date(prefix)
        if span is None or span[1] < last:
            return
        yield prefix


def _letters(text: str) -> str:
    """A text in plain letters and digits, so that one is within another as the texts are."""
    return re.sub(r"[^a-z0-9]", lambda match: f"X{ord(match[0]):x}".translate(_SPELLED) + "Z", text)
