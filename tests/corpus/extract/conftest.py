"""A reader of documents for a whole module, so that not every test starts a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from search.corpus.extract import documents
from search.corpus.extract.reader import Reader
from search.records.documents import Document


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture
def document(reader: Reader) -> Callable[[str, bytes], Document]:
    """The one document in a file of this name and content."""

    def read(name: str, raw: bytes) -> Document:
        (document,) = documents(name, name.rpartition(".")[2], raw, reader)
        assert isinstance(document, Document)
        return document

    return read
