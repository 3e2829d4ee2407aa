"""Filters as SQL: from a tree of conditions to the IDs of the passages that pass it.

"and", "or" and "not" become SQL, and so do conditions on kinds and pages. Text from the user is always a parameter,
never part of the SQL. Phrases are looked up in the postings.

Texts, paths and metadata are compared by the Python function `passes(number of the condition, column)`. SQLite's
functions do not suffice: lower() and LIKE only know ASCII letters, and the JSON functions match field names exactly,
round long numbers, and do not recognise numbers or dates in texts of CSV files.

A field of the same name may come from the document's metadata and from an annotator (`search.store.passages`); a
condition is true if a value of either matches. So does `language`, the ISO 639-1 code that was recognised.
"""

from __future__ import annotations

import difflib
import json
import os
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from search.corpus.patterns import Patterns
from search.errors import FieldMissing, InputError
from search.records.documents import BUILT_IN_FIELDS
from search.store.conditions import (
    Condition,
    Field,
    FieldComparison,
    Joined,
    Not,
    Scalar,
    Test,
    Where,
    as_date,
    comparing,
    comparisons,
    folded,
    local_time,
    wrong,
)
from search.store.database import has_table, one_meta
from search.store.passages import SnapshotReader, name_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# CROSS JOIN fixes the order: the conditions of a document are tested before its passages are read.
_TABLES = """files CROSS JOIN documents ON documents.file = files.id
             CROSS JOIN passages ON passages.document = documents.id"""
_COLUMNS = {
    "path": "files.path",
    "name": "files.path",
    "size": "nullif(files.size, -1)",
    "mtime": "modified(files.path, files.mtime_ns)",
    "dated": "coalesce(own_date(documents.metadata), modified(files.path, files.mtime_ns))",
    "kind": "documents.kind",
    "title": "documents.title",
    "metadata": "documents.metadata",
    "heading": "passages.heading",
    "page": "passages.page",
    "document": "documents.id",  # instead of topics of the map
}
_ANNOTATED = """EXISTS (SELECT 1 FROM annotations
                        WHERE passage = passages.id AND annotator = ? AND passes(?, annotations."values"))"""

LANGUAGE = "language"
"""Field of a document's language, beside a field of that name in its metadata."""
_IN_LANGUAGE = """EXISTS (SELECT 1 FROM languages
                          WHERE document = documents.id AND passes(?, json_object('language', lang)))"""

_MAX_NAMES, _MAX_NAME_LENGTH = 20, 40  # field names in an error, and characters of each


