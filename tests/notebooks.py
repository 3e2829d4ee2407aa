"""Compare what the notebooks show with what they print.

    python tests/notebooks.py [--write] [NOTEBOOK...]

Each notebook is run in a copy, offline, and the text that each cell prints is compared with the committed output. Whole
numbers must be equal, others to 1 %, or 0.01 if that is more; pictures are counted. In a cell with the tag `varies` (a
training, the size of a page) numbers may differ. In one with the tag `trained` everything may: it shows what a head
answers that was trained on another machine, or says that there is none. `--write` puts in what is printed now.
"""

from __future__ import annotations

import argparse
import copy
import math
import os
import re
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((REPOSITORY / "corpora" / "notebooks").glob("*.ipynb"))
VARIES, TRAINED = "varies", "trained"
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d*)?(?:e[+-]?\d+)?")
_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")  # how NumPy 2 shows a scalar


class Kernel:
    """A kernel that runs one notebook after the other, each without the names of those before.

    So that PyTorch and others are imported once. They compute in one thread: threads of two programs that share two
    cores wait for each other, and a training then takes ten times as long.
    """

    def __init__(self) -> None:
        self._manager: Any = None
        self._client: Any = None

    def execute(self, path: Path) -> Any:
        """Return a notebook with its outputs, run from its folder."""
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(path, 4)
        cells = notebook.cells
        notebook.cells = [nbformat.v4.new_code_cell("%reset -f"), *cells]
        where = {"metadata": {"path": str(path.parent)}}
        run = NotebookClient(notebook, self._manager, timeout=300, kernel_name="python3", resources=where)
        if self._manager is None:
            self._manager, run.owns_km = run.create_kernel_manager(), False
            run.km = self._manager
        run.kc = self._client
        run.execute(env={**os.environ, "OMP_NUM_THREADS": "1"})
        self._client, notebook.cells = run.kc, cells
        return notebook

    def close(self) -> None:
        """Stop the kernel."""
        from nbclient.util import run_sync

        if self._client is not None:
            self._client.stop_channels()
            run_sync(self._manager.shutdown_kernel)(now=True)


def output_text(cell: Any) -> str:
    """The text that a cell prints or returns, without errors of libraries and descriptions of pictures."""
    texts = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream" and output.name == "stdout":
            texts.append(output.text)
        elif "image/png" not in output.get("data", {}):
            texts.append(output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


def pictures(cell: Any) -> int:
    """Number of pictures below a cell."""
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", ()))


def differences(notebook: Any, fresh: Any) -> list[str]:
    """Cells whose committed output is not what is printed, with both texts; empty if there are none."""
    findings = []
    for number, (cell, fresh_cell) in enumerate(zip_longest(notebook.cells, fresh.cells)):
        old, new = output_text(cell), output_text(fresh_cell)
        tags = () if cell is None else cell.metadata.get("tags", ())
        if TRAINED in tags:
            continue
        if not _alike(old, new, VARIES in tags):
            findings.append(f"cell {number} shows\n{old}\nand prints\n{new}")
        if pictures(cell) != pictures(fresh_cell):
            findings.append(
                f"cell {number} shows {pictures(cell)} pictures and draws {pictures(fresh_cell)}"
            )
    return findings


def _alike(old: str, new: str, varies: bool) -> bool:
    old, new = (" ".join(_SCALAR.sub(r"\1", text).split()) for text in (old, new))
    pairs = zip_longest(_NUMBER.findall(old), _NUMBER.findall(new), fillvalue="")
    # Columns are as wide as their numbers, and "1." stands for "1.0" where it is printed so.
    texts = {re.sub(r"\s", "", _NUMBER.sub("#", text)) for text in (old, new)}
    return len(texts) == 1 and (varies or all(_near(*pair) for pair in pairs))


def _near(old: str, new: str) -> bool:
    if not set(".e") & set(old + new):
        return old == new
    a, b = (float(number.replace(",", "")) for number in (old, new))
    return math.isclose(a, b, rel_tol=0.01, abs_tol=0.01)


def write(path: Path, fresh: Any) -> None:
    """Put new outputs into a notebook; what a library writes to standard error is left out."""
    import nbformat

    notebook = copy.deepcopy(fresh)
    notebook.metadata = nbformat.read(path, 4).metadata
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    text = nbformat.writes(notebook, 4)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", type=Path, default=NOTEBOOKS)
    parser.add_argument("--write", action="store_true", help="put in what is printed now")
    arguments = parser.parse_args()
    wrong = 0
    import nbformat

    kernel = Kernel()
    for path in arguments.notebooks:
        fresh = kernel.execute(path)
        findings = differences(nbformat.read(path, 4), fresh)
        wrong += bool(findings)
        print(path.name, "differs" if findings else "as printed", *findings, sep="\n  ", flush=True)
        if arguments.write:
            write(path, fresh)
    kernel.close()
    return int(bool(wrong) and not arguments.write)


if __name__ == "__main__":
    sys.exit(main())
