"""One index of several folders."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from search import Index, IndexOutdated, InputError
from tests.conftest import Run


def folder(path: Path, **texts: str) -> Path:
    path.mkdir(parents=True)
    for name, text in texts.items():
        (path / f"{name}.md").write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    folder(tmp_path / "between", other="what nobody named")
    return (
        folder(tmp_path / "notes", keys="turn the key", doors="open the door"),
        folder(tmp_path / "deep" / "papers", time="time is long"),
    )


@pytest.fixture
def index(two: tuple[Path, Path], tiny_model: Path) -> Index:
    return Index.build(two, model=str(tiny_model))


def documents(index: Index) -> set[str]:
    return {hit.document for hit in index.query("the", k=50)}


def test_documents_are_named_from_what_the_folders_have_in_common(
    index: Index, two: tuple[Path, Path], own_home: Path
) -> None:
    assert documents(index) == {"notes/keys.md", "notes/doors.md", "deep/papers/time.md"}
    assert {hit.path for hit in index.query("time", k=50)} >= {str(two[1] / "time.md")}
    assert index.path == own_home / "indexes" / "papers+notes"  # in the order of their paths
    status = index.status()
    assert (status.folder, set(status.folders)) == (str(two[0].parent), set(map(str, two)))
    assert index.report is not None
    assert index.report.folders == status.folders


def test_each_folder_is_its_own_root_for_ignore_files_and_patterns(
    two: tuple[Path, Path], tiny_model: Path
) -> None:
    notes, papers = two
    (notes / ".gitignore").write_text("time.md\n/doors.md\n", encoding="utf-8")
    folder(papers / "more", doors="a door")
    index = Index.build(two, model=str(tiny_model), exclude=["/keys.md"])
    assert documents(index) == {"deep/papers/time.md", "deep/papers/more/doors.md"}


def test_a_second_run_updates_and_a_watch_sees_all_folders(
    index: Index, two: tuple[Path, Path], tiny_model: Path
) -> None:
    notes, papers = two
    (notes / "keys.md").unlink()
    (papers / "new.md").write_text("new words", encoding="utf-8")
    changes = Index.preview([papers, notes])
    assert (changes.added, changes.removed, changes.folders) == (
        ("deep/papers/new.md",), ("notes/keys.md",), (str(papers), str(notes)),
    )  # fmt: skip
    again = Index.build([papers, notes]).report  # in whatever order
    assert again is not None
    assert (again.added, again.removed, again.unchanged) == (1, 1, 2)
    (papers / "newer.md").write_text("newer words", encoding="utf-8")
    stop = threading.Event()
    report = next(Index.open(index.path).watch(stop))
    stop.set()
    assert getattr(report, "added", report) == 1
    assert Index.open(index.path).update().nothing_changed
    assert Index.open(index.path).check().ok


def test_a_folder_that_is_gone_or_empty_loses_nothing(index: Index, two: tuple[Path, Path]) -> None:
    notes, papers = two
    papers.rename(papers.parent / "away")
    for times in (2, 3):
        (notes / "keys.md").write_text(f"turn the key {times} times", encoding="utf-8")
        report = index.update()
        assert (report.changed, report.removed) == (1, 0)
        assert f"'{papers}' is gone or contains no text" in report.notes[0]
        assert "deep/papers/time.md" in documents(index)
        (sources,) = (finding for finding in index.check().findings if finding.check == "sources")
        assert sources.examples == ("deep/papers (folder gone or without text)",)
        papers.mkdir(exist_ok=True)  # as of a drive that is not mounted
    papers.rmdir()
    papers.symlink_to(notes.parent / "between")
    assert Index.open(index.path).update().removed == 0
    assert "deep/papers/other.md" not in documents(index)
    papers.unlink()
    shutil.rmtree(notes)
    with pytest.raises(InputError, match="no text to index in .*notes'.*The index was not changed"):
        index.update()


def test_nested_equal_and_missing_folders_are_refused(
    index: Index, two: tuple[Path, Path], tmp_path: Path
) -> None:
    notes, _ = two
    for wrong, message in (
        ([notes, tmp_path], f"'{notes}' is inside '{tmp_path}'"),
        ([notes, notes], "or is the same"),
        ([notes, tmp_path / "nope"], "no folder .*nope'"),
    ):
        with pytest.raises(InputError, match=message):
            Index.build(wrong)
    with pytest.raises(InputError, match=r"to the folders '.*papers' and '.*notes'\. Give"):
        Index.build(notes, index=index.path.name)


def test_a_folder_means_its_own_index_before_one_of_several_folders(
    index: Index,
    two: tuple[Path, Path],
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes, papers = two
    between_index = Index.build(tmp_path / "between", model=str(tiny_model)).path
    monkeypatch.chdir(papers)
    assert Index.open().path == Index.open(papers).path == index.path
    monkeypatch.chdir(tmp_path / "between")
    assert Index.open().path == between_index
    notes_index = Index.build(notes, model=str(tiny_model)).path
    monkeypatch.chdir(notes)
    assert Index.open().path == Index.open(notes).path == notes_index  # rather than what has others, too


def test_without_a_folder_an_index_has_to_be_named(
    run: Run, two: tuple[Path, Path], tiny_model: Path, tmp_path: Path
) -> None:
    code, _, err = run("index")
    assert code == 2
    assert "give a FOLDER to index" in err
    assert run("index", *two, "-i", tmp_path / "place", "--model", tiny_model)[0] == 0
    assert run("index", "-i", tmp_path / "place")[0] == 0
    code, _, err = run("index", "-i", "nope")
    assert (code, "no index" in err) == (1, True)


def test_commands_that_help_name_all_folders(index: Index, two: tuple[Path, Path], run: Run) -> None:
    command = f"seewhy index {two[1]} {two[0]}"
    (two[0] / "new.md").write_text("new", encoding="utf-8")
    assert f"to fix this, run: {command} --index papers+notes\n" in run("check")[1]
    with closing(sqlite3.connect(index.path / "index.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '5' WHERE key = 'schema_version'")
    with pytest.raises(IndexOutdated, match=f"Rebuild it with: {command} --index"):
        Index.open(index.path)
