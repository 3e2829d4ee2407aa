"""The retriever and the embeddings for LlamaIndex, within its own pipelines."""

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder, Index, Indexes

QUESTION = "how do I rotate the key?"


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """LlamaIndex takes seconds to import: only the process that runs these tests does."""
    global VectorStoreIndex, BaseRetriever, MockLLM, RetrieverQueryEngine, QueryFusionRetriever
    global FUSION_MODES, Document, MetadataMode, NodeWithScore, QueryBundle, TextNode
    global SeewhyEmbedding, SeewhyRetriever
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
    from llama_index.core.schema import Document, MetadataMode, NodeWithScore, QueryBundle, TextNode

    from search.integrations.llama_index import SeewhyEmbedding, SeewhyRetriever


@pytest.fixture
def index(notes: Path, tiny: Encoder) -> Index:
    return Index.build(notes, model=tiny.model, include=["*.md", "*.csv", "*.txt"])


def test_nodes_have_their_place_and_the_addends_of_their_score(index: Index) -> None:
    retriever = SeewhyRetriever(index, k=3, figures=True, where="kind=markdown")
    nodes, hits = retriever.retrieve(QUESTION), index.query(QUESTION, 3, where="kind=markdown")
    assert isinstance(retriever, BaseRetriever)
    assert [node.score for node in nodes] == [hit.score for hit in hits]
    for node, hit in zip(nodes, hits, strict=True):
        text = index.document(hit.document_id).text
        assert node.text == text[node.node.start_char_idx : node.node.end_char_idx] == hit.text
        metadata = node.metadata
        assert (metadata["path"], metadata["line_start"], metadata["line_end"]) == (
            hit.path,
            hit.line_start,
            hit.line_end,
        )
        assert metadata["heading"] == hit.heading
        assert sum(metadata["addends"].values()) == pytest.approx(hit.score)
        assert json.loads(json.dumps(metadata)) == metadata
        assert TextNode.from_dict(node.node.to_dict()) == node.node
    prompt = nodes[0].get_content(MetadataMode.LLM)
    assert nodes[0].text in prompt and "line_start" in prompt and "addends" not in prompt
    assert nodes[0].get_content(MetadataMode.EMBED) == nodes[0].text


def test_ids_are_those_of_passages_and_stay_when_other_files_change(index: Index, notes: Path) -> None:
    before = {node.text: node.node_id for node in SeewhyRetriever(index).retrieve(QUESTION)}
    (notes / "deep" / "time.txt").write_text("There is no time.\n", encoding="utf-8")
    index.update()
    after = {node.text: node.node_id for node in SeewhyRetriever(str(index.path)).retrieve(QUESTION)}
    assert len(set(after.values())) == len(after) and "There is no time." in after
    assert {id_.partition("/p")[0] for id_ in after.values()} == {index.path.name}
    same = before.keys() & after.keys()
    assert len(same) > 2 and all(before[text] == after[text] for text in same)


def test_passages_of_several_indexes_have_different_ids(notes: Path, tiny: Encoder) -> None:
    several = Indexes.open(
        [
            Index.build(notes, model=tiny.model, index=name, include=[name]).name
            for name in ("keys.md", "table.csv")
        ]
    )
    nodes = SeewhyRetriever(several).retrieve(QUESTION)
    assert len({node.node_id for node in nodes}) == len(nodes) == len(several.query(QUESTION))


def test_a_passage_that_two_retrievers_find_is_fused(index: Index) -> None:
    dense, lexical = (SeewhyRetriever(index, k=100, mode=mode) for mode in ("dense", "lexical"))
    fusion = QueryFusionRetriever(
        [dense, lexical],
        llm=MockLLM(),
        mode=FUSION_MODES.RECIPROCAL_RANK,
        num_queries=1,
        similarity_top_k=1,
    )
    (best,) = fusion.retrieve(QUESTION)
    ranks = [
        [node.node_id for node in retriever.retrieve(QUESTION)].index(best.node_id)
        for retriever in (dense, lexical)
    ]
    assert best.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))


