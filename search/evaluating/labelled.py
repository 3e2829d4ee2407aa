"""Labelled examples: CSV or TSV whose first line names the columns.

A column holds the label. Another says what has it: a text, or a passage id or path of an index.
"""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError
from search.evaluating.dataset import malformed, named_rows
from search.records.predictions import Example

TEXT, LABEL, PASSAGE, PATH = "text", "label", "passage", "path"


def read_examples(path: Path, *, text_column: str | None = None, label_column: str = LABEL) -> list[Example]:
    """The rows of a file as examples, in their order. Nothing is skipped but blank lines.

    Args:
        text_column: None takes "text"; where there is none, "passage" (ids) or "path".
        label_column: columns are found in any case of letters.

    Raises:
        InputError: the file cannot be read, a column is missing, or a row has another number of fields, no label, no
            text, or a passage that is no number. Messages name the line.
    """
    line, names, found = named_rows(path)
    what, label = _column(path, line, names, text_column), label_column.strip().casefold()
    if label not in names:
        raise malformed(path, line, _missing(f"'{label_column}'", "label", names, "--label-column"))
    if what == label:
        raise InputError(f"'{what}' cannot be both the text and the label. Name two columns.")
    examples = []
    for line, cells in found:
        for name in (what, label):
            if not cells[name].strip():
                raise malformed(path, line, f"the column '{name}' is empty. Fill it, or take the row out.")
        examples.append(_example(path, line, cells[what], cells[label].strip(), what, text_column))
    if not examples:
        raise malformed(path, line, "there are no rows below the first line.")
    return examples


def _column(path: Path, line: int, names: list[str], asked: str | None) -> str:
    """The column that says what has the label."""
    wanted = (TEXT, PASSAGE, PATH) if asked is None else (asked.strip().casefold(),)
    for name in wanted:
        if name in names:
            return name
    needed = "'text' (or 'passage' or 'path')" if asked is None else f"'{asked}'"
    raise malformed(path, line, _missing(needed, "text", names, "--text-column"))


def _missing(needed: str, what: str, names: list[str], option: str) -> str:
    there = ", ".join(f"'{name}'" for name in names if name) or "none"
    return f"no column {needed} for the {what}; there is {there}. Name the column with {option}."


def _example(path: Path, line: int, cell: str, label: str, what: str, asked: str | None) -> Example:
    if asked is None and what == PASSAGE:
        try:
            return Example(label, passage=int(cell.strip().removeprefix("p")), line=line)
        except ValueError:
            raise malformed(
                path, line, f"'{cell}' is no id of a passage; use a number as hits have it."
            ) from None
    if asked is None and what == PATH:
        return Example(label, path=cell.strip(), line=line)
    return Example(label, text=cell, line=line)
