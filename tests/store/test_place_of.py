"""Paths, resolved to documents, records and passages of an index."""

import os
from pathlib import Path

import pytest

import search
from search.errors import InputError
from search.store.places import ResolvedPath
from search.store.snapshot import Store


@pytest.fixture
def store(notes: Path, tiny_model: Path) -> Store:
    (notes / "odd:7").write_text("a name with a colon", encoding="utf-8") if os.name != "nt" else None
    return Store(search.Index.build(notes, model=str(tiny_model)).path)


def place_of(store: Store, path: str | Path) -> ResolvedPath:
    with store.reading() as snapshot:
        return snapshot.resolve(path)


def test_a_path_resolves_from_the_root_the_index_and_the_current_folder(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = place_of(store, notes / "deep" / "time.txt")
    assert (expected.name, expected.document, len(expected.passages)) == (
        "deep/time.txt",
        "deep/time.txt",
        1,
    )
    assert place_of(store, "deep/time.txt") == expected  # from the indexed folder
    monkeypatch.chdir(notes / "deep")
    assert place_of(store, "time.txt") == expected  # from the current one
    assert place_of(store, "../deep/./time.txt") == expected


def test_a_record_or_a_line_resolves_to_its_passages(store: Store, notes: Path) -> None:
    whole = place_of(store, notes / "table.csv")
    record = place_of(store, f"{notes / 'table.csv'}#2")
    assert (whole.document, record.document) == ("table.csv", "table.csv#2")
    assert len(whole.passages) == 2
    assert record.passages == whole.passages[1:]
    lines = [place_of(store, f"keys.md:{line}").passages for line in (1, 9)]
    assert len(place_of(store, "keys.md").passages) == 2
    assert len(set(lines)) == 2
    assert place_of(store, "keys.md:9-10").passages == lines[1]
    with pytest.raises(InputError, match="no passage of 'keys.md' covers line 99"):
        place_of(store, "keys.md:99")


@pytest.mark.skipif(os.name == "nt", reason="no colons in names")
def test_a_name_that_looks_like_a_line_is_a_name(store: Store) -> None:
    place = place_of(store, "odd:7")
    assert (place.name, place.line, len(place.passages)) == ("odd:7", None, 1)


def test_paths_outside_the_index_have_no_passages_and_folders_are_refused(
    store: Store, tmp_path: Path, notes: Path
) -> None:
    place = place_of(store, "no/such.md#3")
    assert (place.name, place.record, place.passages) == ("no/such.md", 3, ())
    (tmp_path / "other.md").write_text("x", encoding="utf-8")
    outside = place_of(store, tmp_path / "other.md")
    assert (outside.name, outside.document) == (None, str(tmp_path / "other.md"))
    with pytest.raises(InputError, match="is a folder"):
        place_of(store, notes / "deep")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_path_through_a_link_resolves(store: Store, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(notes)
    assert place_of(store, tmp_path / "link" / "deep" / "time.txt").name == "deep/time.txt"
