from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from search.corpus.reader import Reader, extracted
from search.errors import ReadError
from search.records.documents import Document

from .conftest import outline
from .making import pptx, replaced, xlsx

Read = Callable[[str, bytes], Document]
SHEET = "xl/worksheets/sheet1.xml"


def people(book: Any) -> None:
    sheet = book.active
    sheet.title = "People"
    sheet.append(["Name", "Born", "Share", "Keys"])
    sheet.append(["Ada", datetime.date(1915, 12, 10), 0.125, 3])
    sheet["C2"].number_format = "0.0%"
    sheet.append([])
    sheet.append(["two\nlines", datetime.datetime(2020, 1, 2, 3, 4), 3.0, True])
    sheet.append([None, datetime.time(3, 4), 0.1 + 0.2])
    book.create_sheet("Empty")
    book.create_sheet("Far")["C7"] = "here"
    book.properties.creator = "Ada"


def test_sheets_rows_and_values(document: Read) -> None:
    found = document("a.xlsx", xlsx(people))
    assert outline(found) == [
        (
            ("People",),
            "Name\tBorn\tShare\tKeys\nAda\t1915-12-10\t12.5%\t3\n\n"
            "two lines\t2020-01-02T03:04:00\t3\tTRUE\n\t03:04:00\t0.3\n\n",
        ),
        (("Far",), "\t\there"),
    ]
    assert found.page(0) == 1
    assert found.page(found.text.index("here")) == 3
    assert (found.title, found.kind, found.metadata["author"]) == ("a", "xlsx", "Ada")


def test_a_formula_shows_its_last_result(document: Read) -> None:
    row = '<row r="1"><c r="A1"><f>1+1</f><v>2</v></c><c r="B1" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
    raw = replaced(xlsx(people), {SHEET: lambda text: text.replace("<sheetData>", f"<sheetData>{row}", 1)})
    assert document("a.xlsx", raw).text.startswith("2\t#DIV/0!\n")


def test_what_a_sheet_says_of_its_size_is_not_believed(document: Read) -> None:
    def belittle(sheet: str) -> str:
        assert 'ref="A1:D5"' in sheet
        return sheet.replace('ref="A1:D5"', 'ref="A1"')

    raw = replaced(xlsx(people), {SHEET: belittle})
    assert "12.5%" in document("a.xlsx", raw).text


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (xlsx(people)[:3000], "damaged"),
        (pptx(lambda presentation: None), "damaged"),
        (xlsx(lambda book: None), "no text"),
        (replaced(xlsx(people), {SHEET: "<worksheet"}), "damaged"),
    ],
)
def test_what_cannot_be_read(reader: Reader, raw: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        list(extracted("a.xlsx", "xlsx", raw, reader))
    assert caught.value.reason == reason
