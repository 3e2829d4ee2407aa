"""Word, PowerPoint, Excel and EPUB files, whole, damaged and made to do harm."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest

from search.errors import ReadError

from .conftest import items, outline
from .making import docx, epub, pptx, replaced, xlsx, zipped

Read = Callable[[str, bytes], Any]

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MAIN = "word/document.xml"


def body(xml: str, more: dict[str, Any] | None = None) -> bytes:
    """A Word file whose body is this XML."""
    main = f"<w:document {W}><w:body>{xml}</w:body></w:document>"
    return replaced(docx(lambda document: None), {MAIN: main, **(more or {})})


def report(document: Any) -> None:
    document.core_properties.author = "Ada"
    document.core_properties.comments = ""
    document.add_heading("All about keys", 0)
    document.add_heading("Rotate", 1)
    document.add_paragraph("Open the ").add_run("door").bold = True
    document.add_heading("Slowly", 2)
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    table = document.add_table(2, 2)
    for row, words in zip(table.rows, [("key", "lock"), ("big", "small")], strict=True):
        for cell, word in zip(row.cells, words, strict=True):
            cell.text = word
    document.add_paragraph("After.")


def test_a_word_file_has_headings_lists_and_tables(parse: Read) -> None:
    document = parse("a.docx", docx(report))
    assert outline(document) == [
        (("All about keys",), "All about keys\n\n"),
        (("Rotate",), "Rotate\n\nOpen the door\n\n"),
        (("Rotate", "Slowly"), "Slowly\n\none\ntwo\n\nkey\tlock\nbig\tsmall\n\nAfter."),
    ]
    assert (document.title, document.kind, document.pages) == ("All about keys", "docx", ())
    assert document.metadata["author"] == "Ada"
    assert document.metadata["created"].startswith("20")
    assert document.lines.span(0, 5) == (1, 1)


def test_a_note_is_numbered_and_comes_at_the_end(parse: Read) -> None:
    """Its number is in the text, where a deletion is left out and an insertion is read."""
    notes = (
        f'<w:footnotes {W}><w:footnote w:id="2"><w:p><w:r><w:t>The note.</w:t></w:r></w:p>'
        "</w:footnote></w:footnotes>"
    )
    relation = (
        '<Relationship Id="rIdN" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
        'footnotes" Target="footnotes.xml"/></Relationships>'
    )
    more = {
        "word/footnotes.xml": notes,
        "word/_rels/document.xml.rels": lambda text: text.replace("</Relationships>", relation),
    }
    xml = (
        "<w:p><w:ins><w:r><w:t>In</w:t></w:r></w:ins><w:del><w:r><w:delText>out</w:delText></w:r></w:del>"
        '<w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:p><w:r><w:t>Next.</w:t></w:r></w:p>'
    )
    assert parse("a.docx", body(xml, more)).text == "In[1]\n\nNext.\n\nThe note."


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
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    slide.notes_slide.notes_text_frame.text = "Alone."


def test_a_slide_is_a_page_with_its_tables_charts_and_notes(parse: Read) -> None:
    document = parse("a.pptx", pptx(talk))
    assert outline(document) == [
        (("Rotating keys",), "Rotating keys\n\nOpen the door.\nTurn the key.\n\n"),
        (("Rotating keys", "Speaker notes"), "Smile.\n\n"),
        ((), "key\tlock\nbig\tsmall\n\nIn a group.\n\nWhat was sold\n\n"),
        (("Speaker notes",), "Alone."),
    ]
    assert [
        document.page(document.text.index(words)) for words in ("Rotating", "Smile", "key\t", "Al")
    ] == [
        1,
        1,
        2,
        3,
    ]
    assert (document.title, document.kind, document.metadata["author"]) == (
        "Rotating keys",
        "pptx",
        "Ada",
    )


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


SHEET = "xl/worksheets/sheet1.xml"


def test_a_sheet_is_a_page_of_rows_with_formatted_values(parse: Read) -> None:
    def belittle(sheet: str) -> str:
        assert 'ref="A1:D5"' in sheet
        return sheet.replace('ref="A1:D5"', 'ref="A1"')

    document = parse("a.xlsx", replaced(xlsx(people), {SHEET: belittle}))
    assert outline(document) == [
        (
            ("People",),
            "Name\tBorn\tShare\tKeys\nAda\t1915-12-10\t12.5%\t3\n\n"
            "two lines\t2020-01-02 03:04:00\t3\tTrue\n\t03:04:00\t0.3\n\n",
        ),
        (("Far",), "\t\there"),
    ]
    assert document.page(0) == 1
    assert document.page(document.text.index("here")) == 3
    assert (document.title, document.kind, document.metadata["author"]) == ("a", "xlsx", "Ada")


def test_a_formula_shows_its_last_result(parse: Read) -> None:
    row = '<row r="1"><c r="A1"><f>1+1</f><v>2</v></c><c r="B1" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
    raw = replaced(
        xlsx(people), {SHEET: lambda text: text.replace("<sheetData>", f"<sheetData>{row}", 1)}
    )
    assert parse("a.xlsx", raw).text.startswith("2\t#DIV/0!\n")


CHAPTERS = {
    "cover.xhtml": '<svg><image href="cover.png"/></svg>',
    "one.xhtml": "<h1>The Door</h1><p>It was <em>open</em>.</p><h2>Inside</h2><p>Dark.</p>",
    "two b.xhtml": "<p>No heading here.</p>",
}


def test_chapters_are_read_in_order(parse: Read) -> None:
    opf = {"OEBPS/book.opf": lambda text: text.replace("two b.xhtml", "two%20b.xhtml")}
    document = parse("a.epub", replaced(epub(CHAPTERS), opf))
    assert outline(document) == [
        (("The Door",), "The Door\n\nIt was open.\n\n"),
        (("The Door", "Inside"), "Inside\n\nDark.\n\n"),
        ((), "No heading here."),
    ]
    assert (document.title, document.kind, document.pages) == ("The Lock", "epub", ())
    assert document.metadata == {"author": "Ada, Bob", "language": "en"}


def test_a_chapter_without_a_heading_takes_its_title(parse: Read) -> None:
    changes = {"OEBPS/two b.xhtml": lambda text: text.replace("<title/>", "<title>Second</title>")}
    assert outline(parse("a.epub", replaced(epub(CHAPTERS), changes)))[-1][0] == ("Second",)


def test_a_chapter_that_cannot_be_read_is_left_out_and_named(tmp_path: Any) -> None:
    raw = replaced(epub({"no.xhtml": "", **CHAPTERS}), {"OEBPS/no.xhtml": "<p>\0</p>\n"})
    book, left_out = items(tmp_path, "a.epub", raw)
    assert book.text.startswith("The Door")
    assert (left_out.path, left_out.reason) == ("a.epub", "damaged")
    assert left_out.detail == "could not read 1 of 4 chapters; the first is 'OEBPS/no.xhtml'"


def slide(presentation: Any) -> None:
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "Text."


WHOLE = {
    "docx": docx(lambda document: document.add_paragraph("Text.")),
    "pptx": pptx(slide),
    "xlsx": xlsx(lambda book: book.active.append(["Text."])),
    "epub": epub({"a.xhtml": "<p>Text.</p>"}),
}
PART = {"docx": MAIN, "pptx": "ppt/slides/slide1.xml", "xlsx": SHEET, "epub": "OEBPS/a.xhtml"}
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_empty_damaged_and_encrypted_files_are_refused_with_a_reason(
    failure: Read, parse: Read, kind: str
) -> None:
    whole, name = WHOLE[kind], f"a.{kind}"
    assert parse(name, whole).text == "Text."
    reasons = {
        "empty": b"",
        "damaged": whole[: len(whole) // 2],
    }
    assert {reason: failure(name, raw).reason for reason, raw in reasons.items()} == {
        reason: reason for reason in reasons
    }
    for raw in (
        b"no zip",
        zipped({"../../evil.txt": "text"}),
        zipped(dict.fromkeys(map(str, range(3)), "")),
    ):
        assert failure(name, raw).reason == "damaged"
    assert failure(name, OLE + "EncryptedPackage".encode("utf-16-le")).reason == "encrypted"
    assert failure(name, OLE).reason == "damaged"


def test_a_file_without_text_is_refused(failure: Read) -> None:
    assert failure("a.docx", body("<w:p/>")).reason == "no text"
    assert failure("a.pptx", pptx(lambda presentation: None)).reason == "no text"
    assert failure("a.xlsx", xlsx(lambda book: None)).reason == "no text"
    assert failure("a.epub", epub({"cover.xhtml": CHAPTERS["cover.xhtml"]})).reason == "no text"


ENTITIES = (
    '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "' + "&a;" * 100 + '"><!ENTITY c "' + "&b;" * 100 + '">'
)
BOMB = ENTITIES + '<!ENTITY d "' + "&c;" * 100 + '"><!ENTITY e "' + "&d;" * 100 + '">]>'


@pytest.mark.parametrize("kind", sorted(WHOLE))
@pytest.mark.parametrize("outside", [False, True])
def test_entities_are_not_expanded(tmp_path: Any, kind: str, outside: bool) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret", encoding="utf-8")
    prolog = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>' if outside else BOMB

    def arm(part: str) -> str:
        _, _, rest = part.rpartition("?>")
        return f'<?xml version="1.0"?>{prolog}' + rest.replace("Text.", "Text.&e;")

    try:
        (document,) = items(tmp_path, f"a.{kind}", replaced(WHOLE[kind], {PART[kind]: arm}))
    except ReadError as error:
        assert error.reason in ("damaged", "no text")
    else:
        assert len(document.text) < 2000
        assert "haha" not in document.text
        assert "secret" not in document.text


def p(*runs: str, style: str = "") -> str:
    """A paragraph of a Word file."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{''.join(runs)}</w:p>"


