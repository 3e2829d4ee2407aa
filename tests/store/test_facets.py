"""Facets: each filter passes as many documents as it is said to."""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search import Index, InputError
from search.ranking.where import parse
from search.records.contents import Facet
from search.records.documents import Annotation
from search.store.annotating import annotating
from search.store.facets import facets_of
from search.store.filters import matching
from tests.ranking.stored import add_document, empty, put

DOCUMENTS: list[tuple[bytes, Any]] = [
    (b"docs/a/one.md", {"lang": "en", "date": "2024-05-01", "tags": ["Python", "C++"], "id": 1}),
    (b"docs/a/two.md", {"Lang": "EN", "date": "2024-01-01T00:30:00+02:00", "tags": ["python", "python"], "id": 2}),
    (b"docs/b/three.md", {"lang": "fr", "date": "2023-12-31", "tags": "C++", "kind": "odd", "id": 3}),
    (b"it's [new]/\\four.md", {"lang": "fr", "date": "2023", "kind": "odd", "author": {"name": "Ada"}, "id": 4}),
    (b"it's [new]/five.md", {"author": [{"name": "ada"}, {"name": "Bo"}], "and": True, "a.b": 8, "id": 5}),
    (b"!x*y/six.md", {"author.name": "ADA", "and": "TRUE", "a": {"b": "8"}, "nul\0l": "x", "id": 6}),
    (b"odd \xff/7.md", {"nul\0l": "x", "": "e", "metadata": "m", "x": "a\nb", "long": "z" * 80, "id": 7}),
    (b"seven.md", {"": "e", "metadata": "m", "x": "a\nb", "long": "z" * 80, "none": None, "id": 8}),
]  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    with closing(empty(tmp_path_factory.mktemp("facets"))) as connection:
        for path, metadata in DOCUMENTS:
            add_document(connection, path, metadata, passages=(("", None), ("H", 2)))
        annotate(
            connection,
            {1: {"city": ["Key", "Door"]}, 2: {"city": "key"}, 5: {"city": "Key", "good": True}, 7: {}},
        )
        yield connection


def annotate(
    connection: sqlite3.Connection, values: dict[int, Any], fields: Sequence[str] = ("city", "good")
) -> None:
    put(connection, "annotators", "ner", "{}", json.dumps(fields))
    for passage, value in values.items():
        put(connection, "annotations", passage, "ner", json.dumps(value), "[]")


def passing(connection: sqlite3.Connection, where: str) -> int:
    """Number of documents with a passage that passes a filter."""
    ids = json.dumps(matching(connection, parse(where)).tolist())
    rows = "SELECT count(DISTINCT document) FROM passages WHERE id IN (SELECT value FROM json_each(?))"
    return int(connection.execute(rows, (ids,)).fetchone()[0])


def require_counts(connection: sqlite3.Connection, where: str | None = None) -> tuple[Facet, ...]:
    """The facets, after a check that every filter passes as many documents as its facet says."""
    facets = facets_of(connection, None if where is None else matching(connection, parse(where)))
    for facet in facets:
        for value in facet.values:
            combined = value.where if where is None else f"({where}) and {value.where}"
            assert passing(connection, combined) == value.documents, (facet.field, value, where)
        assert facet.documents >= max(value.documents for value in facet.values)
    return facets


def values(facets: Sequence[Facet]) -> dict[str, list[tuple[str, int]]]:
    return {facet.field: [(value.value, value.documents) for value in facet.values] for facet in facets}


def test_facets_are_the_values_that_documents_share(stored: sqlite3.Connection) -> None:
    assert values(require_counts(stored)) == {
        "folder": [("docs", 3), ("it's [new]", 2), ("!x*y", 1)],
        "lang": [("en", 2), ("fr", 2)],
        "author.name": [("Ada", 3), ("Bo", 1)],
        "city": [("Key", 2), ("Door", 1)],
        "tags": [("C++", 2), ("Python", 2)],
        "a.b": [("8", 2)],
        "and": [("true", 2)],
        "metadata.kind": [("odd", 2)],
        "metadata.metadata": [("m", 2)],
        "": [("e", 2)],
    }


