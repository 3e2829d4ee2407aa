"""Jupyter notebooks: a page for each cell, with what a reader sees of Markdown, code, and the text that it wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from search.corpus.files import Reason, Skipped
from search.corpus.markdown import Markdown
from search.corpus.writing import Writing
from search.errors import ReadError
from search.records.documents import Document
from search.records.shown import Shown

_LONGEST_OUTPUT = 2_000  # characters
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def extract(path: str, raw: bytes) -> list[Document | Skipped]:
    """A notebook of format 3 or 4. Pictures and raw cells are left out, and all but the beginning of a long output.

    Raises:
        ReadError: "damaged" or "too large when unpacked".
    """
    notebook = json.loads(raw)
    cells = _dictionary(notebook).get("cells")
    if cells is None:  # format 3
        cells = [
            cell for sheet in _dictionaries(notebook, "worksheets") for cell in _dictionaries(sheet, "cells")
        ]
    elif not isinstance(cells, list):
        raise ReadError(path, Reason.DAMAGED, "its cells are no list")
    writing = Writing(path, "notebook")
    for cell in map(_dictionary, cells):
        writing.page(runs_on=True)
        source, kind = _text(cell.get("source", cell.get("input"))), cell.get("cell_type")
        if kind == "markdown":
            _write_markdown(writing, source)
        elif kind == "heading":
            writing.heading(source, int(cell.get("level", 1)))
        elif kind == "code":
            writing.paragraph(source)
            for output in _dictionaries(cell, "outputs"):
                writing.paragraph(_COLOUR.sub("", _written(output))[:_LONGEST_OUTPUT])
    metadata = _dictionary(_dictionary(notebook).get("metadata"))
    language = _dictionary(metadata.get("language_info")).get("name")
    return [writing.done(_text(metadata.get("title")), {"language": _text(language)})]


def _write_markdown(writing: Writing, source: str) -> None:
    """A cell's text without its marks, under its headings."""
    found = Markdown(source)
    read = Shown(source, list(zip(found.marks[::2], found.marks[1::2], strict=True)))
    starts = [heading.start for heading in found.headings]
    for number, (start, end) in enumerate(zip([0, *starts], [*starts, len(source)], strict=True)):
        if number:
            writing.section(found.headings[number - 1].words, found.headings[number - 1].level)
        writing.paragraph(read.between(start, end))


def _written(output: dict[str, Any]) -> str:
    """The text of an output; "" of a picture, whose text only says that it is one."""
    if output.get("output_type") in ("error", "pyerr"):
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = output["data"] if isinstance(output.get("data"), dict) else output
    is_picture = any(str(key).startswith(("image/", "png", "jpeg", "svg")) for key in data)
    return "" if is_picture else _text(data.get("text/plain", data.get("text")))


def _text(value: Any) -> str:
    """A text, which may be a list of lines; "" for anything else."""
    return "".join(part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str))


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dictionaries(value: Any, key: str) -> Iterator[dict[str, Any]]:
    items = _dictionary(value).get(key)
    yield from map(_dictionary, items if isinstance(items, list) else ())
