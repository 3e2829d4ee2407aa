"""LlamaIndex: `SeewhyNodeRetriever` retrieves passages of an index, `SeewhyEmbedding` encodes texts.

retriever = SeewhyNodeRetriever("notes", k=5, figures=True)
retriever.retrieve("how do I rotate the keys?")[0].metadata["addends"]
"""

from __future__ import annotations

import asyncio
from typing import Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.integrations import Opens, described, embedded, extra, hits_of, id_of, opened
from search.records.hits import Hit

with extra("llama-index", "LlamaIndex"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )

_FOR_THE_MODEL = ("title", "heading", "document", "line_start", "line_end", "page")


class SeewhyNodeRetriever(BaseRetriever):
    """Retriever of the best passages of an index, as nodes.

    Args:
        index: an open index, or its folder, path or name; a list of these, to search several indexes together; or None,
            for the index that `search.Index.open()` opens.
        k: maximum number of passages.
        figures: add score, addends, percentile, verdict and rank to the metadata. They depend on the query, so
            LlamaIndex's fusion of several queries lists a passage once for each query.
        callback_manager: callback manager of LlamaIndex.
        options: options of `search.Index.query`: mode, weight, where, since, rerank, per_document, explain ...

    `search.integrations.described` documents the metadata of a node; language models see only title, heading,
    document, lines and page. The ID of a node consists of index and passage, and is valid as long as the passage is in
    the index. [start_char_idx, end_char_idx) is its span in the document's text.

    Raises:
        IndexNotFound: the index does not exist.
    """

    def __init__(
        self,
        index: Opens = None,
        k: int = 10,
        *,
        figures: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        self.index = opened(index)
        self.k, self.figures, self.options = k, figures, options
        super().__init__(callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = hits_of(self.index, query_bundle.query_str, self.k, **self.options)
        return [NodeWithScore(node=self._node(hit), score=hit.score) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _node(self, hit: Hit) -> TextNode:
        metadata = described(hit, self.figures)
        return TextNode(
            id_=id_of(hit),
            text=hit.text,
            start_char_idx=hit.start,
            end_char_idx=hit.end,
            metadata=metadata,
            excluded_llm_metadata_keys=[key for key in metadata if key not in _FOR_THE_MODEL],
            excluded_embed_metadata_keys=list(metadata),
            relationships={
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"{hit.index}/{hit.document}")
            },
        )


class SeewhyEmbedding(BaseEmbedding):
    """Embeddings of texts, with the model's own prompts for queries and documents.

    Texts too long for the model are truncated, with one warning.

    Args:
        model: a name, a folder, or a loaded Encoder.
        embed_batch_size: number of texts that LlamaIndex passes at a time.
        options: options of `search.Encoder`: pooling, layer, dim, offline ...
    """

    _encoder: Encoder = PrivateAttr()

    def __init__(
        self, model: str | Encoder = DEFAULT_MODEL, *, embed_batch_size: int = 512, **options: Any
    ) -> None:
        encoder = model if isinstance(model, Encoder) else Encoder(model, **options)
        super().__init__(model_name=encoder.model, embed_batch_size=embed_batch_size)
        self._encoder = encoder

    def _get_query_embedding(self, query: str) -> list[float]:
        return embedded(self._encoder, [query], "query")[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return embedded(self._encoder, [text], "document")[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return embedded(self._encoder, texts, "document")

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
