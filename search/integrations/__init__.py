"""Adapters: the index and the encoder as components of other frameworks.

langchain.py    a retriever, embeddings, and a vector store
llama_index.py  a retriever, embeddings, and a vector store
haystack.py     a retriever, and a document store with its retriever

Each framework is an optional extra and is imported only by the module of its name, which is never imported here.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from search.encoding.encoder import Encoder, Role
from search.encoding.function import AnyEncoder
from search.errors import OptionalDependency, TextTooLong
from search.index import Index, searcher_of
from search.indexes import Indexes, name_of
from search.records.documents import field_in_filter
from search.records.hits import Hit
from search.records.memory_document import Document
from search.store.layout import index_path_of, is_index

Opens: TypeAlias = Index | Indexes | str | Path | Sequence[str | Path] | None


@contextmanager
def extra(name: str, framework: str) -> Iterator[None]:
    """Context manager for the imports of a framework.

    Raises:
        OptionalDependency: the extra of the framework is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        raise OptionalDependency(
            missing.name or framework, name, f"the adapter for {framework}"
        ) from missing


def embedded(encoder: Encoder, texts: Sequence[str], role: Role) -> list[list[float]]:
    """Return unit-length embeddings of texts; texts too long for the model are truncated, with one warning."""
    try:
        return encoder.encode(texts, role=role).tolist()
    except TextTooLong:
        _warn_of_truncation(encoder.model, encoder.max_tokens)
        return encoder.encode(texts, role=role, truncate=True).tolist()


@cache
def _warn_of_truncation(model: str, limit: int) -> None:
    """Warn once per model that texts are truncated."""
    warnings.warn(
        f"'{model}' reads at most {limit} tokens of a text and drops the rest. Split the documents.",
        stacklevel=3,
    )


def opened(index: Opens) -> Index | Indexes:
    """Open an index by folder, path or name; a list opens `Indexes`, and an open index is returned as it is.

    Raises:
        IndexNotFound: the index does not exist.
    """
    if isinstance(index, Index | Indexes):
        return index
    return Index.open(index) if index is None or isinstance(index, str | Path) else Indexes.open(index)


OF_PASSAGE = (
    "path", "document", "title", "heading", "kind", "line_start", "line_end", "page", "start", "end", "passage_id",
    "changed", "index",
)  # fmt: skip
OF_QUERY = (
    "score",
    "cosine",
    "lexical",
    "mode",
    "weight",
    "addends",
    "percentile",
    "rank",
    "approximate",
)


def hits_of(index: Opens, query: str, k: int, **options: Any) -> list[Hit]:
    """Return the hits of a query, each with the name of its index, even if only one index is searched."""
    index = opened(index)
    name = name_of(index) if isinstance(index, Index) else ""
    return [replace(hit, index=hit.index or name) for hit in index.query(query, k, **options)]


def described(hit: Hit, figures: bool = False) -> dict[str, Any]:
    """Return the metadata of a passage, the same for every query that retrieves it.

    Args:
        figures: add values that depend on the query: score, rank, addends, verdict. A query with `explain=True` always
            adds them, and `shares` and `residual`.

    Returns:
        The document's metadata and the passage's annotations by name, overridden by the fields of a `Hit`
        (`OF_PASSAGE`, `OF_QUERY`), by `source`, the link to its lines, and by `verdict`.
    """
    why = hit.explanation
    names = (*OF_PASSAGE, *OF_QUERY) if figures or why else OF_PASSAGE
    metadata = {**hit.metadata, **hit.annotations, **{name: getattr(hit, name) for name in names}}
    metadata["source"] = hit.uri
    if figures or why:
        metadata["verdict"] = asdict(hit.verdict) if hit.verdict else None
    if why:
        metadata |= {"shares": [asdict(share) for share in why.shares()], "residual": why.residual}
    return metadata


def id_of(hit: Hit) -> str:
    """Return the ID of a passage, valid as long as the passage is in the index: "notes/p77"."""
    return f"{hit.index}/p{hit.passage_id}"


class TextStore:
    """Texts of a framework in an index of documents from memory; each text is one hit, however long it is.

    Args:
        index: an open index, or the name or path of one, which is created unless it exists. None makes a temporary one.
        encoder: encoder of a new index; None takes the default model.
    """

    def __init__(
        self, index: Index | str | Path | None, encoder: AnyEncoder | None = None, **options: Any
    ) -> None:
        if isinstance(index, Index):
            self.index = index
        elif index is not None and is_index(index_path_of(str(index))):
            self.index = Index.open(index, encoder=encoder)
        else:
            self.index = Index.create(index, encoder=encoder, **options)

    def ids(self) -> list[str]:
        """Return the IDs of all texts, in the order in which they were stored."""
        documents = searcher_of(self.index).documents_named("", most=2**31)
        return [document.name for document in sorted(documents, key=lambda document: document.id)]

    def get(self, ids: Iterable[str] | None = None) -> list[Document]:
        """Return texts by their IDs; None returns all."""
        return self.index.get(self.ids() if ids is None else ids)

    def delete(self, ids: Iterable[str] | None) -> None:
        """Delete texts by their IDs; without IDs, delete all texts."""
        self.index.delete(self.ids() if ids is None else list(ids))

    def search(
        self,
        query: str,
        k: int,
        vector: Sequence[float] | None = None,
        among: Collection[str] | None = None,
        **options: Any,
    ) -> list[tuple[Document, float]]:
        """Return the best texts with their scores.

        Args:
            vector: embedding of the query; None encodes it.
            among: IDs of the texts to rank; None ranks all. The filter `where` applies, too.
            options: options of `search.Index.query`.
        """
        if among is not None and not among:
            return []
        if among is not None:
            names = ", ".join(field_in_filter(id_) for id_ in among)
            own = f"({options['where']}) and " if options.get("where") else ""
            options["where"] = f"{own}path in ({names})"
        if vector is not None:
            options["vector"] = vector
        hits = self.index.query(query, k, **({"per_document": 1} | options))
        scores = {hit.document: hit.score for hit in hits}
        return [(document, scores[document.id]) for document in self.get(scores)]
