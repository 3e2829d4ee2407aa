"""Haystack: components that find passages of an index, and that encode texts.

pipeline.add_component("retriever", SeewhyRetriever(index="notes", top_k=5))
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.index import Index
from search.integrations import Opens, described, embedded, extra, hits_of, id_of, opened
from search.integrations.filters import where_of
from search.several import name_of

with extra("haystack", "Haystack"):
    from haystack import Document, component, default_to_dict
    from haystack.errors import FilterError


@component
class SeewhyRetriever:
    """The best passages of an index.

    Args:
        index: an index, or what opens one: its folder, path or name; a list of these for several that are asked as one;
            None as for `search.Index.open`.
        top_k: how many passages.
        filters: as Haystack has them, unless others come with a query; see `search.integrations.filters`.
        options: as of `search.Index.query`: mode, weight, where, since, rerank, per_document, explain ...
        figures: add the addends of the score, percentile, verdict and rank to the meta.

    The meta of a document is told in `search.integrations.described`; its `id` names index and passage, and stays as
    long as the passage does.
    """

    def __init__(
        self,
        index: Opens = None,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        figures: bool = False,
    ) -> None:
        self.index = opened(index)
        self.top_k, self.filters, self.options, self.figures = top_k, filters, options, figures

    def to_dict(self) -> dict[str, Any]:
        """What a pipeline is written as; the index by the name that opens it again."""
        index = name_of(self.index) if isinstance(self.index, Index) else list(map(name_of, self.index.all))
        options = {name: getattr(self, name) for name in ("top_k", "filters", "options", "figures")}
        return default_to_dict(self, index=index, **options)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The best passages for a query.

        Raises:
            FilterError: the filter is malformed, or asks for what `--where` cannot say.
        """
        options = dict(self.options or {})
        options["where"] = _both(options.get("where"), self.filters if filters is None else filters)
        hits = hits_of(self.index, query, self.top_k if top_k is None else top_k, **options)
        return {
            "documents": [
                Document(id=id_of(hit), content=hit.text, meta=described(hit, self.figures), score=hit.score)
                for hit in hits
            ]
        }


def _both(where: str | None, filters: dict[str, Any] | None) -> str | None:
    try:
        parts = [part for part in (where, where_of(filters) if filters else None) if part is not None]
    except InputError as error:
        raise FilterError(str(error)) from error
    return " and ".join(f"({part})" for part in parts) or None


class _Embedder:
    """Base of both embedders. A text is cut at what the model reads, with one warning.

    Args:
        model: a name, or a folder.
        options: as of `search.Encoder`: pooling, layer, dim, offline ...
    """

    def __init__(self, model: str = DEFAULT_MODEL, options: dict[str, Any] | None = None) -> None:
        self.model, self.options = model, options

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.model, **(self.options or {}))


@component
class SeewhyTextEmbedder(_Embedder):
    """The embedding of a query, of length 1; the model's prompt for queries is put before it."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """The embedding of a text."""
        return {"embedding": embedded(self._encoder, [text], "query")[0]}


@component
class SeewhyDocumentEmbedder(_Embedder):
    """Documents with embeddings of length 1; the model's prompt for documents is put before their contents."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The same documents with their embeddings."""
        texts = [document.content or "" for document in documents]
        embeddings = embedded(self._encoder, texts, "document")
        return {
            "documents": [
                replace(document, embedding=embedding)
                for document, embedding in zip(documents, embeddings, strict=True)
            ]
        }
