"""LangChain: `SeewhyRetriever` retrieves passages of an index, `SeewhyEmbeddings` encodes texts.

retriever = SeewhyRetriever(index="notes", k=5, figures=True)
retriever.invoke("how do I rotate the keys?")[0].metadata["addends"]
"""

from __future__ import annotations

from functools import partial
from typing import Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.integrations import Opens, described, embedded, extra, hits_of, id_of, opened

with extra("langchain", "LangChain"):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
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
        find = partial(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options
        )
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
