"""The static model of a machine: made once, at its first use, near the model that it is made from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder
from search.encoding import distil
from search.encoding.description import describe
from search.encoding.models import find_model, static_folder
from search.errors import ModelError
from tests.conftest import Run, save_tiny_bert

TEXTS = [
    "the key opens the door",
    "water and time",
    "people call a number",
    "the other side of the river",
]


@pytest.fixture
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model in the place of the default one, in an empty data folder."""
    folder = save_tiny_bert(tmp_path / "teacher", seed=41)
    monkeypatch.setenv("SEEWHY_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("search.encoding.encoder.find_model", lambda *names, **how: find_model(
        *(names or (str(folder),)), **how))  # fmt: skip
    return folder


def test_the_static_model_is_made_once(teacher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Encoder("static")
    assert first.engine.name == "static" and first.model == "static"
    written = (static_folder() / "model.safetensors").stat().st_mtime_ns
    monkeypatch.setattr(distil, "distilled", None)
    second = Encoder("static")
    assert (static_folder() / "model.safetensors").stat().st_mtime_ns == written
    np.testing.assert_array_equal(first.encode(TEXTS), second.encode(TEXTS))


def test_a_folder_of_that_name_is_given_as_a_path(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many projects have a folder that is called static."""
    save_tiny_bert(tmp_path / "work" / "static", seed=42)
    monkeypatch.chdir(tmp_path / "work")
    assert Encoder("static").engine.name == "static"
    assert Encoder("./static").engine.name == "openvino"


def test_its_embeddings_are_nearer_to_those_of_its_teacher_than_chance(teacher: Path) -> None:
    """The dimensions are others, but the similarities stay, but for what all texts have in common."""
    sequences = [" ".join(text) for text in random_words()]
    model = Encoder(str(teacher))
    expected, actual = (encoder.encode(sequences) for encoder in (model, Encoder("static")))
    expected, actual = expected - expected.mean(axis=0), actual - actual.mean(axis=0)
    apart = np.triu_indices(len(sequences), 1)
    correlation = np.corrcoef((expected @ expected.T)[apart], (actual @ actual.T)[apart])[0, 1]
    assert correlation > 0.25  # 0.36; by chance 0 with a standard deviation of about 0.05


def random_words() -> list[list[str]]:
    rng = np.random.default_rng(7)
    words = "the of and time water door key people river open number call side word".split()
    return [rng.choice(words, 6).tolist() for _ in range(40)]


def test_random_sequences_have_words_only(teacher: Path) -> None:
    tokenizer = Encoder(str(teacher)).tokenizer
    sequences = distil.random_sequences(tokenizer)
    assert len(sequences) == distil.SEQUENCES
    assert all(2 <= len(ids) < distil.LONGEST for ids in sequences)
    tokens = {tokenizer.id_to_token(id_) for ids in sequences for id_ in ids}
    assert all(token.isalpha() and len(token) > 1 for token in tokens)


def test_a_folder_is_indexed_with_it(teacher: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "notes").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "notes" / f"{number}.txt").write_text(text, encoding="utf-8")
    code, _, err = run("index", str(tmp_path / "notes"), "-i", "notes", "--model", "static")
    assert code == 0 and "once: about a minute" in err
    code, _, err = run("index", str(tmp_path / "notes"), "-i", "notes", "--model", "static")
    assert code == 0 and "about a minute" not in err
    opened = search.Index.open("notes")
    assert opened.fingerprint.model == "static"
    assert opened.query("the key opens the door")[0].path.endswith("0.txt")


def test_a_place_that_cannot_be_written_is_named(teacher: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot store the static model in"):
        distil.make_static_model(describe(find_model(str(teacher))))
