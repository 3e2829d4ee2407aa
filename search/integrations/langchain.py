"""LangChain: `SeewhyRetriever` retrieves passages of an index, `SeewhyEmbeddings` encodes texts, `SeewhyVectorStore`
stores texts.

retriever = SeewhyRetriever(index="notes", k=5, figures=True)
retriever.invoke("how do I rotate the keys?")[0].metadata["addends"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from search.encoding import Encoder
from search.encoding.function import AnyEncoder, FunctionEncoder
from search.encoding.models import DEFAULT_MODEL
from search.index import Index
from search.integrations import Opens, TextStore, described, embedded, extra, hits_of, id_of, opened
from search.records import memory_document

with extra("langchain", "LangChain"):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
    from langchain_core.vectorstores import VectorStore
    from pydantic import ConfigDict, Field, field_validator


class SeewhyRetriever(BaseRetriever):
    """Retriever of the best passages of an index.

    Attributes:
        index: an open index, or its folder, path or name; a list of these, to search several indexes together; or None,
            for the index that `search.Index.open()` opens.
        k: maximum number of passages.
        options: options of `search.Index.query`: mode, weight, where, since, rerank, per_document, explain ...
        figures: add score, addends, percentile, verdict and rank to the metadata. They depend on the query, so the
            same passage of two queries gives unequal documents.

    `k` and options of a call (`retriever.invoke("keys", k=3, where="path:ops/**")`) override those of the retriever.
    `search.integrations.described` documents the metadata. The `id` of a document consists of index and passage, and
    is valid as long as the passage is in the index.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Opens = Field(default=None, validate_default=True)
    k: int = Field(default=10, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)
    figures: bool = False

    @field_validator("index", mode="before")
    @classmethod
    def _opened(cls, index: Any) -> Any:
        return opened(index)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        hits = hits_of(self.index, query, self.k if k is None else k, **{**self.options, **options})
        return [
            Document(id=id_of(hit), page_content=hit.text, metadata=described(hit, self.figures))
            for hit in hits
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        find = partial(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options)
        return await run_in_executor(None, find)


class SeewhyEmbeddings(Embeddings):
    """Embeddings of texts, with the model's own prompts for queries and documents.

    Texts too long for the model are truncated, with one warning.

    Args:
        model: a name, a folder, or a loaded Encoder.
        options: options of `search.Encoder`: pooling, layer, dim, offline ...
    """

    def __init__(self, model: str | Encoder = DEFAULT_MODEL, **options: Any) -> None:
        self.encoder = model if isinstance(model, Encoder) else Encoder(model, **options)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return unit-length embeddings of documents."""
        return embedded(self.encoder, texts, "document")

    def embed_query(self, text: str) -> list[float]:
        """Return the unit-length embedding of a query."""
        return embedded(self.encoder, [text], "query")[0]


Keep = Callable[[Document], bool]


class SeewhyVectorStore(VectorStore):
    """A store of texts that ranks by meaning and keywords.

    Args:
        embedding: the embeddings of a new store; None takes the default model of seewhy. Give it again to open a store
            whose embeddings are not `SeewhyEmbeddings`.
        index: an open index of documents from memory, or the name or path of one, which is created unless it exists.
            None makes a temporary one.
        options: options of `search.Index.query` for all searches: mode, weight, where, rerank ... With `mode="dense"`,
            scores are cosines.

    A `filter` is a dict of metadata that must be equal, or a function that takes a document and returns True or False.
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        index: Index | str | Path | None = None,
        **options: Any,
    ) -> None:
        self._embedding, self._options = embedding, options
        self.store = TextStore(index, _encoder_of(embedding) if embedding else None)

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings that the store was created with."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> SeewhyVectorStore:
        """Return a store with these texts."""
        store = cls(embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **_: Any,
    ) -> list[str]:
        """Store texts, replacing those with the same IDs; return the IDs."""
        texts = list(texts)
        all_ids = [id_ or str(uuid4()) for id_ in ids or [None] * len(texts)]
        self.store.index.upsert(
            memory_document.Document(id_, text, metadata=metadata)
            for id_, text, metadata in zip(all_ids, texts, metadatas or [{}] * len(texts), strict=True)
        )
        return all_ids

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """Delete texts by their IDs; without IDs, delete all texts."""
        self.store.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return texts by their IDs; missing ones are left out."""
        return list(map(_document, self.store.get(ids)))

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the k best texts for a query; `filter` and options of `search.Index.query` may be given."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the k best texts with their scores; higher is better."""
        return self._matches(query, k, **options)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Document]:
        """Return the k texts whose embeddings are most similar to a vector."""
        return [document for document, _ in self._matches("", k, vector=embedding, **options)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Return texts that are relevant and unlike each other; the pool has 5 k texts, but at least 30."""
        return self.similarity_search(query, k, diversity=1 - lambda_mult, **options)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """Return texts whose embeddings are similar to a vector, and unlike each other; the pool is as above."""
        return self.similarity_search_by_vector(embedding, k, diversity=1 - lambda_mult, **options)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(max(score, 0.0), 1.0)

    def _matches(
        self, query: str, k: int, filter: dict[str, Any] | Keep | None = None, **options: Any
    ) -> list[tuple[Document, float]]:
        among = None
        if filter is not None:
            keep = partial(_has, filter) if isinstance(filter, dict) else filter
            among = [document.id for document in self.store.get() if keep(_document(document))]
        matches = self.store.search(query, k, among=among, **{**self._options, **options})
        return [(_document(document), score) for document, score in matches]


def _encoder_of(embedding: Embeddings) -> AnyEncoder:
    """Return the encoder of embeddings; those of other packages are identified by class and model name."""
    if isinstance(embedding, SeewhyEmbeddings):
        return embedding.encoder
    model = getattr(embedding, "model", None) or getattr(embedding, "model_name", None)
    name = ":".join(filter(None, (type(embedding).__name__, str(model or ""))))

    def queries(texts: list[str]) -> list[list[float]]:
        return list(map(embedding.embed_query, texts))

    return FunctionEncoder(embedding.embed_documents, name, queries)


def _document(source: memory_document.Document) -> Document:
    return Document(id=source.id, page_content=source.text, metadata=dict(source.metadata))


def _has(expected: dict[str, Any], document: Document) -> bool:
    return all(document.metadata.get(name) == value for name, value in expected.items())
