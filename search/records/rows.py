"""Rows of tables of other libraries (pandas, Arrow, polars) as mappings, without importing these libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Protocol

_METHODS = {"pandas": "to_dict", "pyarrow": "to_pylist", "polars": "to_dicts"}


class Table(Protocol):
    """A DataFrame of pandas or polars, or a table or record batch of Arrow."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


def is_table(value: object) -> bool:
    """Return True for a DataFrame of pandas or polars, and for a table or record batch of Arrow."""
    return (
        _library(value) in _METHODS
        and hasattr(value, "columns")
        and hasattr(value, _METHODS[_library(value)])
    )


def rows_of(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as mappings of JSON types; missing values (None, NaN, NaT) are left out."""
    library = _library(table)
    rows = table.to_dict("records") if library == "pandas" else getattr(table, _METHODS[library])()
    for row in rows:
        values = {str(name): _plain(value) for name, value in row.items()}
        yield {name: value for name, value in values.items() if value is not None}


def _library(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _plain(value: Any) -> Any:
    """Return a cell as a JSON type, dates as ISO 8601, arrays as lists; None if it is missing."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or value != value:  # NaN and NaT differ from themselves
        return None
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else value
