"""The notebooks run to their last cell, offline; they show what they print, and by hand is as by the library."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import NOTEBOOKS, VARIES, differences, executed, pictures, printed, write

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbconvert.preprocessors")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_agrees_with_the_library(path: Path, handbook_home: Path) -> None:
    kept, run = nbformat.read(path, 4), executed(path)
    assert differences(kept, run) == [], f"if that is meant: python tests/notebooks.py --write {path}"
    assert pictures(kept) == pictures(run)
    text = "\n".join(map(printed, run.cells))
    gaps = re.findall(r"(?:difference|residual)[^\n]*?[: ] ?(\d[\d.]*(?:e-\d+)?)$", text, re.MULTILINE)
    assert gaps or path.stem[0] in "2"
    assert all(float(gap) < 1e-5 for gap in gaps), gaps
    assert "False" not in text and "Traceback" not in text


def test_there_are_six() -> None:
    assert [path.stem[0] for path in NOTEBOOKS] == list("123456")


def notebook_of(text: str, *tags: str) -> Any:
    """A notebook of one cell that prints a text."""
    output = nbformat.v4.new_output("stream", name="stdout", text=text)
    cell = nbformat.v4.new_code_cell("print()", id="a", outputs=[output], metadata={"tags": list(tags)})
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("681 passages", "681 passages", True),
        ("681 passages", "683 passages", False),
        ("page 12,345", "page 12,346", False),
        ("p260 of 2025-01-20", "p261 of 2025-01-20", False),
        ("cosine 0.566", "cosine 0.5701", True),
        ("cosine 0.566", "cosine 0.58", False),
        ("loss -10.33", "loss -10.38", True),
        ("residual 1.4e-08", "residual -3.0e-09", True),
        ("[0.37 1.  ]", "[0.366 1.   ]", True),
        ("np.float64(0.5)", "0.5", True),
        ("equal: True", "equal: False", False),
        ("1.0 and more", "1.0", False),
        ("a row", "run 'make lab' to see this", True),
    ],
)
def test_words_and_whole_numbers_must_be_equal(old: str, new: str, same: bool) -> None:
    assert (differences(notebook_of(old), notebook_of(new)) == []) is same


def test_in_a_cell_that_varies_the_words_must_be_equal() -> None:
    shown = notebook_of("step 9: loss 1.7", VARIES)
    assert differences(shown, notebook_of("step 8: loss 0.3")) == []
    assert differences(shown, notebook_of("step 8: gain 0.3")) != []


def test_what_is_printed_now_is_put_into_the_notebook(tmp_path: Path) -> None:
    """Without what a library writes to standard error, and without the time of the run."""
    path = tmp_path / "a.ipynb"
    nbformat.write(notebook_of("old", VARIES), path)
    fresh = notebook_of("new", VARIES)
    fresh.metadata["language_info"] = {"version": "9"}
    fresh.cells[0].metadata["execution"] = {"iopub.status.busy": "now"}
    clean = copy.deepcopy(fresh.cells[0].outputs)
    fresh.cells[0].outputs.append(nbformat.v4.new_output("stream", name="stderr", text="Loading"))
    write(path, fresh)
    written = nbformat.read(path, 4)
    assert written.metadata == {} and written.cells[0].metadata == {"tags": [VARIES]}
    assert written.cells[0].outputs == clean
    assert differences(written, fresh) == []
