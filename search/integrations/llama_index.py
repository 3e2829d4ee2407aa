"""LlamaIndex: `SeewhyRetriever` finds passages of an index, `SeewhyEmbedding` encodes texts.

retriever = SeewhyRetriever("notes", k=5, figures=True)
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


class SeewhyRetriever(BaseRetriever):
    """The best passages of an index as nodes.

    Args:
        index: an index, or what opens one: its folder, path or name; a list of these for several that are asked as one;
            None as for `search.Index.open`.
        k: how many passages.
        figures: add addends, percentile, verdict and rank to the metadata. They differ from query to query, so that
            the same passage from two queries is no longer fused.
        callback_manager: of LlamaIndex.
        options: as of `search.Index.query`: mode, weight, where, since, rerank, per_document, explain ...

    The metadata of a node is told in `search.integrations.described`; language models are shown where it stands, and
    nothing else of it. Its id names index and passage, and stays as long as the passage does. Its characters
    [start_char_idx, end_char_idx) are those of its document's text.
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
    """Embeddings of texts; the model's prompts for queries and for documents are put before them.

    A text is cut at what the model reads, with one warning.

    Args:
        model: a name, a folder, or an Encoder that is already loaded.
        embed_batch_size: how many texts LlamaIndex hands over at a time.
        options: as of `search.Encoder`: pooling, layer, dim, offline ...
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
