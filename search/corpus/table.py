"""Reader for tables and JSON Lines: one document per record.

The first row of CSV and TSV names the columns. Each line of JSON Lines is an object, or a string with the text.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.corpus.sources import Reason, Skipped, file_stem
from search.corpus.text import KEPT_LINE, json_values, one_line, whole_characters
from search.errors import ReadError
from search.records.documents import LineMap, ParsedDocument, Section

# Well-known column names in order of preference; case is ignored.
_TEXTS = (
    "text body content contents abstract passage paragraph sentence document article description summary"
    " post message comment review tweet note notes context full_text"
)
_TITLES = "title name subject headline heading"

# Records that are read to find the column with the most text.
_SAMPLED = 100

_NAMED = 30  # columns that an error lists


@dataclass(frozen=True)
class _Columns:
    """Names of the columns that hold the text and the title; None for no title."""

    text: str
    title: str | None

    def document(self, path: str, kind: str, number: int, record: _Record) -> ParsedDocument | None:
        """Return the document of a record; None if it contains no text.

        All values except text and title are metadata.

        Args:
            number: number of the record, from 1.

        Raises:
            ValueError: the record is damaged, or its values are nested too deeply.
        """
        if record.problem:
            raise ValueError(record.problem)
        row = {self.text: record.values} if isinstance(record.values, str) else record.values
        title = one_line(as_text(row.get(self.title))) if self.title else ""
        text = as_text(row.get(self.text))
        if not text.strip():
            text = title  # the only text of the record
        if not text:
            return None
        return ParsedDocument(
            path=path,
            kind=kind,
            text=text,
            title=title or file_stem(path),
            lines=LineMap((0, len(text)), (record.first, record.last), whole=True),
            sections=(Section(0, len(text)),),
            record=number,
            metadata=json_values(
                {name: row[name] for name in row if name not in (self.text, self.title)}
            ),
        )


@dataclass(frozen=True)
class _Record:
    """A record: values by column, or the problem; its first and last line, 1-based."""

    values: Any
    first: int
    last: int
    problem: str = ""


def documents(
    path: str, kind: str, text: str, text_field: str | None, title_field: str | None
) -> Iterator[ParsedDocument | Skipped]:
    """Yield a document or a `Skipped` per record, numbered from 1; blank rows and lines are not counted.

    Args:
        kind: "csv" or "jsonl".

    Raises:
        ReadError: "damaged" for a damaged header, or "no such column".
    """
    fields = (text_field, title_field)
    read, nothing = (_tabular, "in column") if kind == "csv" else (_json_lines, "under")
    columns, records = read(path, text, fields)
    for number, record in enumerate(records, 1):
        name, at = f"{path}#{number}", f"line {record.first}"
        try:
            document = columns.document(path, kind, number, record)
        except ValueError as error:
            yield Skipped(name, Reason.DAMAGED, f"{at}: {error}")
        else:
            detail = f"{at}: nothing {nothing} '{whole_characters(columns.text)}'"
            yield document or Skipped(name, Reason.EMPTY, detail)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines one by one: a list of millions of lines takes more memory than their text."""
    return (line[0] for line in KEPT_LINE.finditer(text))


def _json_lines(
    path: str, text: str, fields: tuple[str | None, str | None]
) -> tuple[_Columns, Iterator[_Record]]:
    """Return the columns of text and title, and the records.

    Only the first objects are searched for keys, or all of them if a requested key is not found there.
    """
    rows: list[Mapping[str, Any]] = []
    names: dict[str, None] = {}
    for record in _parsed(text):
        if len(rows) >= _SAMPLED and names.keys() >= {*fields} - {None}:
            break
        if isinstance(record.values, Mapping) and not record.problem:
            rows.append(record.values)
            names.update(dict.fromkeys(record.values))
    columns = _chosen(path, list(names), rows[:_SAMPLED], *fields) if names else _Columns("text", None)
    return columns, _parsed(text)


def _parsed(text: str) -> Iterator[_Record]:
    for number, line in enumerate(_lines(text), 1):
        if not line.strip():
            continue
        value, problem = None, ""
        try:
            value = json.loads(line.rstrip("\r\n"))
            if not isinstance(value, (dict, str)):
                problem = f"expected an object or a string, got {type(value).__name__}"
        except RecursionError:
            problem = "nested too deeply"
        except ValueError as error:
            problem = f"invalid JSON: {error}"
        yield _Record({} if problem else value, number, number, problem)


