"""Haystack: a component that retrieves passages of an index, and a document store with its retriever.

pipeline.add_component("retriever", SeewhyRetriever(index="notes", top_k=5))
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from search.encoding import Encoder
from search.index import Index
from search.indexes import name_of
from search.integrations import Opens, TextStore, described, extra, hits_of, id_of, opened
from search.records import memory_document

with extra("haystack", "Haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter


@component
class SeewhyRetriever:
    """Retriever of the best passages of an index.

    Args:
        index: an open index, or its folder, path or name; a list of these, to search several indexes together; or None,
            for the index that `search.Index.open()` opens.
        top_k: maximum number of passages.
        options: options of `search.Index.query`: mode, weight, where, since, rerank, per_document, explain ...
        figures: add score, addends, percentile, verdict and rank to the meta.

    `search.integrations.described` documents the meta. The `id` of a document consists of index and passage, and is
    valid as long as the passage is in the index.

    Raises:
        IndexNotFound: the index does not exist.
    """

    def __init__(
        self,
        index: Opens = None,
        top_k: int = 10,
        options: dict[str, Any] | None = None,
        figures: bool = False,
    ) -> None:
        self.index = opened(index)
        self.top_k, self.options, self.figures = top_k, options, figures

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component; the index is saved by name."""
        index = (
            name_of(self.index) if isinstance(self.index, Index) else list(map(name_of, self.index.all))
        )
        options = {name: getattr(self, name) for name in ("top_k", "options", "figures")}
        return default_to_dict(self, index=index, **options)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, where: str | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Retrieve the best passages for a query; `where` and `top_k` override the component's own."""
        options = {**(self.options or {}), **({"where": where} if where else {})}
        hits = hits_of(self.index, query, self.top_k if top_k is None else top_k, **options)
        return {
            "documents": [
                Document(
                    id=id_of(hit), content=hit.text, meta=described(hit, self.figures), score=hit.score
                )
                for hit in hits
            ]
        }


class SeewhyDocumentStore:
    """A document store that encodes documents itself and ranks them by meaning and keywords.

    Args:
        index: an open index of documents from memory, or the name or path of one, which is created unless it exists.
            None makes a temporary one.
        model: encoder of a new index; None takes the default model.
        offline: never access the Hugging Face hub.

    Filters are Haystack's own, and read all documents.
    """

    def __init__(
        self,
        index: Index | str | Path | None = None,
        model: str | Encoder | None = None,
        offline: bool = False,
    ) -> None:
        self.offline = offline
        encoder = model if isinstance(model, Encoder) else None
        loading = {} if encoder else {"model": model, "offline": offline}
        self.store = TextStore(index, encoder, **loading)

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store; the index is saved by name."""
        return default_to_dict(self, index=name_of(self.store.index), offline=self.offline)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SeewhyDocumentStore:
        """Open a serialised store."""
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        """Return the number of documents."""
        return len(self.store.ids())

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that pass a filter; None returns all.

        Raises:
            FilterError: an invalid filter.
        """
        documents = map(_document, self.store.get())
        return [
            document
            for document in documents
            if not filters or document_matches_filter(filters, document)
        ]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Store documents; return their number.

        Args:
            policy: OVERWRITE replaces documents with the same IDs, SKIP leaves them; all others raise an error.

        Raises:
            DuplicateDocumentError: an ID exists, and `policy` is neither OVERWRITE nor SKIP; nothing was stored.
            ValueError: something that is not a document.
        """
        if not isinstance(documents, list) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents needs a list of Documents.")
        existing = {document.id for document in self.store.get([document.id for document in documents])}
        if policy == DuplicatePolicy.SKIP:
            documents = [document for document in documents if document.id not in existing]
        elif existing and policy != DuplicatePolicy.OVERWRITE:
            raise DuplicateDocumentError(f"the document '{min(existing)}' exists already.")
        self.store.index.upsert(map(_stored, documents))
        return len(documents)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; missing IDs are ignored."""
        self.store.delete(document_ids)


@component
class SeewhyStoreRetriever:
    """Retriever of the best documents of a store.

    Args:
        document_store: the store.
        filters: Haystack's filters; None for all documents.
        top_k: maximum number of documents.
        options: options of `search.Index.query`: mode, weight, where, rerank ...
    """

    def __init__(
        self,
        document_store: SeewhyDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self.options = options or {}

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Retrieve the best documents for a query; `filters` and `top_k` override the component's own."""
        chosen, among = filters or self.filters, None
        if chosen:
            among = [document.id for document in self.document_store.filter_documents(chosen)]
        k = self.top_k if top_k is None else top_k
        matches = self.document_store.store.search(query, k, among=among, **self.options)
        return {"documents": [_document(document, score) for document, score in matches]}


SeewhyTextRetriever = SeewhyRetriever  # its name up to version 0.2, which saved pipelines have


def _stored(document: Document) -> memory_document.Document:
    """Return a document with its meta as metadata, and its other fields under `_haystack`."""
    fields = document.to_dict(flatten=False)
    fields.pop("score", None)
    text, meta = fields.pop("content") or "", fields.pop("meta")
    return memory_document.Document(document.id, text, metadata={**meta, "_haystack": fields})


def _document(source: memory_document.Document, score: float | None = None) -> Document:
    meta = dict(source.metadata)
    fields = meta.pop("_haystack")
    return Document.from_dict({**fields, "content": source.text or None, "meta": meta, "score": score})