def r(text: str) -> str:
    """A run of a paragraph."""
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_text_that_word_shows_is_read_and_deleted_text_is_not(parse: Read) -> None:
    xml = p(
        r("seen "),
        f"<w:hyperlink>{r('link ')}</w:hyperlink>",
        f"<w:ins>{r('inserted ')}</w:ins>",
        f"<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:moveFrom>{r('moved away')}</w:moveFrom>",
        f"<w:sdt><w:sdtContent>{r('control ')}</w:sdtContent></w:sdt>",
        "<w:r><w:instrText>PAGE</w:instrText></w:r>",
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>",
    )
    xml += f"<w:sdt><w:sdtContent>{p(r('In a control.'))}</w:sdtContent></w:sdt>"
    words = parse("a.docx", body(xml)).text.split()
    assert words == "seen link inserted control a b c\u2011d In a control.".split()


def test_a_text_box_is_read_once(parse: Read) -> None:
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = f"<w:txbxContent>{p(r('In a box.'))}</w:txbxContent>"
    choices = (
        f"<mc:Choice><w:drawing>{box}</w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape "
        f'xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox>{box}</v:textbox></v:shape></w:pict></mc:Fallback>'
    )
    both = f"<mc:AlternateContent {mc}>{choices}</mc:AlternateContent>"
    text = parse("a.docx", body(p(r("Before "), f"<w:r>{both}</w:r>", r("after.")) + p(r("Next.")))).text
    assert text.count("In a box.") == 1
    assert text.endswith("Next.")