def _chosen(
    path: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    text_field: str | None,
    title_field: str | None,
) -> _Columns:
    """Return the columns of text and title: those requested, else well-known names, else the fullest for the text.

    Args:
        path: shown in the error.
        names: all columns, at least one.
        rows: the first rows, to compare the columns.
        text_field, title_field: requested names.

    Raises:
        ReadError: "no such column", with the existing columns.
    """
    for option, name in (("text_field", text_field), ("title_field", title_field)):
        if name is not None and name not in names:
            listed = ", ".join(f"'{column}'" for column in names[:_NAMED])
            detail = whole_characters(f"{option} '{name}' is not a column. Choose from: {listed}")
            raise ReadError(path, Reason.NO_SUCH_COLUMN, detail)
    title = title_field or _preferred(_TITLES, names, taken=text_field)
    text = text_field or _preferred(_TEXTS, names, taken=title_field)
    if text is None:
        others = [name for name in names if name != title] or list(names)
        lengths = Counter[str]()
        for row in rows:
            lengths.update({name: len(as_text(value)) for name, value in row.items()})
        text = max(others, key=lengths.__getitem__)
    return _Columns(text, title if title != text else None)


def _preferred(candidates: str, names: Sequence[str], taken: str | None) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names) if name != taken}
    return next((by_lower[name] for name in candidates.split() if name in by_lower), None)


def as_text(value: Any) -> str:
    """Return a value as text: strings unchanged, a list of strings as lines, None as ""."""
    if isinstance(value, list):
        value = "\n".join(item for item in value if item and isinstance(item, str))
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return ""


# csv refuses cells of more than 131,072 characters unless set otherwise, for the whole process.
_LONGEST_CELL = 64 * 2**20

_DELIMITERS = ",\t;|"

_SAMPLE = 2**14  # characters of a line that the delimiter is guessed from

# Delimiter for a file with only one column: a character that does not occur in it.
_NO_DELIMITER = "\x1f"


def _tabular(
    path: str, text: str, fields: tuple[str | None, str | None]
) -> tuple[_Columns, Iterator[_Record]]:
    """Return the columns of text and title, and the rows after the header."""
    rows = _rows(text)
    header, at, _, problem = next(rows, ([], 0, 0, ""))
    if problem:
        raise ReadError(path, Reason.DAMAGED, f"line {at}: {problem}")
    names = _distinct(header)
    records = (_Record(_named(names, cells), first, last, wrong) for cells, first, last, wrong in rows)
    if not names:
        return _Columns("", None), records
    ahead = list(itertools.islice(records, _SAMPLED))
    columns = _chosen(path, names, [record.values for record in ahead], *fields)
    return columns, itertools.chain(ahead, records)


def _named(names: list[str], cells: list[str]) -> dict[str, str]:
    """Return the non-blank cells by column name; cells beyond the header are "column 7" and so on."""
    surplus = (f"column {number}" for number in range(len(names) + 1, len(cells) + 1))
    return {name: cell for name, cell in zip([*names, *surplus], cells, strict=False) if cell.strip()}


def _distinct(cells: list[str]) -> list[str]:
    """Return unique column names: stripped, "column 3" for an empty one, "name (4)" for a repeated one in column 4."""
    names: dict[str, None] = {}
    for number, cell in enumerate(cells, 1):
        name = cell.strip() or f"column {number}"
        names[f"{name} ({number})" if name in names else name] = None
    return list(names)


def _rows(text: str) -> Iterator[tuple[list[str], int, int, str]]:
    """Yield the non-blank rows: cells, first and last line, problem."""
    if csv.field_size_limit() < _LONGEST_CELL:
        csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(_lines(text), delimiter=_delimiter(text), skipinitialspace=True)
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield [], first, reader.line_num, str(error)
        else:
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                yield cells, first, reader.line_num, ""


def _delimiter(text: str) -> str:
    """Return the delimiter with which most of the first rows have as many cells as the header.

    In a tie, the delimiter that gives the most cells wins.

    csv.Sniffer is not used: it mistakes apostrophes for quotes and letters for delimiters.
    """
    sample = [line[:_SAMPLE] for line in itertools.islice(_lines(text), _SAMPLED)]

    def consistency(delimiter: str) -> tuple[float, int]:
        try:
            widths = [len(cells) for cells in csv.reader(sample, delimiter=delimiter) if cells]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    delimiter = max(_DELIMITERS, key=consistency)
    return delimiter if any(consistency(delimiter)) else _NO_DELIMITER
