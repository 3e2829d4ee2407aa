"""The notebooks run to their last cell, offline, and what they compute by hand is what the library computes."""

import re
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "corpora" / "notebooks").glob("*.ipynb"))


def printed(notebook: object) -> str:
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]  # type: ignore[attr-defined]
    texts = (output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
    return "\n".join(texts)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_agrees_with_the_library(path: Path, handbook_home: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    execute = pytest.importorskip("nbconvert.preprocessors").ExecutePreprocessor
    notebook = nbformat.read(path, 4)
    kept = printed(notebook)
    run = execute(timeout=240, kernel_name="python3")
    run.preprocess(notebook, {"metadata": {"path": str(path.parent)}})
    for text in (kept, printed(notebook)):
        gaps = re.findall(
            r"(?:difference|residual)[^\n]*?[: ] ?(\d[\d.]*(?:e-\d+)?)$", text, re.MULTILINE
        )
        assert gaps or path.stem[0] in "2"
        assert all(float(gap) < 1e-5 for gap in gaps), gaps
        assert "False" not in text and "Traceback" not in text
    figures = sum(
        "image/png" in output.get("data", {})
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )
    assert figures == sum(
        "image/png" in output.get("data", {})
        for cell in nbformat.read(path, 4).cells
        for output in cell.get("outputs", ())
    )


def test_there_are_six() -> None:
    assert [path.stem[0] for path in NOTEBOOKS] == list("123456")
