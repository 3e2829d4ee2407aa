"""The stage's public face: its names, and what importing it costs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import search.corpus

MODULES = [module.name for module in pkgutil.iter_modules(search.corpus.__path__, "search.corpus.")]
HEAVY = (
    "markdown_it justhtml chardet yaml semantic_text_splitter tokenizers mammoth pptx openpyxl"
    " pypdfium2 psutil"
).split()


def test_public_names() -> None:
    assert sorted(search.corpus.__all__) == [
        "Contents",
        "Cutter",
        "Skipped",
        "SourceFile",
        "documents",
        "load",
        "walk",
    ]


def test_importing_loads_no_parser_and_no_splitter() -> None:
    program = f"import sys, search.corpus; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"


def test_the_map_in_the_docstring_names_every_file() -> None:
    shown = str(search.corpus.__doc__)
    stages = {"walk", "read", "cut"}  # drawn above the list of files
    files = {name.rpartition(".")[2] for name in MODULES} - stages
    assert [file for file in sorted(files) if f"{file}.py" not in shown] == []


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
