"""Filters that nothing in an index can pass, because of a field's name or kind: what is wrong, in words."""

from __future__ import annotations

import difflib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from search.errors import InputError
from search.ranking.conditions import BUILT_IN, Comparison, Field, Where
from search.ranking.where import wrong
from search.ranking.where_compare import ORDERS, Scalar, Value, as_text, comparable, folded
from search.ranking.where_functions import COLUMNS, Conditions, Passes, found_under, is_scalar, leaves
from search.records.annotations import Annotator
from search.store.annotations import annotators

_LISTED, _EXAMPLES, _LONGEST = 20, 3, 40  # of fields and values that an error names


def require_sense(connection: sqlite3.Connection, where: Where, conditions: Conditions) -> None:
    """Raise InputError for a condition that nothing can pass because of its field's name or kind."""
    if not _some_document(connection, conditions.add(Field("title", (), 0), lambda _: True), "title"):
        return
    for leaf in leaves(where.condition):
        field = leaf.field
        if field.column != "metadata":
            continue
        annotator = conditions.annotator_of(field)
        anything = conditions.add(field, lambda _: True)
        if not annotator and not _some_document(connection, anything, "metadata"):
            raise wrong(where.text, field.at, _unknown(connection, field))
        if isinstance(leaf, Comparison) and leaf.operator in ORDERS:
            if not _some_value(connection, anything, annotator):
                continue  # an annotator that has found nothing yet
            (value,) = leaf.values
            if not _some_value(connection, conditions.add(field, _comparable_with(value)), annotator):
                raise _incomparable(connection, where, field, value, annotator)


def _comparable_with(value: Value) -> Passes:
    return lambda stored: is_scalar(stored) and comparable(stored, value)


def _some_document(connection: sqlite3.Connection, number: int, column: str) -> bool:
    sql = f"SELECT 1 FROM documents WHERE passes(?, {COLUMNS[column]}) LIMIT 1"
    return connection.execute(sql, (number,)).fetchone() is not None


def _some_value(connection: sqlite3.Connection, number: int, annotator: Annotator | None) -> bool:
    """Whether a document passes a condition on its metadata, or an annotation of an annotator does."""
    if _some_document(connection, number, "metadata"):
        return True
    if annotator is None:
        return False
    sql = 'SELECT 1 FROM annotations WHERE annotator = ? AND passes(?, "values") LIMIT 1'
    return connection.execute(sql, (annotator.name, number)).fetchone() is not None


def _unknown(connection: sqlite3.Connection, field: Field) -> str:
    names: dict[str, str] = {name: name for name in BUILT_IN}
    for (metadata,) in connection.execute("SELECT metadata FROM documents"):
        for name in _names(json.loads(metadata)):
            names.setdefault(folded(name), name)
    given = [field for one in annotators(connection) for field in one.fields]
    names |= {folded(name): name for name in given}
    near = difflib.get_close_matches(folded(field.name), names, n=3)
    if near:
        hint = "did you mean " + " or ".join(f"'{names[name]}'" for name in near) + "?"
    else:
        listed = sorted(names.values(), key=lambda name: (name not in BUILT_IN, folded(name)))
        more = f" and {len(listed) - _LISTED:,} more" if len(listed) > _LISTED else ""
        hint = "there are " + ", ".join(_short(name) for name in listed[:_LISTED]) + more
    return f"no document{' and no annotator' if given else ''} has a field '{_short(field.name)}'; {hint}"


def _names(value: Any, before: str = "") -> Iterator[str]:
    """The names of all fields in metadata."""
    if isinstance(value, list):
        for item in value:
            yield from _names(item, before)
    elif isinstance(value, dict):
        for key, inner in value.items():
            name = f"{before}.{key}" if before else key
            yield name
            yield from _names(inner, name)


def _incomparable(
    connection: sqlite3.Connection, where: Where, field: Field, value: Value, annotator: Annotator | None
) -> InputError:
    found: dict[Scalar, None] = {}
    stored = """SELECT metadata FROM documents
                UNION ALL SELECT "values" FROM annotations WHERE annotator = ?"""
    for (metadata,) in connection.execute(stored, (annotator.name if annotator else None,)):
        found.update(dict.fromkeys(filter(is_scalar, found_under(json.loads(metadata), field.parts))))
        if len(found) >= _EXAMPLES:
            break
    shown = ", ".join(f"'{_short(as_text(example))}'" for example in list(found)[:_EXAMPLES])
    kinds = {"number": value.number, "date": value.date}
    wanted = " or ".join(kind for kind, read in kinds.items() if read is not None) or "text"
    is_ = f"it is such as {shown}" if shown else "it holds other fields"
    who = "nothing" if annotator else "no document"
    return wrong(where.text, value.at, f"{who} has a {wanted} in the field '{field.name}'; {is_}")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
