"""Facets of documents: the most frequent values of each field, each with its filter.

Values are counted as filters.py compares them: texts and field names ignore case, each element of a list counts on its
own, and "a.b" is field b of the object a. Values that a filter does not distinguish are counted together, so
a filter passes exactly as many documents as its facet shows.
"""

from __future__ import annotations

import json
import math
import sqlite3
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice, pairwise
from posixpath import commonpath
from typing import TYPE_CHECKING, Any, TypeAlias

from search.records.contents import Facet, FacetValue
from search.records.documents import BUILT_IN_FIELDS, field_in_filter
from search.store.conditions import Scalar, as_text, folded
from search.store.filters import flat
from search.store.passages import SnapshotReader, metadata_of, name_of
from search.store.settings import readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DocumentRow: TypeAlias = tuple[str, str, dict[str, Any], Iterable[tuple[str, Scalar]]]
"""The path of a document, its kind, its metadata, and the fields and values that annotators give to its passages."""

_MAX_LISTED = 12  # values of a field
_MAX_FIELDS, _MAX_VALUES, _MAX_LENGTH = 24, 20_000, 60
_GLOB = str.maketrans({mark: f"\\{mark}" for mark in "\\*?[!#"})


def facets_of(connection: sqlite3.Connection, among: NDArray[np.int64] | None) -> tuple[Facet, ...]:
    """Return the facets of all documents; with `among`, only of the documents that contain these passages."""
    kinds, folders, fields = Counter[str](), Counter[str](), dict[str, _Values]()
    total = 0
    for path, kind, metadata, annotated in _documents(connection, among):
        total += 1
        kinds[kind] += 1
        folders[unicodedata.normalize("NFC", path).rpartition("/")[0]] += 1
        by_field: dict[str, list[Scalar]] = {}
        for name, value in chain(flat(metadata), annotated):
            key = _key(name)
            by_field.setdefault(key, []).append(value)
            if key not in fields:
                fields[key] = _Values(name)
        for key, values in by_field.items():
            fields[key].add(values)
    of_kinds = ((kind, n, f"kind={kind}") for kind, n in kinds.items() if kind.isidentifier())
    by_count = sorted(fields.values(), key=lambda values: (-values.documents, folded(values.name)))
    facets = [
        _facet("kind", total, of_kinds),
        _of_folders(folders),
        *(values.facet() for values in by_count),
    ]
    useful = (facet for facet in facets if facet and [v.documents for v in facet.values] != [total])
    return tuple(islice(useful, _MAX_FIELDS))


def _documents(connection: sqlite3.Connection, among: NDArray[np.int64] | None) -> Iterator[DocumentRow]:
    names = {
        folded(name) for annotator in SnapshotReader(connection).annotators() for name in annotator.fields
    }
    select = """(SELECT json_group_array(json("values")) FROM passages CROSS JOIN annotations ON passage = passages.id
               WHERE document = documents.id AND (?1 IS NULL OR passage IN (SELECT value FROM json_each(?1))))"""
    rows = connection.execute(
        f"""SELECT path, kind, metadata, {select if names else "'[]'"} FROM documents JOIN files ON files.id = file
            WHERE ?1 IS NULL OR documents.id IN (
                SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?1)))""",
        (None if among is None else json.dumps(among.tolist()),),
    )
    for path, kind, metadata, lists in rows:
        with readable(f"a value of the document '{name_of(path)}'"):
            pairs = [pair for values in json.loads(lists) for pair in _pairs(names, values)]
            fields = metadata_of(metadata)
        yield name_of(path), kind, fields, pairs


def _pairs(names: Collection[str], values: Mapping[str, Any]) -> Iterator[tuple[str, Scalar]]:
    """Yield (field, value) for every scalar that annotators gave a passage.

    Args:
        names: case-folded names of the annotators' fields.
        values: field -> value or list of values.
    """
    for name, value in values.items():
        for element in value if isinstance(value, list) else [value]:
            if folded(name) in names and isinstance(element, str | int | float):
                yield name, element


_key = lru_cache(maxsize=1024)(folded)  # of a field


