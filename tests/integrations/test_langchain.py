"""LangChain's own tests of retrievers, embeddings and stores, and tests beyond these."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests

from search import Encoder, Index, Indexes
from search.integrations.langchain import SeewhyEmbeddings, SeewhyRetriever, SeewhyVectorStore
from tests.conftest import save_tiny_bert


@pytest.fixture
def index(notes: Path, tiny: Encoder) -> Index:
    return Index.build(notes, model=tiny.model, include=["*.md", "*.csv"])


class WithIndex:
    @pytest.fixture(autouse=True)
    def _attributes(self, index: Index, tiny: Encoder) -> None:
        self.index, self.tiny = index, tiny


class TestRetriever(WithIndex, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[SeewhyRetriever]:
        return SeewhyRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, "k": 2}

    @property
    def retriever_query_example(self) -> str:
        return "how do I rotate the key?"


class TestEmbeddings(WithIndex, EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[SeewhyEmbeddings]:
        return SeewhyEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"model": self.tiny}


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> SeewhyVectorStore:
        return SeewhyVectorStore(self.get_embeddings())


def test_a_store_searches_filters_and_opens_again(tiny: Encoder, tmp_path: Path) -> None:
    place, embeddings = tmp_path / "store", SeewhyEmbeddings(tiny)
    texts = ["turn the key", "the water is cold", "people call a number " * 40]
    metadatas = [{"n": i, "tags": ["a", {"b": None}]} for i in range(3)]
    store = SeewhyVectorStore.from_texts(texts, embeddings, metadatas, ids=list("xyz"), index=place)
    ((best, score),) = store.similarity_search_with_score("key", k=1)
    assert (best.id, best.page_content, best.metadata) == ("x", texts[0], metadatas[0])
    assert score == store.store.index.query("key")[0].score
    assert [document.id for document in store.similarity_search("key", filter={"n": 1})] == ["y"]
    assert store.similarity_search("key", filter=lambda document: document.metadata["n"] > 5) == []
    assert [document.id for document in store.similarity_search("key", where="n=2")] == ["z"]
    vector = embeddings.embed_documents(["the water is cold"])[0]
    assert store.similarity_search_by_vector(vector, k=1)[0].id == "y"
    assert len(store.max_marginal_relevance_search("key", k=3)) == 3
    unlike = store.max_marginal_relevance_search_by_vector(vector, k=3, lambda_mult=0.3)
    assert unlike[0].id == "y" and len(unlike) == 3
    alike = store.max_marginal_relevance_search_by_vector(vector, k=2, lambda_mult=1)
    assert alike == store.similarity_search_by_vector(vector, k=2)
    assert store.as_retriever(search_kwargs={"k": 1}).invoke("key")[0].id == "x"
    again = SeewhyVectorStore(embeddings, index=place)
    assert [document.page_content for document in again.get_by_ids(["z", "?"])] == [texts[2]]
    other = SeewhyVectorStore.from_texts(["another"], embeddings, ids=["x"])
    assert other.get_by_ids(["x"]) != again.get_by_ids(["x"])


class TestEmbeddingsOffline(WithIndex, EmbeddingsUnitTests):
    embeddings_class = TestEmbeddings.embeddings_class
    embedding_model_params = TestEmbeddings.embedding_model_params


QUERY = "rotate the key"


def test_documents_are_the_hits_of_the_query(index: Index) -> None:
    hits = index.query(QUERY, 3)
    documents = SeewhyRetriever(index=index, k=3, figures=True).invoke(QUERY)
    assert [document.id for document in documents] == [
        f"{index.path.name}/p{hit.passage_id}" for hit in hits
    ]
    for document, hit in zip(documents, hits, strict=True):
        metadata = json.loads(json.dumps(document.metadata))
        assert document.page_content == hit.text
        assert (metadata["path"], metadata["line_start"], metadata["heading"]) == (
            hit.path,
            hit.line_start,
            hit.heading,
        )
        assert metadata["score"] == hit.score
        assert sum(metadata["addends"].values()) == pytest.approx(hit.score, abs=1e-6)


def test_a_passage_is_the_same_document_for_every_query(index: Index) -> None:
    """`MultiQueryRetriever` compares whole documents when it unites them."""
    retriever = SeewhyRetriever(index=index, k=100)
    first, second = retriever.invoke(QUERY), retriever.invoke("a long time on the water", mode="lexical")
    by_id = {document.id: document for document in first}
    assert second and all(by_id[document.id] == document for document in second)


def test_a_copy_opens_its_index_again(index: Index) -> None:
    retriever = SeewhyRetriever(index=index, k=3)
    several = SeewhyRetriever(index=[str(index.path)], k=3)
    for original in (retriever, several):
        for duplicate in (pickle.loads(pickle.dumps(original)), original.model_copy(deep=True)):
            assert duplicate.index is not original.index
            assert duplicate.invoke(QUERY) == original.invoke(QUERY)


async def test_options_are_given_to_the_retriever_or_to_one_call(index: Index) -> None:
    retriever = SeewhyRetriever(index=index, options={"where": "kind=csv"})
    assert {document.metadata["title"] for document in retriever.invoke(QUERY)} == {"first", "second"}
    (explained,) = await retriever.ainvoke(QUERY, k=1, where="kind=markdown", explain=True)
    metadata = json.loads(json.dumps(explained.metadata))
    total = sum(share["contribution"] for share in metadata["shares"]) + metadata["residual"]
    assert (metadata["kind"], total) == ("markdown", pytest.approx(metadata["score"], abs=1e-6))


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"weight": 0.3}, ["meaning", "words"]),
        ({"mode": "dense"}, ["meaning"]),
        ({"mode": "lexical"}, ["words"]),
        ({"rerank": "late"}, ["meaning", "words", "rerank"]),
    ],
    ids=str,
)
def test_addends_sum_to_the_score_in_every_mode(
    index: Index, options: dict[str, Any], parts: list[str]
) -> None:
    for document in SeewhyRetriever(index=index, figures=True).invoke(QUERY, **options):
        addends = document.metadata["addends"]
        assert list(addends) == parts
        assert sum(addends.values()) == pytest.approx(document.metadata["score"], abs=1e-6)


def test_an_index_is_opened_by_its_folder_and_several_are_queried_as_one(
    index: Index, notes: Path
) -> None:
    assert SeewhyRetriever(index=notes).invoke(QUERY) == SeewhyRetriever(index=index).invoke(QUERY)
    (document,) = SeewhyRetriever(index=Indexes([index]), k=1).invoke(QUERY)
    assert document.id == f"{document.metadata['index']}/p{document.metadata['passage_id']}"


def test_queries_and_documents_have_the_prompts_of_the_model(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    prompts = {"prompts": {"query": "find: ", "document": "text: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), encoding="utf-8")
    embeddings = SeewhyEmbeddings(str(folder))
    query, document = Encoder(str(folder)).encode(["find: key", "text: key"])
    np.testing.assert_allclose(embeddings.embed_query("key"), query, atol=1e-6)
    np.testing.assert_allclose(embeddings.embed_documents(["key"])[0], document, atol=1e-6)


def test_long_texts_are_truncated_with_one_warning(tiny_model: Path) -> None:
    embeddings = SeewhyEmbeddings(str(tiny_model), max_tokens=17)
    with pytest.warns(UserWarning, match="reads at most 17 tokens") as warnings:
        long = [embeddings.embed_query("key " * 100), *embeddings.embed_documents(["key", "key " * 100])]
    assert len(warnings) == 1
    np.testing.assert_allclose(long[0], embeddings.embed_query("key " * 15), atol=1e-6)


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_embeddings_can_be_copied(tiny: Encoder, copy_of: Callable[[Any], Any]) -> None:
    embeddings = SeewhyEmbeddings(tiny)
    assert copy_of(embeddings).embed_query("key") == embeddings.embed_query("key")
