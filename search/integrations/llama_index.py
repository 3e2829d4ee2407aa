"""LlamaIndex: `SeewhyRetriever` retrieves passages of an index, `SeewhyEmbedding` encodes texts, `SeewhyVectorStore`
stores nodes.

retriever = SeewhyRetriever("notes", k=5, figures=True)
retriever.retrieve("how do I rotate the keys?")[0].metadata["addends"]
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.index import Index
from search.integrations import Opens, TextStore, described, embedded, extra, hits_of, id_of, opened
from search.records import memory_document
from search.records.hits import Hit

with extra("llama-index", "LlamaIndex"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import (
        build_metadata_filter_fn,
        metadata_dict_to_node,
        node_to_metadata_dict,
    )

_FOR_THE_MODEL = ("title", "heading", "document", "line_start", "line_end", "page")


class SeewhyRetriever(BaseRetriever):
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


_MODES = {
    VectorStoreQueryMode.SPARSE: "lexical",
    VectorStoreQueryMode.TEXT_SEARCH: "lexical",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
}


class SeewhyVectorStore(BasePydanticVectorStore):
    """A vector store of nodes, which encodes them itself and ranks by meaning and keywords.

    Args:
        index: an open index of documents from memory, or the name or path of one, which is created unless it exists.
            None makes a temporary one.
        model: encoder of a new index: a name, a folder, or a loaded Encoder.
        options: options of `search.Index.query` for all queries: mode, weight, where, rerank ...

    The query modes SPARSE and TEXT_SEARCH rank by keywords, MMR by maximal marginal relevance, all others as `options`
    say. LlamaIndex also encodes nodes with its own `embed_model`, whose embeddings are not used: give
    `embed_model=MockEmbedding(1)` to save the time.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    _store: TextStore = PrivateAttr()
    _options: dict[str, Any] = PrivateAttr()

    def __init__(
        self,
        index: Index | str | Path | None = None,
        model: str | Encoder = DEFAULT_MODEL,
        *,
        offline: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(stores_text=True, is_embedding_query=False)
        encoder = model if isinstance(model, Encoder) else None
        loading = {} if encoder else {"model": model, "offline": offline}
        self._store, self._options = TextStore(index, encoder, **loading), options

    @property
    def client(self) -> Index:
        """The index."""
        return self._store.index

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Store nodes, replacing those with the same IDs; return the IDs."""
        self.client.upsert(map(_stored, nodes))
        return [node.node_id for node in nodes]

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes by ID and filters."""
        matches = self._store.get(node_ids)
        kept = None if filters is None else set(self._passing(filters))
        return [_node_of(document) for document in matches if kept is None or document.id in kept]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete the nodes of a document."""
        self._store.delete(
            [document.id for document in self._store.get() if _source_of(document) == ref_doc_id]
        )

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any
    ) -> None:
        """Delete nodes by ID and filters."""
        self._store.delete([node.node_id for node in self.get_nodes(node_ids, filters)])

    def clear(self) -> None:
        """Delete all nodes."""
        self._store.delete(None)

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """Return the best nodes with their scores."""
        options = {**self._options, **options}
        if query.mode in _MODES:
            options["mode"] = _MODES[query.mode]
        if query.mode == VectorStoreQueryMode.MMR:
            threshold = query.mmr_threshold
            options["diversity"] = 0.5 if threshold is None else 1 - threshold
        among = None
        if query.filters or query.node_ids or query.doc_ids:
            among = set(self._passing(query.filters)) & set(query.node_ids or self._store.ids())
            if query.doc_ids:
                among &= {
                    document.id
                    for document in self._store.get(among)
                    if _source_of(document) in query.doc_ids
                }
        vector = None if query.query_str else query.query_embedding
        matches = self._store.search(
            query.query_str or "", query.similarity_top_k, vector, among, **options
        )
        return VectorStoreQueryResult(
            nodes=[_node_of(document) for document, _ in matches],
            similarities=[score for _, score in matches],
            ids=[document.id for document, _ in matches],
        )

    def _passing(self, filters: MetadataFilters | None) -> list[str]:
        """Return the IDs of the nodes that pass filters."""
        nodes = {document.id: dict(document.metadata) for document in self._store.get()}
        return [id_ for id_ in nodes if build_metadata_filter_fn(nodes.__getitem__, filters)(id_)]


# Their names up to version 0.2.
SeewhyNodeRetriever, SeewhyNodeStore = SeewhyRetriever, SeewhyVectorStore


def _stored(node: BaseNode) -> memory_document.Document:
    """Return a node as a document: its metadata, and the rest of it under `_node`."""
    whole = node_to_metadata_dict(node, remove_text=True)
    own = {key: whole[key] for key in whole.keys() - node.metadata.keys()}
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return memory_document.Document(node.node_id, text, metadata={**node.metadata, "_node": own})


def _node_of(document: memory_document.Document) -> BaseNode:
    own = document.metadata["_node"]
    return metadata_dict_to_node({**document.metadata, **own}, text=document.text)


def _source_of(document: memory_document.Document) -> str:
    return str(document.metadata["_node"].get("ref_doc_id"))
