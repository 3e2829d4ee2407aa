"""Models that return no numbers."""

import shutil
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
    broken = broken_model(tmp_path / "broken", value)
    (notes / "more.md").write_text("More water.", encoding="utf-8")
    assert f"'{broken}'" in fails_plainly(run, "index", notes, "--model", broken, "--index", "new")
    fails_plainly(run, "index", notes, "--model", broken, "--index", "i")
    fails_plainly(run, "index", notes, "--model", broken, "--index", "i", "--rebuild")
    assert run("query", "the key", "--json", "-q", "-i", "i") == before
    assert run("index", notes, "--index", "i")[0] == 0
    assert "more.md" in run("query", "More water.", "-i", "i")[1]
