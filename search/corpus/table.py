"""CSV and TSV: the first row names the columns, each further row is one document."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from search.corpus import reasons
from search.corpus.columns import LOOKED_AT, chosen, shown
from search.corpus.decode import Decoded
from search.corpus.files import Skipped
from search.corpus.text import kept_lines
from search.errors import ReadError
from search.records.documents import Document

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
