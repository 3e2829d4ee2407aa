"""Adaptors: the index and the encoder as components of other frameworks.

langchain.py    a retriever, and embeddings
llama_index.py  a retriever, and embeddings
mteb.py         a search and an encoder, and tasks of local files
described.py    what the adaptors say of a hit

Each framework is an extra, and imported by the module of its name alone, which nothing here imports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from search.errors import OptionalDependency


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
