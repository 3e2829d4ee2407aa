"""Verbs of a document store: ids, len, in, count, get, delete, set_metadata, peek."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Document, Encoder, Index, InputError

DOCUMENTS = [
    {"id": "b", "text": "The key opens the door.", "colour": "red", "year": 2023},
    {"id": "a", "text": "The water is cold.", "colour": "blue", "year": 2024, "tags": ["sun", "cup"]},
    {"id": "c/d", "text": "A bird and a stone.", "colour": "red", "year": 2025},
    {"id": "empty", "text": "", "colour": "red"},
]


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Index:
    store = Index.create(str(tmp_path / "store"), encoder=tiny)
    store.upsert(DOCUMENTS)
    return store


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def test_documents_are_listed_in_the_order_in_which_they_were_added(index: Index) -> None:
    assert index.ids() == ["b", "a", "c/d", "empty"]
    assert index.ids(limit=2) == ["b", "a"] and index.ids(limit=1, offset=1) == ["a"]
    assert index.ids(offset=9) == [] and index.ids(limit=0) == []
    assert len(index) == index.count() == 4 and bool(index)
    assert ids(index.peek()) == ["b", "a", "c/d", "empty"] and ids(index.peek(1)) == ["b"]
    assert index.get() == [Document.of(document) for document in DOCUMENTS]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"colour": "red"}, ["b", "c/d"]),
        ("colour=red", ["b", "c/d"]),
        ({"colour": "red", "year": {">=": 2024}}, ["c/d"]),
        ({"year": {">": 2023, "<": 2025}}, ["a"]),
        ({"colour": ["blue", "green"]}, ["a"]),
        ({"tags": "sun"}, ["a"]),
        ({"tags": None}, ["b", "c/d"]),
        ({"year": {"!=": np.int64(2024)}}, ["b", "c/d"]),
        ({"or": [{"colour": "blue"}, {"year": 2025}]}, ["a", "c/d"]),
        ({"not": {"colour": "red"}}, ["a"]),
        ({"and": [{"colour": "red"}, {"path": {":": "c/**"}}]}, ["c/d"]),
        ({"year": "2024"}, ["a"]),
    ],
)
def test_a_filter_is_a_text_or_a_mapping_everywhere(
    index: Index, where: Any, expected: list[str]
) -> None:
    assert index.ids(where=where) == expected
    assert index.count(where=where) == len(expected)
    assert ids(index.get(where=where)) == expected
    assert ids(index.get(["c/d", "a", "b", "none"], where=where)) == [
        id_ for id_ in ("c/d", "a", "b") if id_ in expected
    ]
    assert {hit.document for hit in index.query("key water bird", where=where)} == set(expected)
    both = search.indexes.Indexes([index]) if hasattr(search, "indexes") else index
    assert {hit.document for hit in both.query("key water bird", where=where)} == set(expected)
    assert index.delete(where=where).removed == len(expected)
    assert index.ids() == [id_ for id_ in ("b", "a", "c/d", "empty") if id_ not in expected]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({}, "the filter is an empty mapping"),
        (
            {"year": {"~": 1}},
            "unknown operator '~' for the field 'year' of a filter. Choose from: =, !=,",
        ),
        ({"year": {}}, "the mapping of operators for the field 'year' of a filter is empty"),
        ({"colour": "red", "or": [{"year": {}}]}, "the mapping of operators for the field 'year'"),
        ({"year": np.array([1, 2])}, "for the field 'year' of a filter is neither a text"),
        ({"year": []}, "the list of values for the field 'year' of a filter is empty"),
        (
            {"year": float("nan")},
            "nan for the field 'year' of a filter is neither a text, a finite number",
        ),
        ({"or": {"a": 1}}, "'or' in a filter needs a list of filters"),
        ({1: "a"}, "1 in a filter is not the name of a field"),
        ({"nowhere": 1}, "no document has a field 'nowhere'"),
    ],
)
def test_a_wrong_mapping_is_refused(index: Index, where: Any, message: str) -> None:
    for ask in (
        index.ids,
        index.get,
        index.count,
        index.delete,
        lambda where: index.query("key", where=where),
    ):
        with pytest.raises(InputError) as error:
            ask(where=where)
        assert message in str(error.value)
    assert len(index) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a b", "it's"),
        ("has", "x=1"),
        ("x", 'say "no"'),
        ("x", "(a, b)"),
        ("x", "2024-05-01"),
        ("y", True),
        ("y", -1.5),
    ],
)
def test_names_and_values_need_no_quotes_of_the_caller(tiny: Encoder, name: str, value: Any) -> None:
    with Index.create(encoder=tiny) as index:
        index.upsert([{"id": "1", "text": "key", name: value}, {"id": "2", "text": "key", name: "other"}])
        assert index.ids(where={name: value}) == ["1"]


def test_numbers_of_all_kinds_are_ids(index: Index) -> None:
    index.upsert([{"id": np.int64(7), "text": "key"}, {"id": 8, "text": "cup"}])
    assert "7" in index and 7 in index and np.int64(8) in index and 9 not in index
    assert ids(index.get([np.int64(8), 7])) == ["8", "7"] and ids(index.get(8)) == ["8"]
    assert index.delete(7).removed == 1 and index.delete([np.int64(8), 9]).removed == 1
    assert None not in index and True not in index


def test_a_single_document_may_be_passed(index: Index) -> None:
    assert index.upsert({"id": "new", "text": "key"}).added == 1
    assert index.upsert(Document("other", "cup")).added == 1
    assert {"new", "other"} <= set(index.ids())


def test_metadata_are_changed_without_the_text(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    generation = index.generation
    done = index.set_metadata("a", {"colour": "green", "tags": None, "new": [1, 2]})
    assert (done.changed, done.encoded) == (1, 0) and index.generation > generation
    (document,) = index.get("a")
    assert document == Document(
        "a", "The water is cold.", metadata={"colour": "green", "year": 2024, "new": [1, 2]}
    )
    assert (
        index.ids(where={"new": 2}) == ["a"] and index.query("water", 1)[0].metadata["colour"] == "green"
    )
    assert index.set_metadata("a", {"colour": "green"}).unchanged == 1
    with pytest.raises(InputError, match="no document 'nope' in the index. Add it with upsert."):
        index.set_metadata("nope", {"a": 1})


def test_nothing_is_deleted_by_mistake(index: Index) -> None:
    with pytest.raises(
        InputError, match=r"delete needs IDs or a filter. To delete the whole index, use remove\(\)."
    ):
        index.delete()
    assert index.delete([]).removed == 0 and len(index) == 4
    for wrong in ({"limit": -1}, {"offset": -1}):
        with pytest.raises(InputError, match="limit and offset are numbers from 0"):
            index.ids(**wrong)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="limit and offset are numbers from 0"):
            index.get(["a", "b"], **wrong)  # type: ignore[arg-type]


def test_an_index_of_a_folder_lists_its_documents_by_path(tmp_path: Path, tiny: Encoder) -> None:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    for name, text in {
        "z.md": "# Key\n\nThe key.", "sub/a.txt": "Water.", "t.csv": "text,colour\nred stone,red\nblue cup,blue\n",
    }.items():  # fmt: skip
        (folder / name).write_text(text, encoding="utf-8")
    index = Index.build(folder, encoder=tiny)
    assert index.ids() == ["sub/a.txt", "t.csv#1", "t.csv#2", "z.md"]
    assert len(index) == index.status().documents == 4
    assert index.ids(where={"colour": "blue"}) == ["t.csv#2"]
    assert "z.md" in index and "t.csv#2" in index
    assert (
        "t.csv" not in index and "t.csv#3" not in index and "t.csv#x" not in index and "none" not in index
    )
    assert f"t.csv#{9**30}" not in index and "\ud800" not in index
    for change in (
        index.get,
        index.peek,
        lambda: index.delete("z.md"),
        lambda: index.set_metadata("z.md", {}),
    ):
        with pytest.raises(InputError, match="belongs to the folder"):
            change()
