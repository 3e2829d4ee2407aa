"""Models that return no numbers."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, save_tiny_bert


@pytest.fixture
def run(run: Run, capsys: pytest.CaptureFixture[str]) -> Run:
    """The fixture of all tests, without what was printed before."""

    def command(*args: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        return run(*args)

    return command


def fails_plainly(run: Run, *args: Any) -> str:
    """The one line on stderr with which a command ends."""
    code, out, err = run(*args)
    assert (code, out) == (1, ""), err
    assert err.startswith("seewhy: ")
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    return err


def broken_model(folder: Path, value: float) -> Path:
    """A tiny BERT whose last layer returns one value throughout."""
    from safetensors.torch import load_file, save_file

    save_tiny_bert(folder)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.2.output.LayerNorm.weight"][:] = 0
    weights["encoder.layer.2.output.LayerNorm.bias"][:] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.parametrize("value", [float("nan")])
def test_an_index_outlives_a_broken_model(
    run: Run, notes: Path, tiny_model: Path, tmp_path: Path, value: float
) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    assert run("index", notes, "--model", model, "--index", "i")[0] == 0
    before = run("query", "the key", "--json", "-q", "-i", "i")
    broken_folder = broken_model(tmp_path / "broken", value)
    (notes / "more.md").write_text("More water.", encoding="utf-8")
    assert f"'{broken_folder}'" in fails_plainly(
        run, "index", notes, "--model", broken_folder, "--index", "new"
    )
    fails_plainly(run, "index", notes, "--model", broken_folder, "--index", "i")
    fails_plainly(run, "index", notes, "--model", broken_folder, "--index", "i", "--rebuild")
    assert run("query", "the key", "--json", "-q", "-i", "i") == before
    assert run("index", notes, "--index", "i")[0] == 0
    assert "more.md" in run("query", "More water.", "-i", "i")[1]


@pytest.mark.parametrize("engine", ["openvino", "torch"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [(float("nan"), "NaN or infinity"), (float("inf"), "NaN or infinity"), (0.0, "zeros")],
)
def test_a_model_that_returns_no_embeddings_stores_none_and_words_are_found(
    run: Run, notes: Path, tmp_path: Path, own_home: Path, engine: str, value: float, problem: str
) -> None:
    model = broken_model(tmp_path / "broken", value)
    line = fails_plainly(run, "index", notes, "--model", model, "--engine", engine, "--index", "new")
    assert str(model) in line
    # OpenVINO's embeddings are compared with PyTorch's when a model is converted; that is where they are noticed.
    assert engine == "openvino" or problem in line
    with closing(sqlite3.connect(own_home / "indexes" / "new" / "index.db")) as connection:
        assert connection.execute("SELECT count(*) FROM embeddings").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pending").fetchone() == (5,)
    assert run("query", "key", "--mode", "lexical", "-q", "-i", "new")[1]
