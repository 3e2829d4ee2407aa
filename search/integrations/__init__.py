"""Adaptors: the index and the encoder as components of other frameworks.

langchain.py    a retriever, and embeddings
llama_index.py  a retriever, and embeddings
haystack.py     a retriever
mteb.py         a search and an encoder

Each framework is an extra, and imported by the module of its name alone, which nothing here imports.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from search.encoding.encoder import Encoder, Role
from search.errors import OptionalDependency, TextTooLong
from search.index import Index
from search.records.hits import Hit
from search.several import Indexes, name_of

Opens: TypeAlias = Index | Indexes | str | Path | Sequence[str | Path] | None


@contextmanager
def extra(name: str, framework: str) -> Iterator[None]:
    """For the imports of a framework.

    Raises:
        OptionalDependency: its extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        raise OptionalDependency(
            missing.name or framework, name, f"the adaptor for {framework}"
        ) from missing


def embedded(encoder: Encoder, texts: Sequence[str], role: Role) -> list[list[float]]:
    """Embeddings of texts, each of length 1; a text is cut at what the model reads, with one warning."""
    try:
        return encoder.encode(texts, role=role).tolist()
    except TextTooLong:
        _warn_of_truncation(encoder.model, encoder.max_tokens)
        return encoder.encode(texts, role=role, truncate=True).tolist()


@cache
def _warn_of_truncation(model: str, limit: int) -> None:
    """Warn, once for a model."""
    warnings.warn(
        f"'{model}' reads at most {limit} tokens of a text; the rest is dropped. Split the documents.",
        stacklevel=3,
    )


def opened(index: Opens) -> Index | Indexes:
    """An index that is open already, or that a folder, path or name opens; of a list, several that are asked as one.

    Raises:
        IndexNotFound: there is no such index.
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
    """The hits of a query, each with the name of its index, also where one index is asked."""
    index = opened(index)
    name = name_of(index) if isinstance(index, Index) else ""
    return [replace(hit, index=hit.index or name) for hit in index.query(query, k, **options)]


def described(hit: Hit, figures: bool = False) -> dict[str, Any]:
    """Metadata of a passage, the same for every query that finds it.

    Args:
        figures: add those of the query: score, rank, addends, verdict. A query with `explain=True` has them always, and
            `shares` and `residual`.

    Returns:
        What the document's metadata and the passage's annotations say, each under its name; where they have the same
        name as one of these, these: the fields of a `Hit`, `addends` included; `source`, its address; `verdict`.
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
    """The id of a passage for as long as it is in the index: "notes/p77"."""
    return f"{hit.index}/p{hit.passage_id}"
