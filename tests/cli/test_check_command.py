"""seewhy check and seewhy repair, as a person and a program see them."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.store import damage


@pytest.fixture
def place(indexed: Path, own_home: Path) -> Path:
    return own_home / "indexes" / "notes"


def test_a_sound_index(run: Run, place: Path) -> None:
    code, out, err = run("check")
    assert (code, err) == (0, "")
    assert "The index is sound and up to date (4 documents, 5 passages" in out
    assert "damaged" not in out
    assert run("check", "-q") == (0, "", "")
    code, out, _ = run("repair")
    assert (code, out.splitlines()[0]) == (0, "There was nothing to repair.")


def test_damage_is_exit_code_1_and_repair_makes_it_0(run: Run, place: Path) -> None:
    damage.execute(place, "UPDATE passages SET text = upper(text) WHERE id = 1")
    damage.flip_faiss(place)
    code, out, _ = run("query", "key")
    code, out, err = run("check")
    assert (code, err) == (1, "")
    for expected in (
        "documents are not as they were written",
        "p1 of deep/time.txt (its row)",
        "seewhy repair --index notes",
    ):
        assert expected in out
    code, out, _ = run("check", "--json")
    found = json.loads(out)
    assert (code, found["ok"]) == (1, False)
    by_check = {finding["check"]: finding for finding in found["findings"]}
    assert by_check["documents"]["severity"] == by_check["vectors"]["severity"] == "damaged"
    assert by_check["documents"]["examples"] == ["p1 of deep/time.txt (its row)"]

    code, out, _ = run("repair", "--dry-run")
    assert code == 1
    assert "would have read damaged documents again from the folder (1)" in out
    assert "Nothing was changed" in out
    code, out, _ = run("repair", "--json")
    done = json.loads(out)
    assert (code, done["check"]["ok"], done["lost"]) == (0, True, [])
    assert run("check")[0] == 0


def test_stale_is_exit_code_0(run: Run, indexed: Path, place: Path) -> None:
    (indexed / "new.txt").write_text("new", encoding="utf-8")
    code, out, _ = run("check")
    assert code == 0
    assert f"seewhy index {indexed}" in " ".join(out.split())
    assert run("check", "-q") == (0, "", "")


def test_an_index_that_no_other_command_opens(run: Run, place: Path) -> None:
    (place / "index.db").write_bytes(b"no database" * 400)
    assert run("status")[0] == 1
    code, out, err = run("check", "--index", "notes")
    assert (code, err) == (1, "")
    assert "SQLite cannot read it" in out
    assert "not checked: settings" in out
    code, out, err = run("repair", "--index", "notes")
    assert (code, out) == (1, "")
    assert "seewhy index FOLDER --index notes --rebuild" in err
    assert "Traceback" not in err


def test_a_database_with_a_broken_page_is_made_anew(run: Run, indexed: Path, place: Path) -> None:
    damage.zero_page_of("passages")(place)
    code, out, err = run("repair")
    assert (code, out) == (1, "")
    assert "--rebuild" in err and "Traceback" not in err
    assert run("index", indexed, "--rebuild", "-q")[0] == 0
    assert run("query", "key")[0] == 0


@pytest.mark.skipif(os.name == "nt", reason="no such file names there")
def test_names_from_files_are_harmless(run: Run, notes: Path, tiny_model: Path) -> None:
    (notes / "a\x1b[31m\nb.txt").write_text("water", encoding="utf-8")
    run("index", notes, "--model", tiny_model)
    (notes / "a\x1b[31m\nb.txt").write_text("other water", encoding="utf-8")
    code, out, _ = run("check", "--color", "never")
    assert code == 0
    assert "\x1b" not in out
    assert r"a\x1b[31m b.txt" in out
    assert "\x1b[" in run("check", "--color", "always")[1]


def test_lost_documents_are_listed(run: Run, indexed: Path, place: Path) -> None:
    damage.execute(place, "UPDATE passages SET text = upper(text) WHERE id = 1")
    indexed.rename(indexed.with_name("away"))
    code, out, _ = run("repair", "--index", "notes")
    assert code == 0
    assert "Lost from the index: 1" in out
    assert "deep/time.txt" in out


def test_help_says_what_the_exit_codes_mean(run: Run) -> None:
    for command in ("check", "repair"):
        assert "exit code" in " ".join(run(command, "--help")[1].lower().split())