@pytest.mark.parametrize(
    "where", ["lang=en", "page=2", "city=key", "path:docs/**", "date>=2024 and page=2", "id>99"]
)
def test_facets_count_only_what_passes_a_filter(stored: sqlite3.Connection, where: str) -> None:
    facets = values(require_counts(stored, where))
    if where == "path:docs/**":
        assert facets["folder"] == [("docs/a", 2), ("docs/b", 1)]
    if where == "page=2":
        assert "city" not in facets or facets["city"] == [("Key", 1)]
    if where == "id>99":
        assert facets == {}


def test_values_beyond_the_most_frequent_are_counted(tmp_path: Path) -> None:
    with closing(empty(tmp_path)) as connection:
        for number in range(60):
            add_document(
                connection,
                b"%d.md" % number,
                {"tag": [number % 20, f"{number}"], "kind": number, "year": 2000 + number % 15},
            )
        facets = {facet.field: facet for facet in require_counts(connection)}
        assert set(facets) == {"tag", "year", "metadata.kind"}  # numbers are ranges
        assert (len(facets["tag"].values), facets["tag"].others) == (12, 48)
        assert (len(facets["year"].values), facets["year"].others) == (4, 0)


NAMES = st.text("ab.'\"( =Kß\u0301\u00e9", max_size=4) | st.sampled_from(
    ["kind", "path", "metadata", "and", "Metadata.x"]
)
SCALARS = (
    st.text("aA'\"é\u0301 .8", max_size=3)
    | st.sampled_from(
        [
            "2024-01-01",
            "2024",
            "2023-12-31T23:30:00-02:00",
            2024,
            2024.0,
            8,
            8.0,
            "08",
            True,
            1,
            "true",
            None,
        ]
    )
    | st.integers(-3, 3)
)
METADATA = st.dictionaries(
    NAMES,
    st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2)
    ),
    max_size=4,
)
PATHS = st.lists(st.text("ab*[]\\!'#? é\u0301", min_size=1, max_size=3), max_size=2)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    documents=st.lists(st.tuples(PATHS, METADATA), min_size=2, max_size=6),
    annotations=st.lists(st.tuples(NAMES, SCALARS | st.lists(SCALARS)), max_size=4),
)
def test_every_filter_of_random_facets_passes_as_many_as_it_says(
    tmp_path: Path, documents: Any, annotations: Any
) -> None:
    folder = tmp_path / "random"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with closing(empty(folder)) as connection:
        for number, (path, metadata) in enumerate(documents):
            add_document(connection, "/".join([*path, f"{number}.md"]).encode(), metadata)
        annotate(
            connection,
            {
                number: {name: value}
                for number, (name, value) in enumerate(annotations[: len(documents)], 1)
            },
            [name for name, _ in annotations],
        )
        require_counts(connection)
        require_counts(connection, "path:'*[02468].md'")


def test_facets_are_cached_until_the_index_changes(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.build(notes, model=str(tiny_model))
    calls = []
    monkeypatch.setattr(
        "search.store.facets.facets_of", lambda *args: calls.append(args) or facets_of(*args)
    )
    facets = index.facets()
    assert values(facets) == {"kind": [("csv", 2), ("markdown", 1), ("text", 1)], "folder": [("deep", 1)]}
    assert index.facets() == facets
    assert len(calls) == 1
    assert values(index.facets("kind=csv")) == {}
    with annotating(index.path, "ner", {}, ["city"]) as run:
        run.put([Annotation(id_, {"city": ["Key"] if id_ < 4 else []}) for id_ in run.todo])
    assert "city" in values(index.facets())
    assert len(calls) == 3
    with pytest.raises(InputError, match="in the filter"):
        index.facets("kind=")


def test_many_numbers_become_ranges(tmp_path: Path) -> None:
    with closing(empty(tmp_path)) as connection:
        for number in range(40):
            metadata = {"price": number % 23, "same": f"1.{'0' * number}"}
            add_document(connection, b"%d.md" % number, metadata, passages=(("", None),))
        (price,) = (facet for facet in facets_of(connection, None) if facet.field == "price")
        assert [value.value for value in price.values][::3] == ["under 5", "15 or more"]
        counts = [value.documents for value in price.values]
        assert counts == [passing(connection, value.where) for value in price.values]
        assert sum(counts) == price.documents == 40
