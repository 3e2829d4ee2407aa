"""Prompts: from a model's files, from its family, or from the user; they are always said."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder
from search.encoding.prompts import FAMILIES
from search.errors import FingerprintMismatch
from tests.conftest import Run, save_tiny_bert


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "a.txt").write_text("the key opens the door", encoding="utf-8")
    (folder / "b.txt").write_text("water and time", encoding="utf-8")
    return folder


def like_e5(folder: Path, seed: int = 0) -> Path:
    """A model without prompts in its files, whose name on the hub is known for its prompts.

    Args:
        seed: another for an index that is opened again: a model is found by its hash under the first name it had.
    """
    return save_tiny_bert(folder / "intfloat" / "e5-small-v2", seed=seed)


def test_a_model_with_a_known_name_gets_the_prompts_of_its_family(tmp_path: Path) -> None:
    model = like_e5(tmp_path)
    plain = Encoder(str(save_tiny_bert(tmp_path / "plain")))
    encoder = Encoder(str(model))
    assert (encoder.prompt("query"), encoder.prompt("document")) == ("query: ", "passage: ")
    np.testing.assert_allclose(
        encoder.encode(["the key"], role="query"), plain.encode(["query: the key"]), atol=1e-6
    )
    assert plain.fingerprint.prompts_line == "none"


@pytest.mark.parametrize(
    "folder",
    [
        "intfloat/e5-small-v2",
        "my-models/multilingual-e5-base",
        "hub/models--intfloat--e5-large-v2/snapshots/0123456789012345678901234567890123456789",
    ],
)
def test_a_folder_is_recognized_by_its_path(tmp_path: Path, folder: str) -> None:
    encoder = Encoder(str(save_tiny_bert(tmp_path / folder)))
    assert encoder.fingerprint.prompts_line == (
        "query 'query: ', documents 'passage: ' (known for this family)"
    )


@pytest.mark.parametrize("folder", ["somebody/not-e5-small", "e5-small-v2-of-mine", "other/bge-m3"])
def test_another_name_gets_no_prompts(tmp_path: Path, folder: str) -> None:
    assert Encoder(str(save_tiny_bert(tmp_path / folder))).fingerprint.prompts_line == "none"


def test_prompts_in_the_models_files_come_before_those_of_its_family(tmp_path: Path) -> None:
    model = like_e5(tmp_path)
    (model / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "find ", "passage": "read "}}), encoding="utf-8"
    )
    encoder = Encoder(str(model))
    assert encoder.fingerprint.prompts_line == (
        "query 'find ', documents 'read ' (from the model's files)"
    )
    changed = Encoder(str(model), query_prompt="", document_prompt="see ")
    assert changed.fingerprint.prompts_line == "query none, documents 'see ' (given)"
    same = Encoder(str(model), query_prompt="find ", document_prompt="read ")
    assert same.fingerprint.prompts == encoder.fingerprint.prompts


def test_prompts_that_are_given_stay_with_the_index(tmp_path: Path, notes: Path, run: Run) -> None:
    model = like_e5(tmp_path, 31)
    index = str(tmp_path / "index")
    code, out, _ = run(
        "index", str(notes), "-i", index, "--model", str(model), "--query-prompt", "find ",
        "--document-prompt", "",
    )  # fmt: skip
    assert code == 0
    line = "query 'find ', documents none (given)"
    assert line in out
    _, out, _ = run("status", "-i", index)
    assert line in out
    _, out, _ = run("status", "-i", index, "--json")
    assert json.loads(out)["prompts"] == line

    opened = search.Index.open(index)
    assert opened.encoder.prompt("query") == "find "
    code, out, err = run("index", str(notes), "-i", index)
    assert code == 0 and line in out, f"an update keeps them: {err}"
    code, _, err = run("index", str(notes), "-i", index, "--query-prompt", "other ")
    assert code == 1 and "prompts" in err and "--rebuild" in err
    code, out, _ = run("index", str(notes), "-i", index, "--query-prompt", "other ", "--rebuild")
    assert code == 0 and "query 'other ', documents none (given)" in out


def test_documents_from_memory_have_prompts_too(tmp_path: Path, run: Run) -> None:
    model, index = str(like_e5(tmp_path, 32)), str(tmp_path / "faq")
    lines = tmp_path / "documents.jsonl"
    lines.write_text('{"id": "a", "text": "the key opens the door"}\n', encoding="utf-8")
    assert run("upsert", str(lines), "-i", index, "--model", model, "--query-prompt", "find ")[0] == 0
    opened = search.Index.open(index)
    assert opened.fingerprint.prompts_line == "query 'find ', documents 'passage: ' (given)"
    assert run("upsert", str(lines), "-i", index, "--query-prompt", "find ")[0] == 0
    code, _, err = run("upsert", str(lines), "-i", index, "--query-prompt", "other ")
    assert code == 1 and "prompts" in err
    with pytest.raises(FingerprintMismatch):
        opened.fingerprint.require_equal(Encoder(model).fingerprint)


def test_an_index_keeps_its_prompts_after_its_model_was_moved(tmp_path: Path, notes: Path) -> None:
    """A folder with another name would belong to no family."""
    model = like_e5(tmp_path, 33)
    built = search.Index.build(notes, index=str(tmp_path / "index"), model=str(model))
    before = built.query("the key", k=1)[0].cosine
    moved = tmp_path / "moved"
    shutil.copytree(model, moved)
    opened = search.Index.open(tmp_path / "index", model=str(moved))
    assert opened.query("the key", k=1)[0].cosine == pytest.approx(before, abs=1e-6)


def test_an_index_without_the_prompts_of_its_family_has_a_note_and_gets_them_by_a_rebuild(
    tmp_path: Path, notes: Path, run: Run
) -> None:
    """Earlier versions knew no families."""
    model, place = str(like_e5(tmp_path, 35)), str(tmp_path / "index")
    search.Index.build(notes, index=place, model=model, query_prompt="", document_prompt="")
    with sqlite3.connect(Path(place) / "index.db") as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
        fingerprint = json.loads(text)
        del fingerprint["prompts_from"]
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'fingerprint'", (json.dumps(fingerprint),)
        )
    assert (
        "was trained with prompts, and this index has none" in search.Index.open(place).encoder.notes[0]
    )
    code, out, err = run("index", str(notes), "-i", place, "--model", model)
    assert code == 0 and "trained with prompts" in err and "prompts    none" in out
    code, out, err = run("index", str(notes), "-i", place, "--model", model, "--rebuild")
    assert code == 0 and "trained with prompts" not in err
    assert "query 'query: ', documents 'passage: ' (known for this family)" in out


def test_every_family_has_a_name_on_the_hub_and_a_prompt() -> None:
    for family in FAMILIES:
        assert family.names.count("/") == 1
        assert family.query or family.document