def test_headings_of_a_translated_word_make_sections(parse: Read) -> None:
    styles = f"""<w:styles {W}>
        <w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>"""
    xml = p(r("Eins"), style="berschrift1") + p(r("Text."))
    document = parse("a.docx", body(xml, {"word/styles.xml": styles}))
    assert outline(document) == [(("Eins",), "Eins\n\nText.")]


def test_word_files_with_macros_are_read_too(parse: Read) -> None:
    types = {
        "[Content_Types].xml": lambda text: text.replace("document.main+xml", "macroEnabled.main+xml")
    }
    raw = replaced(docx(lambda document: document.add_paragraph("Text.")), types)
    assert parse("a.docm", raw).text == "Text."


def test_the_title_that_word_knows_comes_first(parse: Read) -> None:
    def write(document: Any) -> None:
        document.core_properties.title = "Given"
        document.add_heading("Heading", 1)

    assert parse("a.docx", docx(write)).title == "Given"
    assert parse("a.docx", docx(lambda document: document.add_paragraph("Text."))).title == "a"


def test_slides_come_in_the_order_of_the_talk(parse: Read) -> None:
    def write(presentation: Any) -> None:
        for words in ("one", "two"):
            slide = presentation.slides.add_slide(presentation.slide_layouts[5])
            slide.shapes.title.text = words

    parts = "ppt/presentation.xml"
    raw = replaced(
        pptx(write), {parts: lambda text: re.sub(r"(<p:sldId [^>]*>)\s*(<p:sldId [^>]*>)", r"\2\1", text)}
    )
    assert parse("a.pptx", raw).text == "two\n\none"


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_a_bomb_is_not_unpacked(failure: Read, kind: str) -> None:
    raw = replaced(WHOLE[kind], {PART[kind]: bytes(300 * 10**6)})
    assert len(raw) < 10**6
    error = failure(f"a.{kind}", raw)
    assert error.reason in ("too large", "damaged")
