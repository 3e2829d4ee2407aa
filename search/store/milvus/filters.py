"""Filters as expressions that a Milvus server understands: what passes here passes in the folder's index, and no more.

A condition is about FIELDS of a row (fields.py). What cannot be said of these is refused by name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from search.corpus.patterns import Patterns
from search.corpus.patterns import parse as parsed_glob
from search.errors import InputError
from search.records.documents import Annotator
from search.store.conditions import (
    ORDERS,
    Comparison,
    Condition,
    Field,
    Joined,
    Not,
    Value,
    Where,
    comparisons,
    folded,
    wrong,
)
from search.store.filters import annotators_asked, incomparable, unknown, values_under, without_annotations
from search.store.milvus.chosen import Chosen
from search.store.milvus.facts import annotators
from search.store.milvus.fields import (
    LETTERS,
    first_letters,
    key_of,
    letters,
    mark,
    microseconds,
    ordered,
    since_1970,
    words,
)
from search.store.milvus.generation import Generation, View
from search.store.milvus.layout import FIELDS, PASSAGE

_NOTHING = f"{PASSAGE} < 0"
_MARKS = f'{FIELDS}["is"]'
_MOST_FOLDERS = 2_000  # that an expression lists


def passing(view: View, where: Where) -> tuple[Chosen, tuple[str, ...]]:
    """The passages that pass a filter, and what is to be known of the answer.

    Raises:
        InputError: it names a field that nothing has, orders one by what none of its values is, or says what cannot be
            asked of a server.
    """
    generation = view.generation
    known = annotators(generation.annotators)
    asked = annotators_asked(known, where)
    if generation.documents:
        for leaf in comparisons(where.condition):
            if leaf.field.column == "metadata":
                _require_sense(generation, where, leaf, asked.get(folded(leaf.field.name)))
    query = _Query(where, generation)
    expression = query.of(where.condition)
    query.require_all_there(view)
    return Chosen(view, expression), tuple(without_annotations(known, where))


def _require_sense(
    generation: Generation, where: Where, leaf: Comparison, annotator: Annotator | None
) -> None:
    """Raise InputError for a condition that nothing can pass because of its field's name or kind."""
    found = list(_known(generation, leaf.field))
    if not found and annotator is None:
        raise unknown(where, leaf.field, generation.fields["names"], annotators(generation.annotators))
    if found and leaf.operator in ORDERS:
        wanted = set("".join(_kinds(leaf.values[0])))
        if not any(wanted.intersection(one["kinds"]) for one in found):
            raise incomparable(
                where, leaf, annotator, [value for one in found for value in one["examples"]][:3]
            )


def _known(generation: Generation, field: Field) -> Iterator[dict[str, Any]]:
    """The fields of metadata and annotations that a name means: its dots lead into objects, or belong to keys."""
    name = folded(field.name)
    for one in generation.fields.get("known", ()):
        if folded(".".join(one["keys"])) != name:
            continue
        value: Any = True
        for key in reversed(one["keys"]):
            value = {key: value}
        if any(found is True for found in values_under(value, field.parts)):
            yield one


def _kinds(value: Value) -> list[str]:
    """Which kinds of stored values a typed one compares with; see fields.py."""
    if value.number is not None:
        return ["n"] if value.date is None else ["n", "d"]
    return ["t"] if value.date is None else ["d", "y"]