def passing(
    connection: sqlite3.Connection,
    where: Where,
    with_phrase: Callable[[str], NDArray[np.int64]],
    all_ids: Callable[[], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return the increasing IDs of the passages that pass a filter, within a read transaction.

    Args:
        with_phrase: returns the IDs of the passages that contain a phrase.
        all_ids: returns the IDs of all passages.

    Raises:
        InputError: the filter names a field that neither a document nor an annotator has.
    """

    def ids(condition: Condition) -> NDArray[np.int64]:
        if all(leaf.field.column != "text" for leaf in comparisons(condition)):
            return matching(connection, replace(where, condition=condition))
        if isinstance(condition, Joined):
            combine = np.intersect1d if condition.word == "and" else np.union1d
            return reduce(combine, map(ids, condition.parts))
        if isinstance(condition, Not):
            return np.setdiff1d(all_ids(), ids(condition.part), assume_unique=True)
        return with_phrase(condition.values[0].text)

    return ids(where.condition)


def matching(connection: sqlite3.Connection, where: Where) -> NDArray[np.int64]:
    """Return the increasing IDs of the passages that pass a filter; the filter must not contain phrases."""
    annotators = SnapshotReader(connection).annotators()
    annotated = {folded(field): annotator.name for annotator in annotators for field in annotator.fields}
    _require_fields(connection, where, annotated)
    query = _Query(annotated, has_table(connection, "languages"))
    sql = query.sql(where.condition)
    connection.create_function("passes", 2, query.passes, deterministic=True)
    if any(leaf.field.column in ("mtime", "dated") for leaf in comparisons(where.condition)):
        connection.create_function("modified", 2, partial(modified, one_meta(connection, "root")))
        connection.create_function("own_date", 1, lambda metadata: own_date(_loaded(metadata)))
    try:
        rows = connection.execute(f"SELECT passages.id FROM {_TABLES} WHERE {sql}", query.parameters)
        return np.sort(np.array([id_ for (id_,) in rows], dtype=np.int64))
    finally:
        for function, arguments in (("passes", 2), ("modified", 2), ("own_date", 1)):
            connection.create_function(function, arguments, None)


class _Query:
    """SQL expression for a filter, with its parameters; it reads the tables files, documents and passages."""

    def __init__(self, annotated: Mapping[str, str], is_with_languages: bool) -> None:
        self.parameters: list[int | float | str] = []
        self._annotated, self._has_languages = annotated, is_with_languages
        self._tests: list[Test] = []

    def passes(self, number: int, stored: Any) -> bool:
        """Return True if a stored value passes the condition with this number; called from SQL."""
        return self._tests[number](stored)

    def sql(self, condition: Condition) -> str:
        if isinstance(condition, Joined):
            word = " AND " if condition.word == "and" else " OR "
            return "(" + word.join(map(self.sql, condition.parts)) + ")"
        if isinstance(condition, Not):
            return f"(NOT {self.sql(condition.part)})"
        column, operator, values = condition.field.column, condition.operator, condition.values
        if column == "kind" and operator == "=":
            return self._compared(condition, [value.folded for value in values])
        # There are only numbers here.
        if column in ("page", "size", "document") and operator not in (":", "has"):
            return self._compared(condition, [float(value.number or 0) for value in values])
        return self._by_function(condition)

    def _compared(self, condition: FieldComparison, values: Sequence[float | str]) -> str:
        """Return a comparison in SQL that is false, not NULL, for a passage without a page."""
        self.parameters += values
        operator = "IN" if condition.operator == "=" else condition.operator
        column, marks = _COLUMNS[condition.field.column], ", ".join("?" * len(values))
        return f"({column} IS NOT NULL AND {column} {operator} ({marks}))"

    def _by_function(self, condition: FieldComparison) -> str:
        field, number = condition.field, len(self._tests)
        self._tests.append(_test_of(condition))
        self.parameters.append(number)
        sql = f"passes(?, {_COLUMNS[field.column]})"
        if self._has_languages and field.column == "metadata" and folded(field.name) == LANGUAGE:
            self.parameters.append(number)
            sql = f"({sql} OR {_IN_LANGUAGE})"
        annotator = self._annotated.get(folded(field.name)) if field.column == "metadata" else None
        if annotator is None:
            return sql
        self.parameters += [annotator, number]
        return f"({sql} OR {_ANNOTATED})"


def _test_of(condition: FieldComparison) -> Test:
    """Return a function that tests a stored value. In metadata (JSON), one passing value of the field suffices."""
    test = is_something if condition.operator == "has" else _comparison(condition)
    field = condition.field
    if field.column == "metadata":
        return lambda stored: any(map(test, values_under(_loaded(stored), field.parts)))
    if field.column == "path":
        return lambda stored: test(name_of(stored))
    if field.column == "name":
        return lambda stored: test(name_of(stored).rpartition("/")[2])
    return test


def _comparison(condition: FieldComparison) -> Test:
    if condition.field.column in ("path", "name") and condition.operator == ":":
        patterns = Patterns([unicodedata.normalize("NFC", condition.values[0].text)])
        return lambda path: patterns.cover(unicodedata.normalize("NFC", path))
    tests = [comparing(condition.operator, value) for value in condition.values]
    return lambda stored: is_scalar(stored) and any(test(stored) for test in tests)


def own_date(metadata: Any) -> str | None:
    """Return the date in a document's metadata, converted to local time if it has a zone; None if there is none."""
    return next(map(local_time, filter(as_date, values_under(metadata, ("date",)))), None)


def modified(root: str, path: bytes, mtime_ns: int) -> str | None:
    """Return the modification time of a file in local time, as ISO 8601; None if it is unknown.

    Args:
        mtime_ns: stored time in nanoseconds since 1970. A negative number means that the file changed
            just before it was indexed; the time is then read from the file system.
    """
    try:
        if mtime_ns < 0:
            mtime_ns = os.lstat(os.path.join(root, name_of(path))).st_mtime_ns  # noqa: PTH118 (quicker than Path)
        return datetime.fromtimestamp(mtime_ns / 1e9).isoformat(timespec="microseconds")
    except (OSError, OverflowError, ValueError):
        return None


def is_something(value: Any) -> bool:
    """Return False for the values that make a field empty: None, {}, and text of white space only."""
    return value is not None and value != {} and not (isinstance(value, str) and not value.strip())


def is_scalar(value: Any) -> bool:
    """Return True if a value can be compared: a text, a number or a truth value."""
    return value is not None and not isinstance(value, dict)


_loaded = lru_cache(maxsize=4)(json.loads)  # consecutive conditions read the same document


def values_under(value: Any, parts: tuple[str, ...]) -> Iterator[Any]:
    """Yield the values of a field of metadata, ignoring the case of keys; each element of a list on its own.

    Args:
        parts: name of the field, split at its dots. A dot separates the keys of nested objects or is
            part of a key; both are tried.
    """
    if isinstance(value, list):
        for item in value:
            yield from values_under(item, parts)
    elif not parts:
        yield value
    elif isinstance(value, dict):
        for length in range(1, len(parts) + 1):
            name = folded(".".join(parts[:length]))
            for key, inner in value.items():
                if folded(key) == name:
                    yield from values_under(inner, parts[length:])


def flat(value: Any, name: str | None = None) -> Iterator[tuple[str, Scalar]]:
    """Yield (field, value) for every scalar in metadata; names of nested fields are joined by dots."""
    if isinstance(value, list):
        for item in value:
            yield from flat(item, name)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, key if name is None else f"{name}.{key}")
    elif value is not None and name is not None:
        yield name, value


def _require_fields(connection: sqlite3.Connection, where: Where, annotated: Mapping[str, str]) -> None:
    """Raise InputError if the filter names a field that occurs nowhere in the index, unless the index is empty."""
    if connection.execute("SELECT 1 FROM documents LIMIT 1").fetchone() is None:
        return
    for field in (leaf.field for leaf in comparisons(where.condition)):
        if folded(field.name) == LANGUAGE and has_table(connection, "languages"):
            continue
        if field.column == "metadata" and folded(field.name) not in annotated:
            rows = connection.execute("SELECT metadata FROM documents")
            if not any(
                True for (metadata,) in rows for _ in values_under(_loaded(metadata), field.parts)
            ):
                raise _unknown(connection, where, field, annotated)


def _unknown(
    connection: sqlite3.Connection, where: Where, field: Field, annotated: Iterable[str]
) -> InputError:
    """Return the error for an unknown field, which suggests the most similar name or lists all names."""
    names = list(annotated)
    for (metadata,) in connection.execute("SELECT metadata FROM documents"):
        names += (name for name, _ in flat(_loaded(metadata)) if len(name) <= _MAX_NAME_LENGTH)
    by_key = {folded(name): name for name in (*sorted(BUILT_IN_FIELDS), *sorted(names, key=folded))}
    near = difflib.get_close_matches(folded(field.name), by_key, n=1)
    hint = (
        f"did you mean '{by_key[near[0]]}'?"
        if near
        else f"known fields are {', '.join(islice(by_key.values(), _MAX_NAMES))}"
    )
    problem = f"no document has a field '{field.name:.{_MAX_NAME_LENGTH}}'; {hint}"
    return wrong(where.text, field.at, problem, FieldMissing)
