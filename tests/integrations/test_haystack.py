"""The components in pipelines, and Haystack's own tests of filters, asked of an index of the same documents."""

import ast
import json
import pickle
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers import MultiQueryTextRetriever
from haystack.core.serialization import component_from_dict, component_to_dict
from haystack.errors import FilterError
from haystack.testing.document_store import FilterDocumentsTest, create_filterable_docs
from haystack.utils.filters import document_matches_filter

from search import Encoder, Index, InputError
from search.integrations import OF_QUERY
from search.integrations.filters import where_of
from search.integrations.haystack import SeewhyDocumentEmbedder, SeewhyRetriever, SeewhyTextEmbedder
from tests.conftest import REPOSITORY

PAGE = REPOSITORY / "corpora" / "handbook" / "73-haystack.md"
QUERY = "a document"
ALL = {"per_document": 0, "all_copies": True}

Built = Callable[[list[Document]], SeewhyRetriever]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, tiny: Encoder) -> Built:
    """A retriever over an index of documents, which is made once for the same contents."""
    made: dict[str, Index] = {}

    def retriever(documents: list[Document]) -> SeewhyRetriever:
        records = "\n".join(
            json.dumps({"title": "a title", **d.meta, "content": d.content}) for d in documents
        )
        if records not in made:
            folder = tmp_path_factory.mktemp("folder")
            (folder / "documents.jsonl").write_text(records, encoding="utf-8")
            place = str(tmp_path_factory.mktemp("index") / "of_documents")
            made[records] = Index.build(folder, index=place, model=tiny.model, text_field="content")
        return SeewhyRetriever(made[records], top_k=100, options=ALL)

    return retriever


@pytest.fixture
def retriever(built: Built) -> SeewhyRetriever:
    more = {"by": {"name": "Ada", "born": None}, "draft": True, 'say "hello"': 1.5, "number": 0}
    dated = {"date": "1972-12-11T20:54:58+01:00", "name": 'a "b" or c'}
    return built(
        [
            *create_filterable_docs(),
            Document(content="more", meta=more),
            Document(content="dated", meta=dated),
        ]
    )


class Store:
    """What of a document store the tests of filters use."""

    def __init__(self, built: Built) -> None:
        self._built, self._documents = built, []

    def write_documents(self, documents: list[Document]) -> None:
        self._documents = documents

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        return self._built(self._documents).run(QUERY, filters)["documents"] if self._documents else []


class TestFilters(FilterDocumentsTest):
    @pytest.fixture
    def document_store(self, built: Built) -> Store:
        return Store(built)

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        assert sorted(d.content or "" for d in received) == sorted(d.content or "" for d in expected)


