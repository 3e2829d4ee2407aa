"""CSV and TSV: the first row names the columns, each further row is one document.

Which column is the text and which the title is told here for JSONL, too.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.corpus import reasons
from search.corpus.decode import Decoded
from search.corpus.files import Skipped, file_stem
from search.corpus.text import json_values, kept_lines, one_line, whole_characters
from search.errors import ReadError
from search.records.documents import Document, LineMap, Section

# In order of preference, in any case of letters.
_TEXTS = (
    "text body content contents abstract passage paragraph sentence document article description summary"
    " post message comment review tweet note notes context full_text"
)
_TITLES = "title name subject headline heading"

# Rows that are looked at to find the column with the most text.
LOOKED_AT = 100

# Columns that an error lists, and characters of each name: a file may have thousands, of any length.
_NAMED = 30
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Columns:
    """The names of the columns that hold the text and the title; None for no title."""

    text: str
    title: str | None

    def document(
        self, path: str, kind: str, encoding: str, number: int, lines: tuple[int, int], row: Mapping[str, Any]
    ) -> Document | None:
        """The document that a record is; None if it holds no text.

        Args:
            number: of the record, from 1.
            lines: its first and last line in the file.
            row: its values; those that are neither text nor title are metadata.

        Raises:
            ValueError, RecursionError: there are too many of them, or they are nested too deeply.
        """
        title = one_line(_plain(row.get(self.title))) if self.title else ""
        text = _plain(row.get(self.text))
        if not text.strip():
            text = title  # all that the record says
        if not text:
            return None
        return Document(
            path=path,
            kind=kind,
            text=text,
            title=title or file_stem(path),
            lines=LineMap((0, len(text)), lines, whole=True),
            sections=(Section(0, len(text)),),
            record=number,
            metadata=json_values({name: row[name] for name in row if name not in (self.text, self.title)}),
            encoding=encoding,
        )


def chosen(
    path: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    text_field: str | None,
    title_field: str | None,
) -> Columns:
    """The columns to use: those asked for, else well-known names, else (for text) the fullest one.

    Args:
        path: named in the error.
        names: all columns, at least one.
        rows: the first rows, to measure the columns by.
        text_field, title_field: what the caller asked for.

    Raises:
        ReadError: "no such column", with the columns that there are.
    """
    for option, name in (("text_field", text_field), ("title_field", title_field)):
        if name is not None and name not in names:
            listed = ", ".join(f"'{shown(known)}'" for known in names[:_NAMED])
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            detail = f"{option} '{shown(name)}' is not one of {listed}{more}"
            raise ReadError(path, reasons.NO_SUCH_COLUMN, detail)
    title = title_field or _known(_TITLES, names, taken=text_field)
    text = text_field or _known(_TEXTS, names, taken=title_field)
    if text is None:
        others = [name for name in names if name != title] or list(names)
        text = max(others, key=lambda name: sum(len(as_text(row.get(name))) for row in rows))
    return Columns(text, title if title != text else None)


def _known(known: str, names: Sequence[str], taken: str | None) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names) if name != taken}
    return next((by_lower[name] for name in known.split() if name in by_lower), None)


def shown(name: str) -> str:
    """A column's name as a message holds it: cut short, and without halves of characters."""
    name = whole_characters(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _plain(value: Any) -> str:
    return whole_characters(as_text(value))


def as_text(value: Any) -> str:
    """A value as text to search: strings as they are, lists of strings as lines, nothing as ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(as_text, value)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return ""


# csv refuses cells of more than 131,072 characters unless told otherwise, for the whole process.
_LONGEST_CELL = 64 * 2**20

_DELIMITERS = ",\t;|"

# Far more than any table has; what has more is no table, and a name for each column would fill the memory.
_MOST_COLUMNS = 10_000

# Characters that the delimiter is told from.
_SAMPLE = 2**20

# Lines that are read again because of stray quotes; one more quote then costs the rest of the file.
_MOST_REREAD = 5_000_000

# Between the columns of a file that has but one: a character that is not in it.
_NO_DELIMITER = "\x1f"


@dataclass(frozen=True)
class _Row:
    """A row of the file: its cells, or what is wrong with it; its first and last line, 1-based."""

    cells: list[str]
    first: int
    last: int
    problem: str = ""


def documents(
    path: str, decoded: Decoded, text_field: str | None, title_field: str | None
) -> Iterator[Document | Skipped]:
    """The rows below the header as documents, numbered from 1; blank rows are none.

    Raises:
        ReadError: "damaged" if the header is, "no such column".
    """
    rows = _rows(kept_lines(decoded.text))
    header = next(rows, None)
    if header is None:
        return
    if header.problem:
        raise ReadError(path, reasons.DAMAGED, f"line {header.first}: {header.problem}")
    names = _distinct(header.cells)
    ahead = list(itertools.islice(rows, LOOKED_AT))
    columns = chosen(path, names, [_record(names, row.cells) for row in ahead], text_field, title_field)
    for number, row in enumerate(itertools.chain(ahead, rows), 1):
        at = f"line {row.first}"
        if row.problem:
            yield Skipped(f"{path}#{number}", reasons.DAMAGED, f"{at}: {row.problem}")
            continue
        filled = {name: cell for name, cell in _record(names, row.cells).items() if cell.strip()}
        document = columns.document(path, "csv", decoded.encoding, number, (row.first, row.last), filled)
        yield document or Skipped(
            f"{path}#{number}", reasons.EMPTY, f"{at}: nothing in column '{shown(columns.text)}'"
        )


def _record(names: list[str], cells: list[str]) -> dict[str, str]:
    """Cells by column name; cells beyond the header are "column 7" and so on, missing ones left out."""
    surplus = (f"column {number}" for number in range(len(names) + 1, len(cells) + 1))
    return dict(zip([*names, *surplus], cells, strict=False))


def _distinct(cells: list[str]) -> list[str]:
    """Column names: stripped, "column 3" for a nameless one, "name (2)" for the second "name"."""
    names: dict[str, None] = {}
    repeats: dict[str, Iterator[int]] = {}
    for number, cell in enumerate(cells, 1):
        name = plain = cell.strip() or f"column {number}"
        while name in names:
            name = f"{plain} ({next(repeats.setdefault(plain, itertools.count(2)))})"
        names[name] = None
    return list(names)


def _rows(lines: list[str]) -> Iterator[_Row]:
    """The rows of the file that are not blank."""
    if csv.field_size_limit() < _LONGEST_CELL:
        csv.field_size_limit(_LONGEST_CELL)
    delimiter, spaced = _dialect(lines)
    done = reread = 0
    while done < len(lines):
        reader = csv.reader(lines[done:], delimiter=delimiter, skipinitialspace=spaced)
        start = done
        while True:
            first = start + reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield _Row([], first, start + reader.line_num, str(error))
                continue
            last = start + reader.line_num
            if last == len(lines) and last > first and _is_open(lines[first - 1 : last]):
                # One stray quote has swallowed the rest of the file: give up its line, not the rest.
                last = first if reread <= _MOST_REREAD else last
                reread += len(lines) - first
                yield _Row([], first, last, "a quote is opened and never closed")
                done = last
                break
            if len(cells) > _MOST_COLUMNS:
                yield _Row([], first, last, f"{len(cells):,} cells; the most is {_MOST_COLUMNS:,}")
            elif len(cells) > 1 or any(cell.strip() for cell in cells):
                yield _Row(cells, first, last)


def _is_open(lines: list[str]) -> bool:
    return sum(line.count('"') for line in lines) % 2 == 1


def _dialect(lines: list[str]) -> tuple[str, bool]:
    """The delimiter, and whether a space follows it that is no part of the cell.

    The delimiter is the one that cuts most of the first rows into as many cells as the header, and
    of those the one that gives the most cells. csv.Sniffer is not asked: it takes apostrophes for
    quotes and letters for delimiters, and then cuts prose to pieces without a word.
    """
    sample = [line[:_SAMPLE] for line in lines[:LOOKED_AT]]
    while len(sample) > 1 and sum(map(len, sample)) > _SAMPLE:
        sample.pop()

    def consistency(delimiter: str) -> tuple[float, int]:
        try:
            widths = [len(cells) for cells in csv.reader(sample, delimiter=delimiter) if cells]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    delimiter = max(_DELIMITERS, key=consistency)
    if not any(consistency(delimiter)):
        return _NO_DELIMITER, False
    header = next((line for line in sample if line.strip()), "")
    return delimiter, 0 < header.count(delimiter) == header.count(delimiter + " ")
