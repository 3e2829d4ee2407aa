"""The notebooks run to their last cell, offline; their outputs are current, and steps by hand equal the library's."""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import NOTEBOOKS, TRAINED, VARIES, Kernel, differences, output_text, write

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbconvert.preprocessors")


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    yield kernel
    kernel.close()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_agrees_with_the_library(
    path: Path, handbook_home: Path, kernel: Kernel
) -> None:
    committed, run = nbformat.read(path, 4), kernel.execute(path)
    assert differences(committed, run) == [], (
        f"if that is meant: python tests/notebooks.py --write {path}"
    )
    text = "\n".join(map(output_text, run.cells))
    gaps = re.findall(r"(?:difference|residual)[^\n]*?[: ] ?(\d[\d.]*(?:e-\d+)?)$", text, re.MULTILINE)
    assert gaps or path.stem[0] in "28"
    assert all(float(gap) < 1e-5 for gap in gaps), gaps
    assert not re.search(r"(?<!=)False|Traceback", text)  # "=False" is a setting of a module


def test_notebooks_are_numbered_from_one_to_eight() -> None:
    assert [path.stem[0] for path in NOTEBOOKS] == list("12345678")


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
    ],
)
def test_words_and_whole_numbers_must_be_equal(old: str, new: str, same: bool) -> None:
    assert (differences(notebook_of(old), notebook_of(new)) == []) is same


def test_in_a_cell_that_varies_only_numbers_may_differ() -> None:
    notebook = notebook_of("step 9: loss 1.7", VARIES)
    assert differences(notebook, notebook_of("step 8: loss 0.3")) == []
    assert differences(notebook, notebook_of("step 8: gain 0.3")) != []


def test_what_a_head_answers_may_differ_from_machine_to_machine() -> None:
    notebook = notebook_of("Oslo: a place", TRAINED)
    assert differences(notebook, notebook_of("run 'make lab' to see this")) == []


def test_a_missing_picture_is_a_difference() -> None:
    notebook = notebook_of("")
    picture = nbformat.v4.new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})
    notebook.cells[0].outputs.append(picture)
    assert differences(notebook, notebook_of("")) == ["cell 0 shows 1 pictures and draws 0"]


def test_writing_replaces_the_outputs_of_the_notebook(tmp_path: Path) -> None:
    """The standard error of a library and the time of the run are left out."""
    path = tmp_path / "a.ipynb"
    nbformat.write(notebook_of("old", VARIES), path)
    fresh = notebook_of("new", VARIES)
    fresh.metadata["language_info"] = {"version": "9"}
    fresh.cells[0].metadata["execution"] = {"iopub.status.busy": "now"}
    clean = copy.deepcopy(fresh.cells[0].outputs)
    fresh.cells[0].outputs.append(nbformat.v4.new_output("stream", name="stderr", text="Loading"))
    write(path, fresh)
    notebook = nbformat.read(path, 4)
    assert notebook.metadata == {} and notebook.cells[0].metadata == {"tags": [VARIES]}
    assert notebook.cells[0].outputs == clean
    assert differences(notebook, fresh) == []