def test_a_query_engine_and_asynchronous_calls_get_the_same_nodes(index: Index) -> None:
    retriever = SeewhyRetriever(index, 2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = engine.query(QUESTION)
    assert [source.node_id for source in answer.source_nodes] == [
        node.node_id for node in retriever.retrieve(QUESTION)
    ]
    assert "keys.md" in str(answer)

    async def both() -> list[list[NodeWithScore]]:
        return await asyncio.gather(
            retriever.aretrieve(QUESTION), retriever.aretrieve(QueryBundle("a long sound"))
        )

    first, second = asyncio.run(both())
    assert first == retriever.retrieve(QUESTION) and second == retriever.retrieve("a long sound")


def test_embeddings_are_those_of_the_encoder(tiny: Encoder) -> None:
    embedding = SeewhyEmbedding(tiny)
    texts = ["turn the lock", "time is long"]
    expected = tiny.encode(texts, role="document")
    np.testing.assert_allclose(embedding.get_text_embedding_batch(texts), expected, atol=1e-6)
    np.testing.assert_allclose(
        asyncio.run(embedding.aget_text_embedding_batch(texts)), expected, atol=1e-6
    )
    np.testing.assert_allclose(
        embedding.get_query_embedding(texts[0]), tiny.encode(texts[:1], role="query")[0], atol=1e-6
    )
    assert embedding.to_dict()["model_name"] == tiny.model
    nodes = VectorStoreIndex.from_documents([], embed_model=embedding)
    assert nodes.as_retriever(embed_model=embedding).retrieve("lock") == []


@pytest.mark.filterwarnings("ignore:.*the rest is dropped")
def test_documents_of_any_length_are_indexed(tiny: Encoder) -> None:
    documents = [Document(text=f"{word} " * 1000) for word in ("key", "water")]
    nodes = VectorStoreIndex.from_documents(documents, embed_model=SeewhyEmbedding(tiny))
    (best,) = nodes.as_retriever(similarity_top_k=1).retrieve("water")
    assert "water" in best.text


def test_embeddings_can_be_pickled(tiny: Encoder) -> None:
    embedding = SeewhyEmbedding(tiny)
    again = pickle.loads(pickle.dumps(embedding))
    assert again.get_query_embedding("key") == embedding.get_query_embedding("key")


def test_a_node_store_searches_filters_deletes_and_opens_again(tiny: Encoder, tmp_path: Path) -> None:
    from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
    from llama_index.core.vector_stores.types import FilterCondition, VectorStoreQueryMode

    from search.integrations.llama_index import SeewhyVectorStore

    store = SeewhyVectorStore(tmp_path / "store", tiny)
    documents = [
        Document(text=text, id_=f"d{i}", metadata={"n": i, "tags": ["a", f"t{i}"], "deep": {"x": None}})
        for i, text in enumerate(["turn the key", "the water is cold", "people call a number"])
    ]
    mock = MockEmbedding(1)
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=mock)

    def ask(**options: Any) -> list[str]:
        nodes = index.as_retriever(**options).retrieve("key")
        return [node.node.ref_doc_id for node in nodes]

    (best,) = index.as_retriever(similarity_top_k=1).retrieve("key")
    assert (best.text, best.metadata) == (documents[0].text, documents[0].metadata)
    assert best.score == store.client.query("key")[0].score

    def filter_of(*filters: tuple[str, Any, str], condition: str = "and") -> MetadataFilters:
        conditions = [MetadataFilter(key=key, value=value, operator=op) for key, value, op in filters]
        return MetadataFilters(filters=conditions, condition=FilterCondition(condition))

    assert ask(filters=filter_of(("n", 1, "=="))) == ["d1"]
    assert set(ask(filters=filter_of(("n", 1, ">="), ("tags", "t2", "contains")))) == {"d2"}
    assert set(ask(filters=filter_of(("n", 0, "=="), ("n", [2], "in"), condition="or"))) == {"d0", "d2"}
    assert ask(filters=filter_of(("n", 9, "=="))) == []
    assert set(ask(doc_ids=["d1", "d2"])) == {"d1", "d2"}
    assert ask(vector_store_query_mode=VectorStoreQueryMode.TEXT_SEARCH) == ["d0"]
    assert len(ask(vector_store_query_mode=VectorStoreQueryMode.MMR)) == 2
    index.delete_ref_doc("d0")
    again = SeewhyVectorStore(tmp_path / "store")
    assert {node.ref_doc_id for node in again.get_nodes()} == {"d1", "d2"}
    again.delete_nodes(filters=filter_of(("n", 1, "==")))
    assert [node.get_content() for node in again.get_nodes()] == [documents[2].text]
    again.clear()
    assert again.get_nodes() == []
