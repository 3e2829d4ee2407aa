"""Excel workbooks: a page and a section for each sheet, a line for each row, tabs between cells."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Any

from search.corpus.archive import Archive
from search.corpus.files import Reason
from search.corpus.writing import Extracted, Writing, row
from search.errors import ReadError

_SHEET_LEVEL = 2  # the name of the first sheet is no title of the whole
_PARTS = (".xml", ".rels")
# Excel shows no more digits than these.
_DIGITS = ".15g"
_ENTITIES = [b"<!ENTITY", "<!ENTITY".encode("utf-16-le"), "<!ENTITY".encode("utf-16-be")]


def extract(path: str, raw: bytes) -> Extracted:
    """An Excel file. Sheets are read row by row, so that a large one needs little memory.

    Cells hold what was shown when the file was saved: of a formula its result (nothing, if it never was
    computed), of a date its ISO 8601 form, of a share its percentage. Hidden sheets, rows and columns are read
    as well; charts, drawings and comments are not.

    Raises:
        ReadError: "damaged", "encrypted" or "too large when unpacked".
    """
    _check(path, raw)
    from openpyxl import load_workbook

    # An Office file of another kind or a broken one: openpyxl lets errors of many kinds through.
    try:
        book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
    except MemoryError:
        raise
    except Exception as error:
        raise ReadError(path, Reason.DAMAGED, f"it holds no workbook ({type(error).__name__})") from error
    writing = Writing(path)
    for name in book.sheetnames:
        writing.page()
        writing.section(name, _SHEET_LEVEL)
        sheet = book[name]
        if hasattr(sheet, "reset_dimensions"):  # a sheet that is one chart has no cells
            # What a sheet says about its size is often wrong.
            sheet.reset_dimensions()
            _write(sheet, writing)
    said = book.properties
    metadata = {
        "author": said.creator if said.creator != "openpyxl" else "",
        "subject": said.subject,
        "keywords": said.keywords,
        "description": said.description,
        "created": said.created and said.created.isoformat(),
        "modified": said.modified and said.modified.isoformat(),
    }
    return writing.done(said.title or "", metadata)


def _check(path: str, raw: bytes) -> None:
    """Refuse what is too large or defines entities, which no Office file may, before it is parsed."""
    archive = Archive(path, raw)
    for name in archive.names():
        if name.lower().endswith(_PARTS) and any(mark in archive.read(name) for mark in _ENTITIES):
            raise ReadError(path, Reason.DAMAGED, f"'{name}' in it defines entities")


def _write(sheet: Any, writing: Writing) -> None:
    apart, in_table = True, False
    for line in sheet.iter_rows():
        cells = [_shown(cell) for cell in line]
        if any(cells):
            added = writing.add(row(cells), 2 if apart else 1)
            in_table = added and _is_header(line) if apart else in_table
            if in_table:
                writing.row_of_table(is_header=apart)
            apart = False
        else:
            apart = True


def _is_header(line: Any) -> bool:
    """Whether a row that nothing stands above seems to name columns: several texts, and nothing else."""
    values = [cell.value for cell in line if cell.value is not None]
    return len(values) > 1 and all(isinstance(value, str) for value in values)


def _shown(cell: Any) -> str:
    """A cell's value as text."""
    value = cell.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        if "%" in (cell.number_format or ""):
            return format(value * 100, _DIGITS) + "%"
        return format(value, _DIGITS) if isinstance(value, float) else str(value)
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value).isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else ""
