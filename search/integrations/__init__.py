"""Adaptors: the index and the encoder as components of other frameworks.

langchain.py    a retriever, and embeddings
llama_index.py  a retriever, and embeddings
haystack.py     a retriever, and embedders; filters.py, what Haystack's filters are here
mteb.py         a search and an encoder, and tasks of local files
described.py    ids and metadata of hits, for all adaptors

Each framework is an extra, and imported by the module of its name alone, which nothing here imports.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeAlias

from search.encoding.encoder import Encoder, Role
from search.errors import OptionalDependency, TextTooLong
from search.index import Index
from search.several import Indexes

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
        raise OptionalDependency(missing.name or framework, name, f"the adaptor for {framework}") from missing


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
        f"'{model}' reads at most {limit} tokens of a text; the rest is dropped. To embed all of it, split documents "
        f"into chunks of at most {limit * 2 // 3} words with a text splitter of your framework.",
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
