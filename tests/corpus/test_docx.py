from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from search.corpus import Skipped
from search.corpus.reader import Reader, extracted
from search.errors import ReadError
from search.records.documents import Document

from .conftest import outline
from .making import docx, replaced

Read = Callable[[str, bytes], Document]

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MAIN = "word/document.xml"


def body(xml: str, more: dict[str, Any] | None = None) -> bytes:
    """A Word file whose body is this XML."""
    main = f"<w:document {W}><w:body>{xml}</w:body></w:document>"
    return replaced(docx(lambda document: None), {MAIN: main, **(more or {})})


def p(*runs: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{''.join(runs)}</w:p>"


def r(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def report(document: Any) -> None:
    document.core_properties.author = "Ada"
    document.core_properties.comments = ""
    document.sections[0].header.paragraphs[0].text = "House & Sons"
    document.sections[0].footer.paragraphs[0].text = "Page foot"
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


def test_headings_lists_tables_heads_and_feet(document: Read) -> None:
    found = document("a.docx", docx(report))
    assert outline(found) == [
        ((), "House & Sons\n\n"),
        (("All about keys",), "All about keys\n\n"),
        (("All about keys", "Rotate"), "Rotate\n\nOpen the door\n\n"),
        (
            ("All about keys", "Rotate", "Slowly"),
            "Slowly\n\none\ntwo\n\nkey\tlock\nbig\tsmall\n\nAfter.\n\nPage foot",
        ),
    ]
    assert (found.title, found.kind, found.pages) == ("All about keys", "docx", ())
    assert found.metadata["author"] == "Ada"
    assert found.metadata["created"].startswith("20")
    assert found.lines.span(0, 5) == (1, 1)


def test_the_title_of_the_properties_comes_first(document: Read) -> None:
    def write(document: Any) -> None:
        document.core_properties.title = "Given"
        document.add_heading("Heading", 1)

    assert document("a.docx", docx(write)).title == "Given"
    assert document("a.docx", docx(lambda document: document.add_paragraph("Text."))).title == "a"


def test_what_an_interface_for_writing_leaves_out(document: Read) -> None:
    xml = p(
        r("seen "),
        f"<w:hyperlink>{r('link ')}</w:hyperlink>",
        f"<w:ins>{r('inserted ')}</w:ins>",
        f"<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:moveFrom>{r('moved away')}</w:moveFrom>",
        f"<w:sdt><w:sdtContent>{r('control ')}</w:sdtContent></w:sdt>",
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>",
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t xml:space="preserve">shown </w:t></w:r>',
        "<w:r><w:instrText>PAGE</w:instrText></w:r>",
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>",
    )
    xml += f"<w:sdt><w:sdtContent>{p(r('In a control.'))}</w:sdtContent></w:sdt>"
    found = document("a.docx", body(xml))
    assert found.text == "seen link inserted control shown a\tb\nc-d\n\nIn a control."


def test_a_text_box_is_read_once(document: Read) -> None:
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = f"<w:drawing><w:txbxContent>{p(r('In a box.'))}</w:txbxContent></w:drawing>"
    choices = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    both = f"<mc:AlternateContent {mc}>{choices}</mc:AlternateContent>"
    found = document("a.docx", body(p(r("Before "), f"<w:r>{both}</w:r>", r("after.")) + p(r("Next."))))
    assert found.text == "Before after.\n\nIn a box.\n\nNext."


def test_notes_follow_their_paragraph(document: Read) -> None:
    notes = f'<w:footnotes {W}><w:footnote w:id="2">{p(r("The note."))}</w:footnote></w:footnotes>'
    relation = (
        '<Relationship Id="rIdN" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
        'footnotes" Target="footnotes.xml"/></Relationships>'
    )
    more = {
        "word/footnotes.xml": notes,
        "word/_rels/document.xml.rels": lambda text: text.replace("</Relationships>", relation),
    }
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    found = document("a.docx", body(p(r("Text"), reference, r(".")) + p(r("Next.")), more))
    assert found.text == "Text.\n\nThe note.\n\nNext."


def test_headings_in_styles_of_ones_own_and_by_outline_level(document: Read) -> None:
    styles = f"""<w:styles {W}>
        <w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
        <w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="berschrift1"/></w:style>
        <w:style w:type="paragraph" w:styleId="X"><w:basedOn w:val="Y"/></w:style>
        <w:style w:type="paragraph" w:styleId="Y"><w:basedOn w:val="X"/></w:style></w:styles>"""
    outlined = '<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>Two</w:t></w:r></w:p>'
    found = document(
        "a.docx",
        body(p(r("One"), style="Own") + outlined + p(r("x"), style="X"), {"word/styles.xml": styles}),
    )
    assert [trail for trail, _ in outline(found)] == [("One",), ("One", "Two")]


def test_a_table_of_one_column_is_a_frame(document: Read) -> None:
    cell = f"<w:tc>{p(r('Framed'), style='Heading1')}{p(r('text.'))}</w:tc>"
    found = document("a.docx", body(f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>"))
    assert outline(found) == [(("Framed",), "Framed\n\ntext.")]


def test_macro_files_and_templates_are_read_too(document: Read) -> None:
    kinds = "[Content_Types].xml"
    raw = replaced(
        docx(lambda document: document.add_paragraph("Text.")),
        {kinds: lambda text: text.replace("document.main+xml", "macroEnabled.main+xml")},
    )
    assert document("a.docx", raw).text == "Text."


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"no zip", "damaged"),
        (docx(report)[:2000], "damaged"),
        (body("<w:p>"), "damaged"),
        (body(p()), "no text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "damaged"),
        (body("<w:p>" * 300 + "</w:p>" * 300), "damaged"),
    ],
)
def test_what_cannot_be_read(reader: Reader, raw: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        list(extracted("a.docx", "docx", raw, reader))
    assert (caught.value.path, caught.value.reason) == ("a.docx", reason)


def test_styles_that_cannot_be_read_are_named(reader: Reader) -> None:
    raw = body(p(r("Text."), style="Heading1"), {"word/styles.xml": "<w:styles"})
    document, left_out = extracted("a.docx", "docx", raw, reader)
    assert isinstance(document, Document)
    assert outline(document) == [((), "Text.")]
    assert left_out == Skipped("a.docx", "damaged", "its styles cannot be read")
