"""The single conditions of a filter, as functions of a stored value that SQL calls by number."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from search.corpus.patterns import Patterns
from search.ranking.conditions import And, Comparison, Condition, Field, Has, Not, Or
from search.ranking.where_compare import comparing, folded
from search.records.annotations import Annotator

Passes = Callable[[Any], bool]

COLUMNS = {
    "path": "files.path",
    "kind": "documents.kind",
    "title": "documents.title",
    "metadata": "documents.metadata",
    "heading": "passages.heading",
    "page": "passages.page",
}

_ANNOTATED = """EXISTS (SELECT 1 FROM annotations
                        WHERE passage = passages.id AND annotator = ? AND passes(?, annotations."values"))"""


class Conditions:
    """The single conditions of a filter, which SQL knows by their numbers."""

    def __init__(self, annotated: Mapping[str, Annotator]) -> None:
        self.annotated = annotated
        self.parameters: list[int | str] = []
        self._passes: list[Passes] = []
        self._object = lru_cache(maxsize=4)(json.loads)  # several conditions in a row ask for one document

    def sql(self, condition: Condition) -> str:
        """An SQL expression for tables files, documents, passages; its parameters are `parameters`."""
        if isinstance(condition, And):
            return "(" + " AND ".join(map(self.sql, condition.parts)) + ")"
        if isinstance(condition, Or):
            return "(" + " OR ".join(map(self.sql, condition.parts)) + ")"
        if isinstance(condition, Not):
            return f"(NOT {self.sql(condition.part)})"
        number = self.add(condition.field, _test_of(condition))
        self.parameters.append(number)
        sql = f"passes(?, {COLUMNS[condition.field.column]})"
        annotator = self.annotator_of(condition.field)
        if annotator is None:
            return sql
        self.parameters += [annotator.name, number]
        return f"({sql} OR {_ANNOTATED})"

    def annotator_of(self, field: Field) -> Annotator | None:
        """Who gives a field to passages."""
        return self.annotated.get(folded(field.name)) if field.column == "metadata" else None

    def add(self, field: Field, passes: Passes) -> int:
        """The number of a condition: one of the field's values, which may be parts of JSON, passes."""

        def some(stored: Any) -> bool:
            if field.column == "metadata":
                return any(map(passes, found_under(self._object(stored), field.parts)))
            stored = os.fsdecode(stored) if isinstance(stored, bytes) else stored
            return stored is not None and passes(stored)

        self._passes.append(some)
        return len(self._passes) - 1

    def passes(self, number: int, stored: Any) -> bool:
        return self._passes[number](stored)


def _test_of(condition: Has | Comparison) -> Passes:
    if isinstance(condition, Has):
        return _is_something
    if condition.field.column == "path" and condition.operator == ":":
        patterns = Patterns([unicodedata.normalize("NFC", condition.values[0].text)])
        return lambda path: patterns.cover(unicodedata.normalize("NFC", path))
    tests = [comparing(condition.operator, value) for value in condition.values]
    return lambda stored: is_scalar(stored) and any(test(stored) for test in tests)


def found_under(value: Any, parts: tuple[str, ...]) -> Iterator[Any]:
    """What lies under a name in metadata, whose keys may be in any case; each element of a list by itself.

    A dot of the name leads into an object, or belongs to a key.
    """
    if isinstance(value, list):
        for item in value:
            yield from found_under(item, parts)
    elif not parts:
        yield value
    elif isinstance(value, dict):
        for length in range(1, len(parts) + 1):
            wanted = folded(".".join(parts[:length]))
            for key, inner in value.items():
                if folded(key) == wanted:
                    yield from found_under(inner, parts[length:])


def is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict)


def _is_something(value: Any) -> bool:
    return value is not None and value != {} and not (isinstance(value, str) and not value.strip())


def leaves(condition: Condition) -> Iterator[Has | Comparison]:
    if isinstance(condition, (And, Or)):
        for part in condition.parts:
            yield from leaves(part)
    elif isinstance(condition, Not):
        yield from leaves(condition.part)
    else:
        yield condition