class _Query:
    """A filter as an expression, and the marks of values that are too long for it."""

    def __init__(self, where: Where, generation: Generation) -> None:
        self._where, self._generation = where, generation
        self._lacking: list[tuple[Comparison, str, list[str]]] = []

    def of(self, condition: Condition) -> str:
        if isinstance(condition, Joined):
            return "(" + f" {condition.word} ".join(map(self.of, condition.parts)) + ")"
        if isinstance(condition, Not):
            return f"(not {self.of(condition.part)})"
        return self._leaf(condition)

    def require_all_there(self, view: View) -> None:
        """
        Raises:
            InputError: a value is not on the server that the filter has to look at.
        """

        def some(marks: Iterable[str]) -> bool:
            return view.client.count(view.collection("passages"), view.there(_any_of(marks))) > 0

        if self._lacking and some({one for _, _, marks in self._lacking for one in marks}):
            for leaf, why, marks in self._lacking:
                if some(marks):
                    raise self._refused(leaf, why)

    def _leaf(self, leaf: Comparison) -> str:
        column, operator = leaf.field.column, leaf.operator
        fields = [column]
        if column == "metadata":
            fields = [key_of(tuple(one["keys"])) for one in _known(self._generation, leaf.field)]
            if not fields:
                return _NOTHING
            left_out = [mark(field, "left out") for field in fields]
            self._lacking.append((leaf, "a document has more in it than there is room for", left_out))
        if operator == "has":
            return _any_of([mark(field, "has") for field in fields])
        if column == "mtime":
            return self._changed(leaf)
        if operator == ":" and column == "path":
            return self._path(leaf)
        if operator == ":" and column == "name":
            return self._named(leaf, leaf.values[0].text)
        if operator == ":":
            return self._fits(leaf, fields)
        if operator == "=":
            return _any_of([one for field in fields for value in leaf.values for one in _equal(field, value)])
        return _or(self._ordered(leaf, field) for field in fields)

    def _ordered(self, leaf: Comparison, field: str) -> str:
        """That one of the values of a field is more or less."""
        (value,) = leaf.values
        if field in ("page", "size"):
            return _than("n", field, leaf.operator, ordered(float(value.number or 0)))
        parts = []
        for kind in _kinds(value):
            if kind == "n":
                ends = 2 * (ordered(value.number or 0),)
            elif kind == "t":
                if len(value.folded) >= LETTERS:
                    raise self._refused(leaf, f"it orders texts by their first {LETTERS - 1} letters alone")
                ends = 2 * (first_letters(value.folded),)
            else:
                first, last = value.date or (timedelta(), timedelta())
                ends = ordered(microseconds(first)), ordered(microseconds(last))
            parts.append(_than(kind, field, leaf.operator, ends[leaf.operator in (">", "<=")]))
        return _or(parts)

    def _changed(self, leaf: Comparison) -> str:
        (*_, value) = leaf.values
        if leaf.operator == "=":
            return _or(self._between(leaf, value) for value in leaf.values)
        first, last = self._ends(leaf, value)
        return _stored("u_mtime", leaf.operator, last if leaf.operator in (">", "<=") else first)

    def _between(self, leaf: Comparison, value: Value) -> str:
        first, last = self._ends(leaf, value)
        return f"({_stored('u_mtime', '>=', first)} and {_stored('u_mtime', '<=', last)})"

    def _ends(self, leaf: Comparison, value: Value) -> tuple[str, str]:
        """When a typed time begins and ends: it is local, and what is stored is not."""
        assert value.date is not None
        first, last = (self._instant(leaf, datetime.min + moment) for moment in value.date)
        return ordered(first), ordered(last)

    def _instant(self, leaf: Comparison, local: datetime) -> int:
        try:
            found = {since_1970(local.replace(fold=fold).astimezone(timezone.utc)) for fold in (0, 1)}
        except (OverflowError, ValueError, OSError):  # of the first or the last year of all
            found = {since_1970(local.replace(tzinfo=timezone.utc))}
        if len(found) > 1:
            raise self._refused(leaf, f"the clock was changed at {local:%Y-%m-%d %H:%M}; name another time")
        return found.pop()

    def _fits(self, leaf: Comparison, fields: Collection[str]) -> str:
        """That whole words of a value fit a pattern; see `search.store.conditions.pattern`."""
        pieces = [""]
        for part in re.findall(r"\\.|.", leaf.values[0].folded, re.DOTALL):
            if part == "?":
                raise self._refused(leaf, "a pattern can have '*', but no '?'")
            if part == "*":
                pieces.append("")
            else:
                pieces[-1] += part[-1]
        if not any(pieces):
            return _any_of([mark(field, "scalar") for field in fields])
        last = len(pieces) - 1
        like = "%".join(words(one, begins=at == 0, ends=at == last) for at, one in enumerate(pieces))
        long = [mark(field, "long") for field in fields]
        self._lacking.append((leaf, "a value is too long for patterns", long))
        if sum(map(bool, pieces)) > 1:
            several = [mark(field, "several") for field in fields]
            self._lacking.append(
                (leaf, "a '*' within a pattern could lead from one value to another", several)
            )
        return _or(_like(f"p_{field}", f"%{like}%") for field in fields)

    def _path(self, leaf: Comparison) -> str:
        """That a path, or a folder above it, is matched: folders are looked at here, and names on the server."""
        glob = unicodedata.normalize("NFC", leaf.values[0].text)
        folders, patterns = self._generation.fields.get("folders", ()), Patterns([glob])
        covered = self._within(
            leaf, {folder for folder in folders if folder and patterns.cover(f"{folder}/")}
        )
        pattern = parsed_glob(glob)
        if pattern is None or pattern.folders_only:
            return covered
        if pattern.by_name:
            return _or([covered, self._named(leaf, glob)])
        head, _, last = glob.rpartition("/")
        if "[" in head or glob != glob.rstrip(" "):
            raise self._refused(leaf, "a pattern of paths can have '*' and '**' alone")
        any_name = not last.strip("*")
        around = pattern if any_name else parsed_glob(f"{head}/x")
        if around is None:
            return covered
        files = {one for one in folders if around.regex.fullmatch(f"{one}/x".removeprefix("/"))}
        named = "" if any_name else f" and {self._named(leaf, last)}"
        return _or([covered, f"({self._within(leaf, files)}{named})"])

    def _within(self, leaf: Comparison, chosen: Collection[str]) -> str:
        """That a file lies in one of some folders itself; where all beneath one are meant, it alone is named."""
        torn = {
            above
            for one in self._generation.fields.get("folders", ())
            if one not in chosen
            for above in _up(one)
        }
        whole = set(chosen) - torn
        marks = [mark("path", "under", one) for one in whole if not one or next(_up(one, 1)) not in whole]
        marks += [mark("path", "in", one) for one in chosen if one in torn]
        if len(marks) > _MOST_FOLDERS:
            raise self._refused(leaf, f"it means {len(marks):,} folders, too many for a server")
        return _any_of(marks)

    def _named(self, leaf: Comparison, glob: str) -> str:
        """That the name of a file fits a pattern without slashes."""
        glob, like = unicodedata.normalize("NFC", glob), ""
        if glob != glob.rstrip(" ") or glob.startswith(("!", "#")):
            raise self._refused(leaf, "put a name with such characters in: name = ...")
        for part in re.findall(r"\\.|\*+|.", glob, re.DOTALL):
            if part in ("?", "[", "\\"):
                raise self._refused(leaf, "a pattern of names can have '*' alone")
            like += "%" if part[0] == "*" else letters(part[-1])
        return _like("g_name", like)

    def _refused(self, leaf: Comparison, why: str) -> InputError:
        field = leaf.field
        return wrong(
            self._where.text,
            field.at,
            f"'{field.name}{' ' if leaf.operator == 'has' else ''}{leaf.operator}' cannot be asked of an index on "
            f"Milvus here: {why}. Say it otherwise, or ask the index in the folder",
        )


