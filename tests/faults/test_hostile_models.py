"""Models that return no numbers, and indexes that somebody made or changed to do harm."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, save_tiny_bert


@pytest.fixture
def run(run: Run, capsys: pytest.CaptureFixture[str]) -> Run:
    """As everywhere, without what was printed before."""

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


# Models.


def broken_model(folder: Path, value: float) -> Path:
    """A tiny BERT whose last layer returns one value throughout."""
    from safetensors.torch import load_file, save_file

    save_tiny_bert(folder)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.2.output.LayerNorm.weight"][:] = 0
    weights["encoder.layer.2.output.LayerNorm.bias"][:] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.parametrize("engine", ["openvino", "torch"])
@pytest.mark.parametrize(
    ("value", "said"),
    [(float("nan"), "NaN or infinity"), (float("inf"), "NaN or infinity"), (0.0, "zeros")],
)
def test_a_model_that_returns_no_embeddings(
    run: Run, notes: Path, tmp_path: Path, own_home: Path, engine: str, value: float, said: str
) -> None:
    model = broken_model(tmp_path / "broken", value)
    line = fails_plainly(run, "index", notes, "--model", model, "--engine", engine, "--index", "new")
    # OpenVINO's are compared with PyTorch's when a model is converted, so that is where they are noticed.
    assert f"'{model}' return" in line and said in line
    database = own_home / "indexes" / "new" / "index.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for table in ("passages", "embeddings", "documents"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize("value", [float("nan"), 0.0])
def test_an_index_outlives_a_broken_model(
    run: Run, notes: Path, tiny_model: Path, tmp_path: Path, value: float
) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    assert run("index", notes, "--model", model, "--index", "i")[0] == 0
    before = run("query", "the key", "--json", "-q", "-i", "i")
    broken = broken_model(tmp_path / "broken", value)
    (notes / "more.md").write_text("More water.", encoding="utf-8")
    fails_plainly(run, "index", notes, "--model", broken, "--index", "i")
    fails_plainly(run, "index", notes, "--model", broken, "--index", "i", "--rebuild")
    assert run("query", "the key", "--json", "-q", "-i", "i") == before
    assert run("index", notes, "--index", "i")[0] == 0
    assert "more.md" in run("query", "More water.", "-i", "i")[1]


# The files of segments. Their sizes and sums are right, as somebody who can write index.db can make them.


# index.db