@dataclass
class _Values:
    """Counter of one field's values."""

    name: str
    documents: int = 0
    by_text: Counter[str] = field(default_factory=Counter)
    spellings: dict[str, str] = field(default_factory=dict)

    def add(self, values: Iterable[Scalar]) -> None:
        """Count the values of one document."""
        self.documents += 1
        texts: set[str] = set()
        for text in map(as_text, values):
            fit = len(text) <= _MAX_LENGTH and text.isprintable() and not text.isspace()
            if text and fit and len(self.by_text) <= _MAX_VALUES:
                texts.add(folded(text))
                self.spellings.setdefault(folded(text), text)
        self.by_text.update(texts)

    def facet(self) -> Facet | None:
        """Return the facet; None if every value occurs in one document only, or there are too many values."""
        if not self.name.isprintable() or len(self.by_text) > _MAX_VALUES:
            return None
        clause = _name_in_filter(self.name)
        texts = ((self.spellings[key], n) for key, n in self.by_text.items())
        values = ((text, n, f"{clause}={field_in_filter(text)}") for text, n in texts)
        ranges = self._ranges(clause)
        if ranges:
            return Facet(
                _qualified(self.name), self.documents, tuple(FacetValue(*values) for values in ranges), 0
            )
        facet = _facet(_qualified(self.name), self.documents, values)
        return facet if facet and facet.values[0].documents > 1 else None

    def _ranges(self, clause: str) -> list[tuple[str, int, str]]:
        """Return four ranges with about as many documents each; [] if values are few, lists or no numbers."""
        try:
            numbers = sorted(float(text) for text in Counter(self.by_text).elements())
        except ValueError:
            return []
        is_single = self.by_text.total() == self.documents
        if len(set(numbers)) <= _MAX_LISTED or not is_single or not all(map(math.isfinite, numbers)):
            return []
        step = 10.0 ** math.floor(math.log10((numbers[-1] - numbers[0]) / 40))
        quarters = (numbers[len(numbers) * i // 4] for i in (1, 2, 3))
        edges = [-math.inf, *sorted({round(round(edge / step) * step, 9) for edge in quarters}), math.inf]
        ranges = []
        for low, high in pairwise(edges):
            count = bisect_left(numbers, high) - bisect_left(numbers, low)
            if not count:
                continue
            if low == -math.inf:
                ranges.append((f"under {high:g}", count, f"{clause}<{high:g}"))
            elif high == math.inf:
                ranges.append((f"{low:g} or more", count, f"{clause}>={low:g}"))
            else:
                where = f"{clause}>={low:g} and {clause}<{high:g}"
                ranges.append((f"{low:g} \u2013 {high:g}", count, where))
        return ranges


def _of_folders(documents: Counter[str]) -> Facet | None:
    """Return a facet with the subfolders of the innermost folder that contains all documents.

    Args:
        documents: number of documents directly in each folder.
    """
    around = f"{commonpath(documents)}/".lstrip("/") if documents else ""
    within = Counter[str]()
    for folder, n in documents.items():
        if inner := folder.removeprefix(around.rstrip("/")).lstrip("/").partition("/")[0]:
            within[around + inner] += n
    values = (
        (folder, n, f"path:{field_in_filter(folder.translate(_GLOB) + '/**')}")
        for folder, n in within.items()
        if folder.isprintable()
    )
    return _facet("folder", within.total(), values)


def _facet(name: str, documents: int, values: Iterable[tuple[str, int, str]]) -> Facet | None:
    """Return the facet of the most frequent values; None if there are none.

    Args:
        documents: number of documents that have the field.
        values: (value, number of documents, filter) of each value.
    """
    ordered = sorted(values, key=lambda value: (-value[1], value[0]))
    listed = tuple(FacetValue(*value) for value in ordered[:_MAX_LISTED])
    return Facet(name, documents, listed, len(ordered) - len(listed)) if listed else None


def _name_in_filter(name: str) -> str:
    """Spell a field of metadata or annotations in a filter; it is prefixed if a built-in field has the same name."""
    return ".".join(field_in_filter(key) for key in _qualified(name).split("."))


def _qualified(name: str) -> str:
    """Prefix the name of a field of metadata or annotations if it is also a built-in field."""
    is_built_in = name.partition(".")[0].casefold() in (*BUILT_IN_FIELDS, "folder", "metadata")
    return f"metadata.{name}" if is_built_in else name
