"""A folder that was never indexed answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from search import Index
from search.cli.options import split_folder
from tests.conftest import Run

QUERY = "where is the key"


@pytest.fixture(autouse=True)
def model_of_new_indexes(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.cli.config.model_for_new_indexes", lambda: str(tiny_model))


def test_a_folder_after_the_text_is_searched_at_once(run: Run, notes: Path) -> None:
    code, out, err = run("query", QUERY, notes, "--pending", 2)
    assert code == 0 and "keys.md" in out
    assert "meaning: 0 of 5 passages encoded; 2 more for this question" in err
    assert f"To encode the rest, run: seewhy index {notes} --index notes" in err
    code, out, err = run("query", QUERY, "--in", notes, "--pending", 2)
    assert code == 0 and "meaning: 2 of 5 passages encoded; 2 more" in err
    assert run("index", notes, "--index", "notes")[0] == 0
    code, out, err = run("query", QUERY, notes)
    assert code == 0 and "encoded" not in err
    assert Index.open("notes").status().complete


def test_an_index_that_is_there_is_used(run: Run, notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    code, out, err = run("query", QUERY, notes)
    assert code == 0 and "keys.md" in out and "encoded" not in err


def test_a_folder_and_an_index_are_not_given_together(run: Run, notes: Path) -> None:
    code, _, err = run("query", QUERY, notes, "--index", "notes")
    assert code == 2 and "either a folder or an index" in err
    code, _, err = run("query", QUERY, notes, "--in", notes)
    assert code == 2 and "give the folder once" in err


def test_a_folder_is_told_from_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    assert split_folder(["how", "do", "I", "clean", "src"]) == ("how do I clean src", None)
    assert split_folder(["how do I clean up", "src"]) == ("how do I clean up", Path("src"))
    assert split_folder(["clean", "./src"]) == ("clean", Path("./src"))
    assert split_folder(["clean", "src/"]) == ("clean", Path("src/"))
    assert split_folder(["what is", "src/missing"]) == ("what is src/missing", None)
    assert split_folder(["./src"]) == ("./src", None)


def test_a_lazy_index_says_so(run: Run, notes: Path, tiny_model: Path) -> None:
    code, out, _ = run("index", notes, "--lazy", "--model", tiny_model)
    assert code == 0 and "5 (0 encoded, 5 pending)" in out
    _, out, _ = run("status", "-i", "notes")
    assert "0 of 5 passages (0%)" in out and "encoded when a question looks at them" in out
    code, out, _ = run("index", notes)
    assert code == 0 and "5 (5 encoded)" in out


def test_an_empty_folder_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = run("query", QUERY, tmp_path / "empty")
    assert code == 1 and "no text to index" in err
