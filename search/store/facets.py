"""What documents have in common: the most frequent values of each field, with the filter that each stands for.

The filters are those of filters.py, which says when a value passes: texts in any case of letters, each element of a
list by itself, a field's name in any case, its dots leading into objects. Values that are equal to a filter are counted
as one here, so a filter passes as many documents as its value is said to have.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain, groupby, islice
from posixpath import commonpath
from typing import TYPE_CHECKING, Any, TypeAlias

from search.records.contents import Facet, FacetValue
from search.records.documents import BUILT_IN_FIELDS, field_in_filter
from search.store.conditions import Scalar, as_date, as_number, as_text, folded
from search.store.filters import flat
from search.store.passages import Rows, name_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Said: TypeAlias = tuple[str, str, dict[str, Any], Iterable[tuple[str, Scalar]]]
"""The path of a document, its kind, its metadata, and the fields and values that annotators give to its passages."""

_SHOWN = 12  # values of a field
_MOST_FIELDS, _MOST_VALUES, _LONGEST = 24, 20_000, 60
_GLOB = str.maketrans({mark: f"\\{mark}" for mark in "\\*?[!#"})


def facets_of(connection: sqlite3.Connection, among: NDArray[np.int64] | None) -> tuple[Facet, ...]:
    """The facets of all documents, or of those that some passages are of, within a read transaction.

    Rows are taken as they are, as by filters.
    """
    return counted(_documents(connection, None if among is None else frozenset(among.tolist())))


def counted(documents: Iterable[Said]) -> tuple[Facet, ...]:
    """The facets of documents."""
    kinds, folders, fields = Counter[str](), Counter[str](), dict[str, _Values]()
    total = 0
    for path, kind, metadata, said_of_it in documents:
        total += 1
        kinds[kind] += 1
        folders[unicodedata.normalize("NFC", path).rpartition("/")[0]] += 1
        here: dict[str, list[Scalar]] = {}
        for name, value in chain(flat(metadata), said_of_it):
            key = _key(name)
            here.setdefault(key, []).append(value)
            if key not in fields:
                fields[key] = _Values(name)
        for key, values in here.items():
            fields[key].add(values)
    of_kinds = ((kind, n, f"kind={kind}") for kind, n in kinds.items() if kind.isidentifier())
    said = [
        _facet("kind", total, of_kinds),
        _of_folders(folders),
        *(one.facet() for one in sorted(fields.values(), key=lambda one: (-one.documents, folded(one.name)))),
    ]
    useful = (one for one in said if one and [value.documents for value in one.values] != [total])
    return tuple(islice(useful, _MOST_FIELDS))


def _documents(connection: sqlite3.Connection, chosen: frozenset[int] | None) -> Iterator[Said]:
    rows = connection.execute(
        """SELECT documents.id, path, kind, metadata FROM documents JOIN files ON files.id = file
           WHERE ?1 IS NULL OR documents.id IN (
               SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?1)))
           ORDER BY documents.id""",
        (None if chosen is None else json.dumps(list(chosen)),),
    )
    said = groupby(_annotated(connection, chosen), key=lambda one: one[0])
    at, group = next(said, (None, iter(())))
    for id_, path, kind, metadata in rows:
        while at is not None and at < id_:
            at, group = next(said, (None, iter(())))
        annotations = [pair for _, pair in group] if at == id_ else []
        yield name_of(path), kind, json.loads(metadata), annotations


def _annotated(
    connection: sqlite3.Connection, chosen: frozenset[int] | None
) -> Iterator[tuple[int, tuple[str, Scalar]]]:
    """Document, field and value of what annotators say of passages, by documents."""
    names = {folded(name) for annotator in Rows(connection).annotators() for name in annotator.fields}
    if not names:
        return
    rows = connection.execute(
        """SELECT document, passage, "values" FROM passages CROSS JOIN annotations ON passage = passages.id
           ORDER BY document"""  # by the index on `document`, without sorting
    )
    for document, passage, written in rows:
        if chosen is None or passage in chosen:
            for pair in annotated(names, json.loads(written)):
                yield document, pair


def annotated(names: Collection[str], values: Mapping[str, Any]) -> Iterator[tuple[str, Scalar]]:
    """Fields and values of what annotators say of a passage.

    Args:
        names: of their fields, folded.
    """
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            if folded(name) in names and isinstance(one, str | int | float):
                yield name, one


_key = lru_cache(maxsize=1024)(folded)  # of a field


@dataclass
class _Values:
    """The values of a field, as they come."""

    name: str
    documents: int = 0
    by_text: Counter[str] = field(default_factory=Counter)
    shown: dict[str, str] = field(default_factory=dict)
    by_year: Counter[int] = field(default_factory=Counter)
    has_date: bool = False
    all_years: bool = True

    def add(self, values: Iterable[Scalar]) -> None:
        """Those of one document."""
        self.documents += 1
        texts: set[str] = set()
        years: set[int] = set()
        for one in map(_read, values):
            self.all_years = self.all_years and one.year is not None
            self.has_date = self.has_date or one.is_date
            if one.text and len(self.by_text) <= _MOST_VALUES:
                texts.add(one.folded)
                self.shown.setdefault(one.folded, one.text)
            if one.year and self.all_years:
                years.add(one.year)
        for text in texts:
            self.by_text[text] += 1
        for year in years:
            self.by_year[year] += 1

    @property
    def is_of_dates(self) -> bool:
        return self.all_years and self.has_date

    def facet(self) -> Facet | None:
        """None where each document has a value of its own, or there are too many."""
        if not self.name.isprintable() or len(self.by_text) > _MOST_VALUES:
            return None
        name, clause = _said(self.name), _name_in_filter(self.name)
        if self.is_of_dates:
            years = ((str(year), n, f"{clause}={year}") for year, n in self.by_year.items())
            found = _facet(name, self.documents, years)
            latest_first = sorted(found.values, key=lambda one: one.value, reverse=True) if found else ()
            return found and replace(found, values=tuple(latest_first))
        texts = ((self.shown[key], n) for key, n in self.by_text.items())
        values = ((text, n, f"{clause}={field_in_filter(text)}") for text, n in texts)
        found = _facet(name, self.documents, values)
        return found if found and found.values[0].documents > 1 else None


@dataclass(frozen=True)
class _Read:
    """A value as filters take it: its text, "" for one that is not to be listed, and the year that it is of."""

    text: str
    folded: str
    year: int | None
    is_date: bool


@lru_cache(maxsize=1 << 14, typed=True)
def _read(value: Scalar) -> _Read:
    text = as_text(value)
    fit = len(text) <= _LONGEST and text.isprintable() and bool(text.strip())
    number = as_number(value)
    if number is not None:
        whole = number == int(number) and 1000 <= number <= 9999
        return _Read(text if fit else "", folded(text), int(number) if whole else None, False)
    year = _year(text)
    return _Read(text if fit else "", folded(text), year, year is not None)


def _year(text: str) -> int | None:
    """The year that a date is of, in UTC, from its first to its last moment."""
    date = as_date(text) if len(text) <= _LONGEST else None
    if date is None:
        return None
    try:
        first, last = ((datetime.min + moment).year for moment in date)
    except OverflowError:
        return None
    return first if first == last >= 1000 else None


def _of_folders(documents: Counter[str]) -> Facet | None:
    """The folders that the innermost one parts into which holds all documents.

    Args:
        documents: how many lie in each folder itself, not in one within it.
    """
    around = f"{commonpath(documents)}/".lstrip("/") if documents else ""
    within = Counter[str]()
    for folder, n in documents.items():
        if inner := folder.removeprefix(around.rstrip("/")).lstrip("/").partition("/")[0]:
            within[around + inner] += n
    named = ((folder, n) for folder, n in within.items() if folder.isprintable())
    clauses = ((folder, n, f"path:{field_in_filter(folder.translate(_GLOB) + '/**')}") for folder, n in named)
    return _facet("folder", within.total(), clauses)


def _facet(name: str, documents: int, values: Iterable[tuple[str, int, str]]) -> Facet | None:
    """The most frequent of some values, with how many have them and their filters; None for none."""
    ordered = sorted(values, key=lambda one: (-one[1], one[0]))
    shown = tuple(FacetValue(*one) for one in ordered[:_SHOWN])
    return Facet(name, documents, shown, len(ordered) - len(shown)) if shown else None


def _name_in_filter(name: str) -> str:
    """A field of metadata or annotations, also one that is called as one of every index."""
    return ".".join(field_in_filter(part) for part in _said(name).split("."))


def _said(name: str) -> str:
    """The name of a field of metadata or annotations that is not taken for one of every document."""
    taken = name.partition(".")[0].casefold() in (*BUILT_IN_FIELDS, "folder", "metadata")
    return f"metadata.{name}" if taken else name
