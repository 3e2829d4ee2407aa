"""A renamed folder keeps its index, and an index is deleted by exactly the names that the program writes."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from search import Index, IndexLocked, InputError
from search.index import searcher_of
from tests.conftest import Run


def everything(top: Path) -> set[str]:
    return {path.relative_to(top).as_posix() for path in top.rglob("*")}


def test_a_renamed_folder_keeps_its_index(indexed: Path, run: Run, own_home: Path) -> None:
    new = indexed.rename(indexed.parent / "renamed")
    code, out, _ = run("move", "notes", new)
    assert code == 0
    assert out == f"The index notes now belongs to {new} and is named renamed, as the folder is.\n"
    assert not (own_home / "indexes" / "notes").exists()
    code, out, err = run("index", new)
    assert (code, err) == (0, "")
    assert "Nothing changed" in out
    assert run("query", "door", "-f", "paths")[1].startswith(str(new))


def test_an_index_of_another_name_keeps_it(notes: Path, tiny_model: Path, own_home: Path) -> None:
    index = Index.build(notes, index="mine", model=str(tiny_model))
    new = notes.rename(notes.parent / "renamed")
    for name in new.rglob("*"):
        os.utime(name, (1, 1))  # by content, not by time stamp
    index.move(new)
    assert index.path == own_home / "indexes" / "mine"
    assert {Path(hit.path).parents[0] for hit in index.query("door", k=1)} == {new}
    assert index.update().encoded == 0


def test_another_folder_is_refused(indexed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    shutil.copy(indexed / "keys.md", folder)
    with pytest.raises(InputError, match="has only 1 of the 3 indexed files"):
        Index.open(indexed).move(folder)
    assert searcher_of(Index.open(indexed)).store.facts.folders.root == indexed


def test_several_folders_move_together(tmp_path: Path, tiny_model: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "old" / name).mkdir(parents=True)
        (tmp_path / "old" / name / "text.txt").write_text(f"the door {name}", encoding="utf-8")
    index = Index.build([tmp_path / "old" / "a", tmp_path / "old" / "b"], model=str(tiny_model))
    new = (tmp_path / "old").rename(tmp_path / "new")
    with pytest.raises(InputError, match="with the same names"):
        index.move(new)
    with pytest.raises(InputError, match="are gone.*seewhy move INDEX FOLDER"):
        Index.open(index.path).update()
    index.move([new / "b", new / "a"])
    assert index.status().folders == (str(new / "a"), str(new / "b"))


def test_an_index_is_removed(indexed: Path, run: Run, own_home: Path) -> None:
    before = everything(indexed)
    code, _, err = run("remove", "notes")
    assert code == 1
    assert "' is deleted only after confirmation. Run: seewhy remove notes --yes" in err
    code, out, err = run("remove", "notes", "--yes")
    assert (code, out) == (0, "")
    assert f"Deleted the index in '{own_home / 'indexes' / 'notes'}'" in err
    assert everything(own_home) == {"indexes"}
    assert everything(indexed) == before


def test_foreign_files_in_an_index_folder_are_kept(indexed: Path, own_home: Path) -> None:
    index = Index.open(indexed)
    (index.path / "thesis.doc").write_text("precious", encoding="utf-8")
    (index.path / "ann" / "g1-x.faiss").write_text("of another name", encoding="utf-8")
    (index.path / "tmp").mkdir()
    (index.path / "tmp" / "index.db").write_text("left by a run that was killed", encoding="utf-8")
    index.remove()
    assert everything(index.path) == {"thesis.doc", "ann", "ann/g1-x.faiss"}


def test_a_folder_in_place_of_an_index_name_is_refused(indexed: Path, run: Run) -> None:
    before = everything(indexed)
    for name in (f"{indexed}/", indexed, "nope"):
        for command in (("remove", name, "--yes"), ("move", name, indexed)):
            code, _, err = run(*command)
            assert code == 1
            assert "Give the name of one of these: notes." in err and "--index" not in err
    assert everything(indexed) == before


def test_an_index_of_another_program_is_left_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "app"
    (foreign / "tmp").mkdir(parents=True)
    (foreign / "index.db").write_text("of an app", encoding="utf-8")
    (foreign / "tmp" / "index.db").write_text("of an app, too", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("app", str(foreign)):
        code, _, err = run("remove", name, "--yes")
        assert code == 1 and "is not a readable index" in err
    assert everything(foreign) == {"index.db", "tmp", "tmp/index.db"}


def test_a_name_means_an_index_of_the_data_folder_before_a_path(
    indexed: Path, run: Run, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = tmp_path / "here"
    shutil.copytree(own_home / "indexes" / "notes", current / "notes")
    monkeypatch.chdir(current)
    assert run("remove", "notes", "--yes")[0] == 0
    assert (current / "notes" / "index.db").is_file() and not (own_home / "indexes" / "notes").exists()


@pytest.mark.parametrize(("reply", "remains"), [("y\n", False), ("n\n", True)])
def test_on_a_terminal_a_removal_asks_for_confirmation(
    indexed: Path, run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch, reply: str, remains: bool
) -> None:
    answers = io.StringIO(reply)
    monkeypatch.setattr(answers, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", answers)
    code, out, err = run("remove", "notes")
    assert (code == 0, (own_home / "indexes" / "notes").exists()) == (not remains, remains)
    assert "Delete the index in" in out + err


def test_an_index_that_is_being_written_is_neither_moved_nor_removed(indexed: Path) -> None:
    index = Index.open(indexed)
    before = everything(index.path)
    with FileLock(index.path / "writer.lock"):
        for attempt in (index.remove, lambda: index.move(indexed)):
            with pytest.raises(IndexLocked):
                attempt()
    assert everything(index.path) == before


def test_an_empty_folder_in_place_of_a_moved_index_is_no_obstacle(indexed: Path, own_home: Path) -> None:
    (own_home / "indexes" / "renamed").mkdir()
    new = indexed.rename(indexed.parent / "renamed")
    index = Index.open("notes")
    index.move(new)
    assert Index.open(new).path == own_home / "indexes" / "renamed"
    assert Index.open(new).query("key")