def of(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


AND = {
    "operator": "AND",
    "conditions": [of("meta.number", ">", -5), of("meta.chapter", "in", ["intro", "abstract"])],
}


@pytest.mark.parametrize(
    "filters",
    [
        of("name", "==", "name_1"),
        of("meta.by.name", "==", "Ada"),
        of("meta.by.born", "==", None),
        of("meta.draft", "in", [True, None]),
        of('meta.say "hello"', "<=", 1.5),
        of("meta.name", "in", ['a "b" or c', "zeros_doc"]),
        of("meta.name", "in", []),
        of("meta.name", "not in", []),
        of("meta.date", "==", "1972-12-11T19:54:58Z"),
        of("meta.date", ">=", datetime(1972, 12, 11, 19, 54, 58)),
        of("meta.kind", "!=", "jsonl"),
        of("meta.page", "==", None),
        {"operator": "NOT", "conditions": [AND, of("meta.date", "<", "1980-01-01T00:00:00")]},
        {
            "operator": "OR",
            "conditions": [AND, {"operator": "NOT", "conditions": [of("meta.number", "!=", None)]}],
        },
    ],
    ids=str,
)
def test_what_passes_is_what_haystack_itself_lets_pass(
    retriever: SeewhyRetriever, filters: dict[str, Any]
) -> None:
    everything = retriever.run(QUERY)["documents"]
    assert len(everything) == 20
    expected = [document.id for document in everything if document_matches_filter(filters, document)]
    assert [document.id for document in retriever.run(QUERY, filters)["documents"]] == expected


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (of("meta.a", "like", "b"), "there is no operator 'like'"),
        (of("meta.a", "==", [1]), r"\[1\] cannot be filtered by"),
        (of("meta.a", "==", float("nan")), "nan cannot be filtered by"),
        (of("meta.a", ">", True), "'>' compares numbers and dates"),
        (of("meta.a", "in", "b"), "take a list, not 'b'"),
        ({"operator": "XOR", "conditions": []}, "there is no logical operator 'XOR'"),
        ({"operator": "AND", "conditions": []}, "'conditions' is empty"),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_refused_by_name(
    retriever: SeewhyRetriever, filters: dict[str, Any], said: str
) -> None:
    with pytest.raises(FilterError, match=said):
        retriever.run(QUERY, filters)


def test_the_handbook_shows_what_filters_become() -> None:
    rows = re.findall(r"^\| `(\{.*\})` \| `(.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 4
    for filters, where in rows:
        assert where_of(ast.literal_eval(filters)) == where


def test_a_field_that_no_document_has_is_an_error(retriever: SeewhyRetriever) -> None:
    with pytest.raises(InputError, match="did you mean 'number'"):
        retriever.run(QUERY, of("meta.numbr", "==", 1))


def test_filters_narrow_what_the_options_let_through(retriever: SeewhyRetriever) -> None:
    options = {**ALL, "where": "number=2 or number=-2"}
    narrow = SeewhyRetriever(retriever.index, 100, of("meta.name", "==", "name_0"), options)
    assert {document.meta["number"] for document in narrow.run(QUERY)["documents"]} == {2, -2}
    (document,) = narrow.run(QUERY, of("meta.number", ">", 0), top_k=1)["documents"]
    assert document.meta["number"] == 2


def test_documents_are_the_hits_of_the_query(notes: Path, tiny: Encoder) -> None:
    index = Index.build(notes, model=tiny.model)
    pipeline = Pipeline()
    pipeline.add_component("embedder", SeewhyTextEmbedder(tiny.model))
    pipeline.add_component("retriever", SeewhyRetriever(index, top_k=2, options={"mode": "dense"}))
    pipeline = Pipeline.loads(pipeline.dumps(), allowed_modules=["search"])
    found = pipeline.run({"retriever": {"query": "key"}, "embedder": {"text": "key"}})
    hits = index.query("key", 2, mode="dense")
    for document, hit in zip(found["retriever"]["documents"], hits, strict=True):
        assert (document.id, document.content, document.score) == (
            f"{index.path.name}/p{hit.passage_id}", hit.text, hit.score,
        )  # fmt: skip
        assert Document.from_dict(document.to_dict()) == document
    np.testing.assert_allclose(found["embedder"]["embedding"], tiny.encode(["key"])[0], atol=1e-6)


def test_figures_of_the_query_come_where_they_are_asked_for(notes: Path, tiny: Encoder) -> None:
    retriever = SeewhyRetriever(Index.build(notes, model=tiny.model), top_k=1, figures=True)
    again = component_from_dict(SeewhyRetriever, component_to_dict(retriever, "one"), "one")
    (document,) = again.run("key")["documents"]
    assert sum(document.meta["addends"].values()) == pytest.approx(document.score)
    (document,) = SeewhyRetriever(retriever.index, top_k=1).run("key")["documents"]
    assert not set(OF_QUERY) & set(document.meta) and document.meta["heading"]


def test_several_indexes_are_asked_as_one_and_written_by_their_names(notes: Path, tiny: Encoder) -> None:
    index = Index.build(notes, model=tiny.model)
    retriever = SeewhyRetriever([index.name], top_k=1)
    again = component_from_dict(SeewhyRetriever, component_to_dict(retriever, "one"), "one")
    (document,) = again.run("key")["documents"]
    assert document.id == f"{document.meta['index']}/p{document.meta['passage_id']}"
    assert {"documents": [document]} == retriever.run("key")


def test_a_component_of_haystack_that_takes_a_retriever_takes_it(retriever: SeewhyRetriever) -> None:
    several = MultiQueryTextRetriever(retriever=retriever)
    found = several.run(["foo", "bar"], {"top_k": 1, "filters": of("meta.number", "==", -10)})["documents"]
    assert {document.meta["number"] for document in found} == {-10}


def test_documents_come_with_embeddings(tiny: Encoder) -> None:
    given = [Document(content="key", meta={"a": 1}), Document(content=None)]
    embedder = SeewhyDocumentEmbedder(tiny.model)
    first, second = embedder.run(given)["documents"]
    np.testing.assert_allclose([first.embedding, second.embedding], tiny.encode(["key", ""]), atol=1e-6)
    assert pickle.loads(pickle.dumps(embedder)).run(given)["documents"] == [first, second]
    assert (first.meta, given[0].embedding) == ({"a": 1}, None)
