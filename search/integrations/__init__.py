"""Adaptors: the index and the encoder as components of other frameworks.

langchain.py    a retriever, and embeddings
llama_index.py  a retriever, and embeddings
haystack.py     a retriever, and embedders; filters.py, what Haystack's filters are here
mteb.py         a search and an encoder, and tasks of local files
described.py    ids and metadata of hits, for all adaptors

Each framework is an extra, and imported by the module of its name alone, which nothing here imports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from search.errors import OptionalDependency
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


def opened(index: Opens) -> Index | Indexes:
    """An index that is open already, or that a folder, path or name opens; of a list, several that are asked as one.

    Raises:
        IndexNotFound: there is no such index.
    """
    if isinstance(index, Index | Indexes):
        return index
    return Index.open(index) if index is None or isinstance(index, str | Path) else Indexes.open(index)
