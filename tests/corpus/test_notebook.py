from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from search.errors import ReadError

from .conftest import Document, outline

Read = Callable[[str, bytes], Document]


def cell(kind: str, source: Any, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "outputs": list(outputs)}


def shown(**data: Any) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {name.replace("_", "/"): text for name, text in data.items()},
    }


CELLS = [
    cell(
        "markdown",
        ["# A *first* look\n", "\n", "At [data](http://x), ![p](attachment:p.png).\n\nSub\n---\n- one"],
    ),
    cell("raw", "left out"),
    cell(
        "code",
        "x = *y*\nprint(x)",
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mred\x1b[0m\n", "line"]},
        shown(text_plain="<Figure size 1x1>", image_png="iVBORw0KGgo" * 9_000),
        shown(text_plain="a" * 3_000),
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["long"]},
    ),
    cell("markdown", "## Last"),
    cell("code", ""),
]


def notebook(**parts: Any) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, **parts}).encode()


def test_cells_are_pages_and_their_headings_sections(document: Read) -> None:
    found = document("a.ipynb", notebook(cells=CELLS))
    assert (found.kind, found.title, found.metadata) == ("notebook", "A first look", {"language": "python"})
    assert outline(found) == [
        (("A first look",), "A first look\n\nAt data, p.\n\n"),
        (
            ("A first look", "Sub"),
            "Sub\n\none\n\nx = *y*\nprint(x)\n\nred\nline\n\n" + "a" * 2_000 + "\n\nValueError: no\n\n",
        ),
        (("A first look", "Last"), "Last"),
    ]
    assert [found.text[start : start + 4] for start in found.pages] == ["A fi", "x = ", "x = ", "Last", ""]


def test_a_notebook_of_format_3(document: Read) -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Early"]},
        {
            "cell_type": "code",
            "input": ["1 + 1"],
            "outputs": [{"output_type": "pyout", "text": ["2"]}, {"png": "iVB"}],
        },
    ]
    found = document("a.ipynb", notebook(nbformat=3, worksheets=[{"cells": cells}]))
    assert (found.text, found.sections[0].trail) == ("Early\n\n1 + 1\n\n2", ("Early",))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b"no JSON", "damaged"),
        (b"[" * 100_000, "damaged"),
        (notebook(cells={}), "damaged"),
        (b"[]", "no text"),
        (
            notebook(cells=[1, {"cell_type": "code", "source": [2], "outputs": 3}, {"outputs": [4]}]),
            "no text",
        ),
    ],
)
def test_what_is_no_notebook(failure: Callable[[str, bytes], ReadError], raw: bytes, reason: str) -> None:
    assert failure("a.ipynb", raw).reason == reason
