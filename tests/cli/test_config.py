"""The configuration file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from search import Index
from tests.conftest import Run


@pytest.fixture
def file(own_home: Path) -> Path:
    return own_home / "config.toml"


def test_keys_are_set_listed_and_unset(run: Run, file: Path) -> None:
    code, out, err = run("config")
    assert (code, out) == (0, "")
    assert f"{file}  (does not exist yet)" in err
    assert not file.exists()
    for key, value in (("k", "3"), ("mode", "dense"), ("update", "true"), ("model", "a/b")):
        assert run("config", key, value) == (0, "", "")
    file.write_text("# mine\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert run("config", "k", "4")[0] == 0
    assert run("config", "--unset", "model")[0] == 0
    assert file.read_text(encoding="utf-8") == '# mine\nmode = "dense"\nupdate = true\nk = 4\n'
    assert run("config")[1] == 'mode = "dense"\nupdate = true\nk = 4\n'


def test_settings_are_the_defaults_of_options(
    run: Run, indexed: Path, file: Path, tiny_model: Path
) -> None:
    def hits(*args: str) -> list[dict[str, Any]]:
        return json.loads(run("query", "the door", *args, "--json")[1])

    file.write_text('k = 2\nmode = "dense"\nper_document = 1\ncolor = "always"\n', encoding="utf-8")
    assert (len(hits()), hits()[0]["mode"]) == (2, "dense")
    assert len({hit["document"] for hit in hits()}) == 2
    assert (len(hits("-k", "1")), hits("-m", "hybrid")[0]["mode"]) == (1, "hybrid")
    last = hits("-k", "3")[-1]  # by the most of a document that is configured
    assert (
        json.loads(run("explain", "the door", 3, "--json")[1])["hit"]["passage_id"] == last["passage_id"]
    )
    file.write_text("\ufeffcolor = 'always'\n", encoding="utf-8")
    assert "\x1b[" in run("query", "the door")[1]
    assert "\x1b[" not in run("query", "the door", "--color", "never")[1]


def test_the_configured_model_is_that_of_new_indexes(
    run: Run, indexed: Path, file: Path, tiny_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("a door", encoding="utf-8")
    file.write_text(f"model = {json.dumps(str(tiny_model))}\n", encoding="utf-8")
    code, _, err = run("index", tmp_path / "other")
    assert (code, err) == (0, "")
    assert Index.open("other").fingerprint.model == Index.open("notes").fingerprint.model
    file.write_text("model = 'there is no such model'\n", encoding="utf-8")
    assert run("index", indexed)[0] == 0  # it has one already


def test_settings_do_not_change_options_of_other_commands(
    run: Run, indexed: Path, file: Path, tiny_model: Path
) -> None:
    file.write_text("k = 1\nper_document = 1\nmode = 'lexical'\ncolor = 'always'\n", encoding="utf-8")
    assert run("remove", "--yes")[0] == 2
    assert run("move", indexed)[0] == 2
    assert Index.open("notes").check().ok
    assert "\x1b[" in run("list")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope = 1", "unknown setting 'nope' in '{file}'. Choose from: k, per_document, mode"),
        (
            "k = 0",
            "k is 0 in '{file}'; it must be a whole number of at least 1. Try: seewhy config --unset k",
        ),
        ("k = true", "k is True in '{file}'; it must be a whole number"),
        ("mode = 'best'", "mode is 'best' in '{file}'; it must be one of hybrid, dense, lexical"),
        ("update = 'yes'", "update is 'yes' in '{file}'; it must be true or false"),
        ("k = ", "is not valid TOML"),
        ("a." * 200 + "b = 1", "unknown setting 'a' in '{file}'"),
    ],
)
def test_an_error_names_the_file_and_the_remedy(run: Run, file: Path, text: str, message: str) -> None:
    file.write_text(text, encoding="utf-8")
    code, _, err = run("list")
    assert code == 1
    assert str(file) in err
    assert message.replace("{file}", str(file)) in err


def test_an_invalid_setting_changes_nothing(run: Run, file: Path) -> None:
    for args in (("k", "many"), ("nope", "1"), ("update", "yes")):
        code, _, err = run("config", *args)
        assert (code, "seewhy: " in err) == (1, True)
    assert run("config", "k")[0] == 2
    assert not file.exists()
    file.write_text("k = 0\n", encoding="utf-8")
    assert run("config", "--unset", "k")[0] == 0  # the way out of a file that is wrong
    assert file.read_text(encoding="utf-8") == ""
