"""Haystack's filters, as `--where` takes them.

    {"field": "meta.lang", "operator": "==", "value": "en"}  ->  metadata."lang"="en"

A field is one of the metadata, of the annotations, or `title`, `heading`, `kind`, `page`. Values compare as
`search.store.conditions` says, which differs from Haystack's own comparing in this: letters in any case are equal,
a number that is stored as text is a number, of a list one element has to fit, a date without a time is all of its
day, and one without an offset is in UTC. What has no equal here is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from search.errors import InputError
from search.store.conditions import as_date

_FILTERED = ("title", "heading", "kind", "page")
_ORDERS = (">", ">=", "<", "<=")
_DAY, _SECOND = len("2024-05-01"), len("2024-05-01T10:20:30")


def where_of(filters: Mapping[str, Any]) -> str:
    """A filter of Haystack as text.

    Raises:
        InputError: it is malformed, or asks for what `--where` cannot say.
    """
    if "field" in filters:
        return _comparison(filters)
    operator, conditions = _required(filters, "operator"), _required(filters, "conditions")
    if operator not in ("AND", "OR", "NOT"):
        raise InputError(f"there is no logical operator '{operator}' in filters; there are AND, OR, NOT.")
    if not conditions:
        raise InputError(f"'conditions' is empty in the filter {dict(filters)}.")
    joined = (" or " if operator == "OR" else " and ").join(map(where_of, conditions))
    return f"not ({joined})" if operator == "NOT" else f"({joined})"


def _comparison(condition: Mapping[str, Any]) -> str:
    field, operator = _field(condition["field"]), _required(condition, "operator")
    value = _required(condition, "value")
    if operator not in _OPERATORS:
        raise InputError(f"there is no operator '{operator}' in filters; there are {', '.join(_OPERATORS)}.")
    return _OPERATORS[operator](field, value)


def _required(filters: Mapping[str, Any], key: str) -> Any:
    if key not in filters:
        raise InputError(f"'{key}' is missing in the filter {dict(filters)}.")
    return filters[key]


def _field(name: str) -> str:
    name = name.removeprefix("meta.")
    return name if name in _FILTERED else "metadata." + ".".join(map(_quoted, name.split(".")))


def _equal(field: str, value: Any) -> str:
    return f"not has {field}" if value is None else f"{field}={_value(value)}"


def _among(field: str, values: Any) -> str:
    if not isinstance(values, list):
        raise InputError(f"'in' and 'not in' take a list, not {values!r}.")
    typed = [_value(value) for value in values if value is not None]
    parts = [f"{field} in ({', '.join(typed)})"] * bool(typed) + [_equal(field, None)] * (None in values)
    return f"({' or '.join(parts)})" if parts else _never(field)


def _never(field: str) -> str:
    return f"(has {field} and not has {field})"


def _ordered(operator: str) -> Callable[[str, Any], str]:
    def compared(field: str, value: Any) -> str:
        if value is None:
            return _never(field)
        typed = _value(value, least=_DAY)
        if isinstance(value, bool) or typed.startswith('"'):
            raise InputError(f"'{operator}' compares numbers and dates (2024-05-01), not {value!r}.")
        return f"{field}{operator}{typed}"

    return compared


_OPERATORS: dict[str, Callable[[str, Any], str]] = {
    "==": _equal,
    "!=": lambda field, value: f"not {_equal(field, value)}",
    **{operator: _ordered(operator) for operator in _ORDERS},
    "in": _among,
    "not in": lambda field, value: f"not {_among(field, value)}",
}


def _value(value: Any, least: int = _SECOND) -> str:
    """A value as it is typed: a date of at least so many characters as such, every other text in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and math.isfinite(value):
        return repr(value)
    text = value.isoformat() if isinstance(value, datetime) else value
    if not isinstance(text, str):
        raise InputError(f"{value!r} cannot be filtered by: it is no text, number, date, yes or no.")
    return text.replace(" ", "T") if len(text) >= least and as_date(text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
