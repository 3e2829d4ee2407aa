"""The component in pipelines of Haystack."""

from pathlib import Path

import pytest

from search import Encoder, Index
from search.integrations import OF_QUERY


@pytest.fixture
def index(notes: Path, tiny: Encoder) -> Index:
    return Index.build(notes, model=tiny.model)


def test_documents_are_the_hits_of_the_query(index: Index) -> None:
    from haystack import Document, Pipeline

    from search.integrations.haystack import SeewhyRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", SeewhyRetriever(index, top_k=2, options={"mode": "dense"}))
    pipeline = Pipeline.loads(pipeline.dumps(), allowed_modules=["search"])
    output = pipeline.run({"retriever": {"query": "key"}})
    hits = index.query("key", 2, mode="dense")
    for document, hit in zip(output["retriever"]["documents"], hits, strict=True):
        assert (document.id, document.content, document.score) == (
            f"{index.path.name}/p{hit.passage_id}", hit.text, hit.score,
        )  # fmt: skip
        assert Document.from_dict(document.to_dict()) == document


def test_figures_of_the_query_come_only_on_request(index: Index) -> None:
    from haystack.core.serialization import component_from_dict, component_to_dict

    from search.integrations.haystack import SeewhyRetriever

    retriever = SeewhyRetriever(index, top_k=1, figures=True)
    again = component_from_dict(SeewhyRetriever, component_to_dict(retriever, "one"), "one")
    (document,) = again.run("key")["documents"]
    assert sum(document.meta["addends"].values()) == pytest.approx(document.score)
    (document,) = SeewhyRetriever(index, top_k=1).run("key")["documents"]
    assert not set(OF_QUERY) & set(document.meta) and document.meta["heading"]


def test_several_indexes_are_queried_as_one_and_serialized_by_name(index: Index) -> None:
    from haystack.core.serialization import component_from_dict, component_to_dict

    from search.integrations.haystack import SeewhyRetriever

    retriever = SeewhyRetriever([index.name], top_k=1)
    again = component_from_dict(SeewhyRetriever, component_to_dict(retriever, "one"), "one")
    (document,) = again.run("key")["documents"]
    assert document.id == f"{document.meta['index']}/p{document.meta['passage_id']}"
    assert {"documents": [document]} == retriever.run("key")


def test_the_retriever_works_with_a_filter_in_a_component_of_haystack(index: Index) -> None:
    from haystack.components.retrievers import MultiQueryTextRetriever

    from search.integrations.haystack import SeewhyRetriever

    several = MultiQueryTextRetriever(retriever=SeewhyRetriever(index))
    documents = several.run(["key", "door"], {"top_k": 1, "where": "name=keys.md"})["documents"]
    assert {document.meta["document"] for document in documents} == {"keys.md"}
