"""JSON Lines: one document for each line, which holds an object or a bare string."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from search.corpus import reasons
from search.corpus.decode import Decoded
from search.corpus.files import Skipped
from search.corpus.table import LOOKED_AT, Columns, chosen, shown
from search.corpus.text import kept_lines
from search.records.documents import Document


def documents(
    path: str, decoded: Decoded, text_field: str | None, title_field: str | None
) -> Iterator[Document | Skipped]:
    """The records of the file, numbered from 1; blank lines are none.

    Raises:
        ReadError: "no such column".
    """
    lines = [(number, line) for number, line in enumerate(kept_lines(decoded.text), 1) if line.strip()]
    columns = _columns(path, [line for _, line in lines], text_field, title_field)
    for record, (number, line) in enumerate(lines, 1):
        try:
            value = _parsed(line)
            row = {columns.text: value} if isinstance(value, str) else value
            document = columns.document(path, "jsonl", decoded.encoding, record, (number, number), row)
        except (ValueError, RecursionError) as error:
            yield Skipped(f"{path}#{record}", reasons.DAMAGED, f"line {number}: {error}")
        else:
            nothing = f"line {number}: nothing under '{shown(columns.text)}'"
            yield document or Skipped(f"{path}#{record}", reasons.EMPTY, nothing)


def _parsed(line: str) -> Any:
    """
    Raises:
        ValueError: the line is no JSON, or JSON that no document can be made of.
    """
    try:
        value = json.loads(line.rstrip("\r\n"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(value, (dict, str)):
        raise ValueError(f"neither an object nor a string, but {type(value).__name__}")
    return value


def _columns(path: str, lines: list[str], text_field: str | None, title_field: str | None) -> Columns:
    """The keys to use, from the first objects; from all of them if a key that was asked for is late."""
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    wanted = {name for name in (text_field, title_field) if name is not None}
    for line in lines:
        if len(rows) >= LOOKED_AT and wanted <= names.keys():
            break
        try:
            value = _parsed(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            rows.append(value)
            names.update(dict.fromkeys(value))
    if not names:
        return Columns("text", None)
    return chosen(path, list(names), rows[:LOOKED_AT], text_field, title_field)
