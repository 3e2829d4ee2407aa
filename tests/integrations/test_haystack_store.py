"""Haystack's own tests of document stores, and the store's retriever."""

from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing.document_store import (
    CountDocumentsTest,
    DeleteDocumentsTest,
    FilterDocumentsTest,
    WriteDocumentsTest,
)

from search import Encoder
from search.integrations.haystack import SeewhyDocumentStore, SeewhyStoreRetriever


class TestStore(CountDocumentsTest, WriteDocumentsTest, DeleteDocumentsTest, FilterDocumentsTest):
    @pytest.fixture
    def document_store(self, tiny: Encoder) -> SeewhyDocumentStore:
        return SeewhyDocumentStore(model=tiny)

    def test_write_documents(self, document_store: SeewhyDocumentStore) -> None:
        documents = [Document(content="a key", meta={"x": {"y": [1, None]}}, embedding=[0.5, 1.0])]
        assert document_store.write_documents(documents) == 1
        assert document_store.filter_documents() == documents
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(documents)


def test_a_store_has_a_retriever_and_is_saved_by_name(tiny: Encoder, tmp_path: Path) -> None:
    store = SeewhyDocumentStore(str(tmp_path / "store"), tiny)
    texts = ["turn the key", "the water is cold", "people call a number"]
    store.write_documents([Document(content=text, meta={"n": i}) for i, text in enumerate(texts)])
    retriever = SeewhyStoreRetriever(store, top_k=2)
    first, second = retriever.run("key")["documents"]
    assert (first.content, first.meta) == (texts[0], {"n": 0}) and first.score > second.score
    above = {"field": "meta.n", "operator": ">", "value": 1}
    assert [document.content for document in retriever.run("key", above)["documents"]] == [texts[2]]
    again = SeewhyDocumentStore.from_dict(store.to_dict())
    assert again.filter_documents(above)[0].content == texts[2]
