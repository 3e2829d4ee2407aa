"""A filter as SQL, and the passages that pass it.

"and", "or" and "not" become SQL; a single condition becomes `passes(?, column)`, a function of this
process that is bound to the condition by a number. So nothing that was typed is ever part of the SQL, names and
values are compared as Python does, whichever SQLite is installed (its JSON functions round numbers and read odd
keys differently from version to version), and a condition on a document is asked once for it.
"""

from __future__ import annotations

import difflib
import json
import os
import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from search.corpus.patterns import Patterns
from search.errors import IndexDamaged, InputError
from search.index.checksums import covered, require
from search.index.database import one_meta
from search.query.conditions import BUILT_IN, And, Comparison, Condition, Field, Has, Not, Or, Where
from search.query.where import wrong
from search.query.where_compare import ORDERS, Scalar, Value, as_text, comparable, comparing, folded

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Passes = Callable[[Any], bool]

_COLUMNS = {
    "path": "files.path",
    "kind": "documents.kind",
    "title": "documents.title",
    "metadata": "documents.metadata",
    "heading": "passages.heading",
    "page": "passages.page",
}

# The order is fixed by CROSS JOIN, so that a document's conditions are asked before its passages are read.
_TABLES = """files CROSS JOIN documents ON documents.file = files.id
             CROSS JOIN passages ON passages.document = documents.id"""

_MOST_KEPT = 16  # filters; of a million passages, 8 MB each at most

_LISTED, _EXAMPLES, _LONGEST = 20, 3, 40  # of fields and values that an error names


def matching(connection: sqlite3.Connection, where: Where) -> NDArray[np.int64]:
    """The ids of the passages that pass a filter, increasing, within a read transaction.

    All rows that the filter looks at are compared with their checksums, those that do not pass too: damage must
    not leave out a hit. With 20,000 files of one passage each that and one condition took 0.15 s, each
    further condition 0.07 s. It is the time of the files and documents, not of the passages, unless the
    filter asks for headings or pages.

    Raises:
        InputError: it names a field that no document has, or orders one by what none of its values is.
        IndexDamaged: a row is damaged or missing.
    """
    _require_whole(connection, _columns_of(where.condition))
    conditions = _Conditions()
    sql = conditions.sql(where.condition)
    with_function = connection.create_function
    with_function("passes", 2, conditions.passes, deterministic=True)
    try:
        _require_sense(connection, where, conditions)
        rows = connection.execute(f"SELECT passages.id FROM {_TABLES} WHERE {sql}", conditions.parameters)
        return np.sort(np.array([row[0] for row in rows], dtype=np.int64))
    finally:
        with_function("passes", 2, None)


class Filters:
    """Filters of a process that asks often: what passes is kept for as long as the index stays as it is.

    Safe between threads, each of which keeps its own, as it does with connections (`search.index.database.Reader`).
    """

    def __init__(self) -> None:
        self._kept = threading.local()

    def matching(self, connection: sqlite3.Connection, where: Where) -> NDArray[np.int64]:
        """As the function `matching`; the array cannot be written to."""
        version = connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes
        if getattr(self._kept, "of", None) != (connection, version):
            self._kept.of, self._kept.found = (connection, version), {}
        found: dict[str, NDArray[np.int64]] = self._kept.found
        if where.text not in found:
            if len(found) == _MOST_KEPT:
                found.clear()
            ids = matching(connection, where)
            ids.flags.writeable = False
            found[where.text] = ids
        return found[where.text]


class _Conditions:
    """The single conditions of a filter, which SQL knows by their numbers."""

    def __init__(self) -> None:
        self.parameters: list[int] = []
        self._passes: list[_Passes] = []
        self._object = lru_cache(maxsize=4)(json.loads)  # several conditions in a row ask for one document

    def sql(self, condition: Condition) -> str:
        """An SQL expression for tables files, documents and passages; its parameters are `parameters`."""
        if isinstance(condition, And):
            return "(" + " AND ".join(map(self.sql, condition.parts)) + ")"
        if isinstance(condition, Or):
            return "(" + " OR ".join(map(self.sql, condition.parts)) + ")"
        if isinstance(condition, Not):
            return f"(NOT {self.sql(condition.part)})"
        self.parameters.append(self.add(condition.field, _test_of(condition)))
        return f"passes(?, {_COLUMNS[condition.field.column]})"

    def add(self, field: Field, passes: _Passes) -> int:
        """The number of a condition: one of the field's values, which may be parts of JSON, passes."""

        def some(stored: Any) -> bool:
            if field.column == "metadata":
                return any(map(passes, _found(self._object(stored), field.parts)))
            stored = os.fsdecode(stored) if isinstance(stored, bytes) else stored
            return stored is not None and passes(stored)

        self._passes.append(some)
        return len(self._passes) - 1

    def passes(self, number: int, stored: Any) -> bool:
        return self._passes[number](stored)


