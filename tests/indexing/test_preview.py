"""Previews of changes, against what the next run changes."""

import os
from pathlib import Path

from search import Changes, Index


def edit(notes: Path) -> None:
    (notes / "keys.md").rename(notes / "deep" / "locks.md")
    (notes / "deep" / "time.txt").write_text("The time has come.\n", encoding="utf-8")
    (notes / "table.csv").unlink()
    (notes / "new.txt").write_text("Some people come and go.", encoding="utf-8")
    (notes / "empty.txt").write_bytes(b"")
    (notes / "data.txt").write_bytes(bytes(range(256)) * 8)


def test_a_preview_of_a_first_run_adds_all_files_and_writes_nothing(notes: Path, own_home: Path) -> None:
    changes = Index.preview(notes)
    assert changes.added == ("deep/time.txt", "keys.md", "table.csv")
    assert (changes.changed, changes.renamed, changes.removed, changes.unchanged) == ((), (), (), 0)
    assert list(own_home.iterdir()) == []


def test_a_preview_lists_what_the_next_run_does(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model))
    assert Index.preview(notes) == Changes(
        folder=str(notes), index=str(index.path), added=(), changed=(), renamed=(), removed=(), unchanged=3,
        skipped=(),
    )  # fmt: skip
    edit(notes)
    before = (index.path / "index.db").read_bytes()
    changes = Index.preview(notes)
    assert (index.path / "index.db").read_bytes() == before
    assert changes.added == ("new.txt",)
    assert changes.changed == ("deep/time.txt",)
    assert changes.renamed == (("keys.md", "deep/locks.md"),)
    assert changes.removed == ("table.csv",)
    assert changes.unchanged == 0
    assert {group.reason: group.examples for group in changes.skipped} == {
        "binary": ("data.txt (application/octet-stream)",),
        "empty": ("empty.txt",),
    }
    report = index.update()
    assert (report.added, report.changed, report.renamed, report.removed) == (1, 1, 1, 1)
    assert {group.reason: group.count for group in report.skipped} == {"binary": 1, "empty": 1}
    again = Index.preview(notes)
    assert (again.added, again.changed, again.renamed, again.removed) == ((), (), (), ())
    assert again.skipped == changes.skipped


def test_a_touched_file_is_unchanged(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    os.utime(notes / "keys.md", ns=(10**18, 10**18))
    assert Index.preview(notes).unchanged == 3


def test_a_preview_follows_patterns(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    changes = Index.preview(notes, exclude=["*.csv"])
    assert changes.removed == ("table.csv",)
    assert [group.reason for group in changes.skipped] == ["excluded"]