def _equal(field: str, value: Value) -> Iterator[str]:
    """The marks of which a stored value that is equal has one."""
    if field in ("page", "size"):
        yield mark(field, "n", ordered(float(value.number or 0)))
        return
    for kind in _kinds(value):
        if kind == "n":
            yield mark(field, "n", ordered(value.number or 0))
        elif kind == "t":
            yield mark(field, "=", value.folded)
        else:
            yield mark(field, kind, *map(microseconds, value.date or ()))


def _than(kind: str, field: str, operator: str, end: str) -> str:
    """The first end of all values has to be before a moment, or their last beginning behind it."""
    return _stored(f"{kind}{int(operator[0] == '>')}_{field}", operator, end)


def _stored(key: str, operator: str, text: str) -> str:
    return f'(exists {FIELDS}["{key}"] and {FIELDS}["{key}"] {operator} "{text}")'


def _like(key: str, pattern: str) -> str:
    return _stored(key, "like", re.sub("%+", "%", pattern))


def _any_of(marks: Iterable[str]) -> str:
    listed = ", ".join(f'"{one}"' for one in sorted(marks))
    return f"json_contains_any({_MARKS}, [{listed}])" if listed else _NOTHING


def _or(parts: Iterable[str]) -> str:
    return "(" + " or ".join(dict.fromkeys(parts)) + ")"


def _up(folder: str, start: int = 0) -> Iterator[str]:
    """A folder and those above it; from the first, or from the one above it."""
    if not start:
        yield folder
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder
