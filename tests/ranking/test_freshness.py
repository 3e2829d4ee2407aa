"""What has become of the files of hits since they were indexed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from search import Hit, Index
from search.corpus.text import decode
from tests.conftest import WORDS

EVERYTHING = {"k": 100, "per_document": 0, "all_copies": True}


def stands_there(hit: Hit) -> bool:
    """Whether the lines that a hit names have its text."""
    lines = decode(hit.document, Path(hit.path).read_bytes()).text.split("\n")
    return hit.text in "\n".join(lines[hit.line_start - 1 : hit.line_end])


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    (notes / "records.jsonl").write_text(
        '{"text": "the \\"key\\" of the door"}\n{"text": "a long way"}\n', encoding="utf-8"
    )
    return Index.build(notes, model=str(tiny_model))


def found(index: Index) -> dict[str, Hit]:
    return {hit.document: hit for hit in index.query("key", mode="dense", **EVERYTHING)}


def test_as_it_was_indexed(index: Index, notes: Path) -> None:
    before = index.query("key", **EVERYTHING)
    assert {hit.changed for hit in before} == {""}
    assert {hit.document: hit.kind for hit in before}["keys.md"] == "markdown"
    os.utime(notes / "keys.md", ns=(1, 1))  # touched only
    assert index.query("key", **EVERYTHING) == before


def test_lines_put_before_and_a_text_that_is_gone(index: Index, notes: Path) -> None:
    before = found(index)
    for name in ("deep/time.txt", "table.csv", "records.jsonl"):
        text = (notes / name).read_text(encoding="utf-8")
        head, _, rest = text.partition("\n")
        new = {"table.csv": "zero,nothing at all\n\n", "records.jsonl": '{"text": "new"}\n'}.get(
            name, "new\n\n\n"
        )
        (notes / name).write_text(
            f"{head}\n{new}{rest}" if name == "table.csv" else new + text, encoding="utf-8"
        )
    (notes / "keys.md").write_text("# Keys\n\n## Find\n\nThe key is in the fire.\n", encoding="utf-8")
    now = found(index)
    assert now["keys.md"].changed == "changed"
    assert (now["keys.md"].line_start, now["keys.md"].line_end) == (
        before["keys.md"].line_start,
        before["keys.md"].line_end,
    )
    for name, by in {"deep/time.txt": 3, "table.csv#1": 2, "table.csv#2": 2, "records.jsonl#1": 1}.items():
        assert now[name].changed == "moved"
        assert now[name].line_start == before[name].line_start + by
        assert now[name].line_end == before[name].line_end + by
    assert stands_there(now["deep/time.txt"])
    time = now["deep/time.txt"]
    assert index.surroundings(time, lines=1).lines_before == ((3, ""),)


def test_gone_and_what_is_no_file_any_more(index: Index, notes: Path) -> None:
    (notes / "keys.md").unlink()
    (notes / "deep" / "time.txt").unlink()
    (notes / "deep").rmdir()
    (notes / "deep").write_text("a file", encoding="utf-8")
    (notes / "table.csv").unlink()
    (notes / "table.csv").mkdir()
    (notes / "records.jsonl").unlink()
    (notes / "records.jsonl").symlink_to("/dev/zero")
    changed = {hit.document.partition("#")[0]: hit.changed for hit in index.query("key", **EVERYTHING)}
    assert changed == {
        "keys.md": "gone",
        "deep/time.txt": "gone",
        "table.csv": "changed",
        "records.jsonl": "changed",
    }
    hit = index.query("key", k=1)[0]
    assert index.hit("key", hit.passage_id).changed == hit.changed
    assert {other.changed for other in index.similar(hit.passage_id, **EVERYTHING)} <= {"gone", "changed"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are of POSIX")
def test_contents_that_nothing_can_be_done_with(
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
    assert found(index)["deep/time.txt"].changed == "moved"
    monkeypatch.setattr("search.ranking.freshness._LARGEST", 20)
    assert found(index)["deep/time.txt"].changed == "changed"


def test_the_nearest_of_several_places(index: Index, notes: Path) -> None:
    text = (notes / "deep" / "time.txt").read_text(encoding="utf-8")
    (notes / "deep" / "time.txt").write_text("\n" + text + "\n" * 30 + text, encoding="utf-8")
    assert found(index)["deep/time.txt"].line_start == 2
    (notes / "deep" / "time.txt").write_bytes(b"a\r\nb\rc\n" + text.encode())
    assert (found(index)["deep/time.txt"].line_start, found(index)["deep/time.txt"].line_end) == (4, 5)
    (notes / "deep" / "time.txt").write_text("\n" * 50 + text + "\n" * 30 + text, encoding="utf-8")
    assert found(index)["deep/time.txt"].line_start == 51


def test_no_hit_names_a_wrong_line_without_saying_so(tmp_path: Path, tiny_model: Path) -> None:
    drawn = random.Random(16)
    folder = tmp_path / "folder"
    folder.mkdir()
    names = [f"{number}{suffix}" for number, suffix in enumerate([".md", ".txt", ".py", ".rst"] * 10)]
    for name in names:
        paragraphs = [" ".join(drawn.choices(WORDS, k=30)) for _ in range(4)]
        (folder / name).write_text("# Title\n\n" + "\n\n".join(paragraphs) + "\n", encoding="utf-8")
    index = Index.build(folder, model=str(tiny_model))
    for name in drawn.sample(names, 30):
        edit(drawn, folder / name)
    hits = index.query("key", **EVERYTHING | {"k": 200})
    assert len(hits) >= 120
    assert [hit for hit in hits if hit.changed in ("", "moved") and not stands_there(hit)] == []
    assert {hit.changed for hit in hits} == {"", "moved", "changed", "gone"}


def edit(drawn: random.Random, path: Path) -> None:
    """Put lines into a file, change or delete one, or delete, rename or swap it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    at = drawn.randrange(len(lines))
    kind = drawn.choice(("insert", "change", "cut", "delete", "rename", "copy"))
    if kind == "delete":
        path.unlink()
    elif kind == "rename":
        path.rename(path.with_name(f"new-{path.name}"))
    elif kind == "copy":
        path.write_text(
            drawn.choice(sorted(path.parent.iterdir())).read_text(encoding="utf-8"), encoding="utf-8"
        )
    else:
        new = {
            "insert": ["new"] * drawn.randint(1, 5) + [lines[at]],
            "change": [f"{lines[at]} not"],
            "cut": [],
        }
        path.write_text("\n".join([*lines[:at], *new[kind], *lines[at + 1 :]]), encoding="utf-8")