def _test_of(condition: Has | Comparison) -> _Passes:
    if isinstance(condition, Has):
        return _is_something
    if condition.field.column == "path" and condition.operator == ":":
        patterns = Patterns([unicodedata.normalize("NFC", condition.values[0].text)])
        return lambda path: patterns.cover(unicodedata.normalize("NFC", path))
    tests = [comparing(condition.operator, value) for value in condition.values]
    return lambda stored: _is_scalar(stored) and any(test(stored) for test in tests)


def _found(value: Any, parts: tuple[str, ...]) -> Iterator[Any]:
    """What lies under a name in metadata, whose keys may be in any case; each element of a list by itself.

    A dot of the name leads into an object, or belongs to a key.
    """
    if isinstance(value, list):
        for item in value:
            yield from _found(item, parts)
    elif not parts:
        yield value
    elif isinstance(value, dict):
        for length in range(1, len(parts) + 1):
            wanted = folded(".".join(parts[:length]))
            for key, inner in value.items():
                if folded(key) == wanted:
                    yield from _found(inner, parts[length:])


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict)


def _is_something(value: Any) -> bool:
    return value is not None and value != {} and not (isinstance(value, str) and not value.strip())


def _leaves(condition: Condition) -> Iterator[Has | Comparison]:
    if isinstance(condition, (And, Or)):
        for part in condition.parts:
            yield from _leaves(part)
    elif isinstance(condition, Not):
        yield from _leaves(condition.part)
    else:
        yield condition


def _columns_of(condition: Condition) -> set[str]:
    return {leaf.field.column for leaf in _leaves(condition)}


def _require_whole(connection: sqlite3.Connection, columns: set[str]) -> None:
    """Raise IndexDamaged if a row that these columns are read from is damaged, or one is missing."""
    of_passages, of_documents = {"heading", "page"}, {"kind", "title", "metadata"}
    # A damaged `documents.file` gives a document the path of another file.
    read = {"files": {"path"}, "documents": {"path", *of_documents}, "passages": of_passages}
    for table in read:
        if not columns & read[table]:
            continue
        for *values, checksum in connection.execute(f"SELECT {covered(table)}, checksum FROM {table}"):
            require(table, values, checksum)
    (found,) = connection.execute(f"SELECT count(*) FROM {_TABLES}").fetchone()
    if found != (passages := one_meta(connection, "passages")):
        raise IndexDamaged(
            f"the index should hold {passages} passages, but {found} were found. Mend it with: seewhy repair"
        )


def _require_sense(connection: sqlite3.Connection, where: Where, conditions: _Conditions) -> None:
    """Raise InputError for a condition that no document can pass because of its field's name or kind."""
    if not _some_document(connection, conditions.add(Field("title", (), 0), lambda _: True), "title"):
        return
    for leaf in _leaves(where.condition):
        field = leaf.field
        if field.column != "metadata":
            continue
        if not _some_document(connection, conditions.add(field, lambda _: True), "metadata"):
            raise wrong(where.text, field.at, _unknown(connection, field))
        if isinstance(leaf, Comparison) and leaf.operator in ORDERS:
            (value,) = leaf.values
            number = conditions.add(field, _comparable_with(value))
            if not _some_document(connection, number, "metadata"):
                raise _incomparable(connection, where, field, value)


def _comparable_with(value: Value) -> _Passes:
    return lambda stored: _is_scalar(stored) and comparable(stored, value)


def _some_document(connection: sqlite3.Connection, number: int, column: str) -> bool:
    sql = f"SELECT 1 FROM documents WHERE passes(?, {_COLUMNS[column]}) LIMIT 1"
    return connection.execute(sql, (number,)).fetchone() is not None


def _unknown(connection: sqlite3.Connection, field: Field) -> str:
    names: dict[str, str] = {name: name for name in BUILT_IN}
    for (metadata,) in connection.execute("SELECT metadata FROM documents"):
        for name in _names(json.loads(metadata)):
            names.setdefault(folded(name), name)
    near = difflib.get_close_matches(folded(field.name), names, n=3)
    if near:
        hint = "did you mean " + " or ".join(f"'{names[name]}'" for name in near) + "?"
    else:
        listed = sorted(names.values(), key=lambda name: (name not in BUILT_IN, folded(name)))
        more = f" and {len(listed) - _LISTED:,} more" if len(listed) > _LISTED else ""
        hint = "there are " + ", ".join(_short(name) for name in listed[:_LISTED]) + more
    return f"no document has a field '{_short(field.name)}'; {hint}"


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


def _incomparable(connection: sqlite3.Connection, where: Where, field: Field, value: Value) -> InputError:
    found: dict[Scalar, None] = {}
    for (metadata,) in connection.execute("SELECT metadata FROM documents"):
        found.update(dict.fromkeys(filter(_is_scalar, _found(json.loads(metadata), field.parts))))
        if len(found) >= _EXAMPLES:
            break
    shown = ", ".join(f"'{_short(as_text(example))}'" for example in list(found)[:_EXAMPLES])
    kinds = {"number": value.number, "date": value.date}
    wanted = " or ".join(kind for kind, read in kinds.items() if read is not None) or "text"
    is_ = f"it is such as {shown}" if shown else "it holds other fields"
    return wrong(where.text, value.at, f"no document has a {wanted} in the field '{field.name}'; {is_}")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
