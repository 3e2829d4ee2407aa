"""Hits in the order of a field, and documents without a query."""

from __future__ import annotations

from pathlib import Path

import pytest

from search import Encoder, Index, InputError
from search.indexes import Indexes
from tests.conftest import Run

DOCUMENTS = [
    {"id": "a", "text": "The key opens the door.", "year": 2023, "name of": "b", "tags": ["x", "y"]},
    {"id": "b", "text": "The key is cold.", "year": 2025, "name of": "a"},
    {"id": "c", "text": "A key and a stone.", "name of": "C"},
    {"id": "d", "text": "The key in the water.", "year": "2024", "name of": 7},
    {"id": "e", "text": "A key in the sun.", "year": 900.5, "name of": "2024-05-01"},
]


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Index:
    store = Index.create(str(tmp_path / "store"), encoder=tiny)
    store.upsert(DOCUMENTS)
    return store


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("year", "e a d b c"), ("-year", "b d a e c"), ("name of", "d e b a c"), ("-name of", "c a b e d"),
        ("score", "a b c d e"), ("path", "a b c d e"), ("-path", "e d c b a"), ("tags", "a b c d e"),
        ("metadata.year", "e a d b c"), ("YEAR", "e a d b c"), ("nowhere", "a b c d e"),
    ],
)  # fmt: skip
def test_documents_are_listed_in_the_order_of_a_field(index: Index, sort: str, expected: str) -> None:
    """Numbers come before dates, and dates before texts; documents without the field come last."""
    hits = index.query("", 10, where={"path": {":": "*"}}, sort=sort)
    assert [hit.document for hit in hits] == expected.split()
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5] and {hit.score for hit in hits} == {0.0}


def test_a_list_has_the_documents_that_pass_a_filter_in_parts(index: Index) -> None:
    listed = index.query("", 2, where={"year": {">": 1000}}, sort="-year")
    assert [hit.document for hit in listed] == ["b", "d"]
    rest = index.query("", 2, where="year > 1000", sort="-year", offset=2)
    assert [(hit.rank, hit.document) for hit in rest] == [(3, "a")]
    assert index.query("", where="year > 3000") == []
    for text in ("", " "):
        with pytest.raises(InputError, match="the query is empty"):
            index.query(text, sort="year")


def test_hits_of_a_query_keep_their_ranks_in_another_order(index: Index) -> None:
    ranked = index.query("cold key", 4)
    by_year = index.query("cold key", 4, sort="-year")
    assert {(hit.document, hit.rank) for hit in ranked} == {(hit.document, hit.rank) for hit in by_year}
    years = {"a": 2023.0, "b": 2025.0, "d": 2024.0, "e": 900.5, "c": 0.0}
    assert [years[hit.document] for hit in by_year] == sorted(
        (years[hit.document] for hit in by_year), reverse=True
    )


def test_a_folder_is_listed_by_path_and_by_what_its_files_say(
    tmp_path: Path, tiny: Encoder, run: Run
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in {
        "b.md": "---\nyear: 3\n---\n# Key\n\nThe key.\n\n# Door\n\nThe door " + "is here. " * 60,
        "a.txt": "The key.", "c.md": "---\nyear: 20\n---\nThe key.",
    }.items():  # fmt: skip
        (folder / name).write_text(text, encoding="utf-8")
    index = Index.build(folder, encoder=tiny)
    listed = index.query("", where="not kind=pdf")
    assert [hit.document for hit in listed] == ["a.txt", "b.md", "c.md"]
    assert listed[1].start == min(hit.start for hit in index.query("door", where="name=b.md"))
    other = Index.create(str(tmp_path / "other"), encoder=tiny)
    other.upsert([{"id": "x", "text": "key", "year": 7}, {"id": "y", "text": "door", "year": 30}])
    both = Indexes([index, other]).query("", 3, where="has year", sort="-year", offset=1)
    assert [(hit.rank, hit.document) for hit in both] == [(2, "c.md"), (3, "x"), (4, "b.md")]
    status, out, err = run("query", "", "--where", "kind=markdown", "--sort=-year")
    assert (status, err) == (0, "") and out.index("c.md") < out.index("b.md")
    status, out, _ = run("query", "", "--where", "kind=markdown", "--sort=-year", "-f", "paths")
    assert status == 0 and [Path(line).name for line in out.splitlines()] == ["c.md", "b.md"]
