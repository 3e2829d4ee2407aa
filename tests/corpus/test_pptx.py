from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from search.corpus import Skipped
from search.corpus.reader import Reader, extracted
from search.errors import ReadError
from search.records.documents import Document

from .conftest import outline
from .making import docx, pptx, replaced

Read = Callable[[str, bytes], Document]


def talk(presentation: Any) -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    presentation.core_properties.author = "Ada"
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.placeholders[1].text = "Open the door.\nTurn the key."
    slide.shapes.title.text = "Rotating keys"
    slide.notes_slide.notes_text_frame.text = "Smile."
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, 0, 0, 99, 99).table
    for row, words in enumerate([("key", "lock"), ("big", "small")]):
        for column, word in enumerate(words):
            table.cell(row, column).text = word
    slide.shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9).text_frame.text = "In a group."
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Sales", (1, 2))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 99, 99, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "What was sold"
    presentation.slides.add_slide(presentation.slide_layouts[6])


def test_slides(document: Read) -> None:
    found = document("a.pptx", pptx(talk))
    assert outline(found) == [
        (("Rotating keys",), "Rotating keys\n\nOpen the door.\nTurn the key.\n\n"),
        (("Rotating keys", "Speaker notes"), "Smile.\n\n"),
        ((), "key\tlock\nbig\tsmall\n\nIn a group.\n\nWhat was sold\nSales\nEast\nWest"),
    ]
    assert [found.page(found.text.index(words)) for words in ("Rotating", "Smile", "key\t")] == [1, 1, 2]
    assert len(found.pages) == 3
    assert (found.title, found.kind, found.metadata["author"]) == ("Rotating keys", "pptx", "Ada")


def test_notes_of_a_slide_without_title_stand_under_no_other_slide(document: Read) -> None:
    def write(presentation: Any) -> None:
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = "First"
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        slide.notes_slide.notes_text_frame.text = "Alone."

    assert outline(document("a.pptx", pptx(write)))[1] == (("Speaker notes",), "Alone.")


def test_slides_come_in_the_order_of_the_talk(document: Read) -> None:
    def write(presentation: Any) -> None:
        for words in ("one", "two"):
            slide = presentation.slides.add_slide(presentation.slide_layouts[5])
            slide.shapes.title.text = words
        order = presentation.slides._sldIdLst
        order.append(order[0])

    assert document("a.pptx", pptx(write)).text == "two\n\none"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (pptx(talk)[:9000], "damaged"),
        (docx(lambda document: document.add_paragraph("Text.")), "damaged"),
        (pptx(lambda presentation: None), "no text"),
    ],
)
def test_what_cannot_be_read(reader: Reader, raw: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        list(extracted("a.pptx", "pptx", raw, reader))
    assert caught.value.reason == reason


def test_a_slide_that_is_missing_is_named(reader: Reader) -> None:
    relations = "ppt/_rels/presentation.xml.rels"
    raw = replaced(pptx(talk), {relations: lambda text: text.replace("slides/slide2.xml", "slides/none.xml")})
    document, left_out = extracted("a.pptx", "pptx", raw, reader)
    assert isinstance(document, Document)
    assert len(document.pages) == 3
    assert left_out == Skipped("a.pptx", "damaged", "slide 2 is missing")
