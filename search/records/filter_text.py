"""Filters that a program gives as a mapping, as the text of the filter language (`search.ranking.where`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

from search.errors import InputError
from search.records.documents import field_in_filter

Filter: TypeAlias = str | Mapping[str, Any]
"""A filter as text, `colour=red and year>=2024`, or as a mapping: `{"colour": "red", "year": {">=": 2024}}`."""

_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", ":")
_TIMES = ("mtime", "date")


def filter_text(where: Filter | None) -> str | None:
    """Return a filter as text; None for None.

    All entries of a mapping must hold. A value is what the field is equal to; a list, what it may be equal to; None
    means that the document has no such field. A mapping has operators (=, !=, <, <=, >, >=, :) with their values. The
    keys "and" and "or" have lists of mappings, "not" has one. Texts are compared as texts (a number has its
    digits), numbers as numbers.

    Raises:
        InputError: a value or an operator that filters do not have.

    Example:
        >>> filter_text({"colour": ["red", "blue"], "year": {">=": 2024, "<": 2026}})
        "colour in ('red', 'blue') and year>=2024 and year<2026"
    """
    return where if where is None or isinstance(where, str) else " and ".join(_conditions(where))


def _conditions(where: Mapping[str, Any]) -> list[str]:
    """Return the conditions of a mapping, each as text that can be joined."""
    if not where:
        raise InputError(
            "the filter is an empty mapping. Leave it out, or write a condition: {'kind': 'pdf'}."
        )
    conditions: list[str] = []
    for name, value in where.items():
        if not isinstance(name, str):
            raise InputError(f"{name!r} in a filter is not the name of a field, which is a text.")
        if name in ("and", "or"):
            parts = [f"({filter_text(part)})" for part in _parts(name, value)]
            conditions.append(f"({f' {name} '.join(parts)})")
        elif name == "not":
            conditions.append(f"not ({filter_text(value)})")
        else:
            conditions += _of_field(name, value)
    return conditions


def _parts(name: str, value: Any) -> list[Any]:
    if isinstance(value, str | Mapping) or not value:
        raise InputError(f"'{name}' in a filter needs a list of filters.")
    return list(value)


def _of_field(name: str, value: Any) -> list[str]:
    field = ".".join(map(field_in_filter, name.split(".")))
    if value is None:
        return [f"not has {field}"]
    if isinstance(value, Mapping):
        if not value:
            raise InputError(f"the mapping of operators for the field '{name}' of a filter is empty.")
        if unknown := [operator for operator in value if operator not in _OPERATORS]:
            raise InputError(
                f"unknown operator {unknown[0]!r} for the field '{name}' of a filter. "
                f"Choose from: {', '.join(_OPERATORS)}."
            )
        return [f"{field}{operator}{_value(name, other)}" for operator, other in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        if not value:
            raise InputError(f"the list of values for the field '{name}' of a filter is empty.")
        return [f"{field} in ({', '.join(_value(name, item) for item in value)})"]
    return [f"{field}={_value(name, value)}"]


def _value(name: str, value: Any) -> str:
    """Return a value for the field `name`; texts are quoted, so that they are not taken for numbers or dates."""
    if getattr(value, "shape", None) == ():  # a scalar of NumPy
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, str):
        is_time = value and name.casefold() in _TIMES and not set(value) & set(" '\"(),")
        return value if is_time else "'" + value.replace("'", "''") + "'"
    raise InputError(
        f"{value!r} for the field '{name}' of a filter is neither a text, a finite number, a date, nor true or false."
    )
