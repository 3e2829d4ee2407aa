"""Documents by a part of their name, and where one is by its id."""

from __future__ import annotations

from pathlib import Path

import pytest

import search
from search.errors import InputError
from search.index import searcher_of


@pytest.fixture
def index(indexed: Path) -> search.Index:
    return search.Index.open(indexed)


def test_documents_are_named_by_words_of_name_or_title_in_any_case(index: search.Index) -> None:
    names = {document.name for document in searcher_of(index).documents_named("")}
    assert names == {"keys.md", "deep/time.txt", "table.csv#1", "table.csv#2"}
    assert [document.name for document in searcher_of(index).documents_named("TXT deep")] == [
        "deep/time.txt"
    ]
    assert [document.name for document in searcher_of(index).documents_named("csv second")] == [
        "table.csv#2"
    ]  # its title
    assert searcher_of(index).documents_named("deep keys") == []
    assert len(searcher_of(index).documents_named("", 2)) == 2


def test_why_not_takes_the_location_of_a_document(index: search.Index) -> None:
    for document in searcher_of(index).documents_named(""):
        assert index.why_not("key", searcher_of(index).location(document.id)).document == document.name
    with pytest.raises(InputError, match="no document 999"):
        searcher_of(index).location(999)
