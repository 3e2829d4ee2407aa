"""State of the files of hits since they were indexed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from search import Hit, Index
from search.index import searcher_of
from search.store.document_text import surroundings

EVERYTHING = {"k": 100, "per_document": 0, "all_copies": True}


def lines_have_text(hit: Hit) -> bool:
    """True if the lines that a hit names have its text."""
    lines = Path(hit.path).read_text(encoding="utf-8").split("\n")
    return hit.text in "\n".join(lines[hit.line_start - 1 : hit.line_end])


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    (notes / "records.jsonl").write_text(
        '{"text": "the \\"key\\" of the door"}\n{"text": "a long way"}\n', encoding="utf-8"
    )
    return Index.build(notes, model=str(tiny_model))


def hits_by_document(index: Index) -> dict[str, Hit]:
    return {hit.document: hit for hit in index.query("key", mode="dense", **EVERYTHING)}


def test_hits_of_unchanged_files_are_unchanged(index: Index, notes: Path) -> None:
    before = index.query("key", **EVERYTHING)
    assert {hit.changed for hit in before} == {""}
    assert {hit.document: hit.kind for hit in before}["keys.md"] == "markdown"
    os.utime(notes / "keys.md", ns=(1, 1))  # touched only
    assert index.query("key", **EVERYTHING) == before


def test_inserted_lines_move_a_hit_and_a_lost_text_is_changed(index: Index, notes: Path) -> None:
    before = hits_by_document(index)
    for name in ("deep/time.txt", "table.csv"):
        text = (notes / name).read_text(encoding="utf-8")
        (notes / name).write_text(f"new\n\n\n{text}", encoding="utf-8")
    (notes / "keys.md").write_text("# Keys\n\n## Find\n\nThe key is in the fire.\n", encoding="utf-8")
    after = hits_by_document(index)
    for name in ("keys.md", "table.csv#1"):
        assert after[name].changed == "changed"
        assert after[name].line_start == before[name].line_start
    time = after["deep/time.txt"]
    assert (time.changed, time.line_start) == ("moved", before["deep/time.txt"].line_start + 3)
    assert lines_have_text(time)
    assert surroundings(time, 1).lines_before == ((3, ""),)


def test_deleted_files_are_gone_and_replaced_ones_changed(index: Index, notes: Path) -> None:
    (notes / "keys.md").unlink()
    (notes / "deep" / "time.txt").unlink()
    (notes / "deep").rmdir()
    (notes / "deep").write_text("a file", encoding="utf-8")
    (notes / "table.csv").unlink()
    (notes / "table.csv").mkdir()
    (notes / "records.jsonl").unlink()
    (notes / "records.jsonl").symlink_to("/dev/zero")
    states = {hit.document.partition("#")[0]: hit.changed for hit in index.query("key", **EVERYTHING)}
    assert states == {
        "keys.md": "gone",
        "deep/time.txt": "gone",
        "table.csv": "changed",
        "records.jsonl": "changed",
    }
    hit = index.query("key", k=1)[0]
    assert searcher_of(index).hit("key", hit.passage_id).changed == hit.changed
    assert {other.changed for other in index.similar(hit.passage_id, **EVERYTHING)} <= {
        "gone",
        "changed",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are of POSIX")
def test_unreadable_contents_are_changed(
    index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "keys.md").unlink()
    os.mkfifo(notes / "keys.md")
    (notes / "deep" / "time.txt").write_bytes(b"\0\xff\0" * 99)
    (notes / "table.csv").write_text('name,text\n"' + "[" * 9999, encoding="utf-8")
    (notes / "records.jsonl").write_text('{"text": ' + "[" * 99_999, encoding="utf-8")
    assert {hit.changed for hit in index.query("key", **EVERYTHING)} == {"changed"}
    (notes / "deep" / "time.txt").write_text(
        "new\nMany people say that time is long.\nIt is not.\n", encoding="utf-8"
    )
    assert hits_by_document(index)["deep/time.txt"].changed == "moved"
    monkeypatch.setattr("search.store.freshness._MAX_SIZE", 20)
    assert hits_by_document(index)["deep/time.txt"].changed == "changed"


def test_a_moved_text_is_found_at_its_nearest_occurrence(index: Index, notes: Path) -> None:
    text = (notes / "deep" / "time.txt").read_text(encoding="utf-8")
    (notes / "deep" / "time.txt").write_text("\n" + text + "\n" * 30 + text, encoding="utf-8")
    assert hits_by_document(index)["deep/time.txt"].line_start == 2
    (notes / "deep" / "time.txt").write_bytes(b"a\r\nb\rc\n" + text.encode())
    assert (
        hits_by_document(index)["deep/time.txt"].line_start,
        hits_by_document(index)["deep/time.txt"].line_end,
    ) == (4, 5)
    (notes / "deep" / "time.txt").write_text("\n" * 50 + text + "\n" * 30 + text, encoding="utf-8")
    assert hits_by_document(index)["deep/time.txt"].line_start == 51
