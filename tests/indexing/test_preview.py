"""What would change, against what then does change."""

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


def test_a_first_run(notes: Path, own_home: Path) -> None:
    found = Index.preview(notes)
    assert found.added == ("deep/time.txt", "keys.md", "table.csv")
    assert (found.changed, found.renamed, found.removed, found.unchanged) == ((), (), (), 0)
    assert list(own_home.iterdir()) == []


def test_it_says_what_the_run_then_does(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model))
    assert Index.preview(notes) == Changes(
        folder=str(notes), index=str(index.path), added=(), changed=(), renamed=(), removed=(), unchanged=3,
        skipped=(),
    )  # fmt: skip
    edit(notes)
    before = (index.path / "index.db").read_bytes()
    found = Index.preview(notes)
    assert (index.path / "index.db").read_bytes() == before
    assert found.added == ("new.txt",)
    assert found.changed == ("deep/time.txt",)
    assert found.renamed == (("keys.md", "deep/locks.md"),)
    assert found.removed == ("table.csv",)
    assert found.unchanged == 0
    assert {group.reason: group.examples for group in found.skipped} == {
        "binary": ("data.txt (application/octet-stream)",),
        "empty": ("empty.txt",),
    }
    report = index.update()
    assert (report.added, report.changed, report.renamed, report.removed) == (1, 1, 1, 1)
    assert {group.reason: group.count for group in report.skipped} == {"binary": 1, "empty": 1}
    again = Index.preview(notes)
    assert (again.added, again.changed, again.renamed, again.removed) == ((), (), (), ())
    assert again.skipped == found.skipped


def test_a_touched_file_is_unchanged(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    os.utime(notes / "keys.md", ns=(10**18, 10**18))
    assert Index.preview(notes).unchanged == 3


def test_patterns_count(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    found = Index.preview(notes, exclude=["*.csv"])
    assert found.removed == ("table.csv",)
    assert [group.reason for group in found.skipped] == ["excluded"]
