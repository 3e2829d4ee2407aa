from __future__ import annotations

from collections.abc import Callable

import pytest

from search.corpus import Skipped
from search.corpus.reader import Reader, extracted
from search.errors import ReadError
from search.records.documents import Document

from .conftest import outline
from .making import epub, replaced

Read = Callable[[str, bytes], Document]

CHAPTERS = {
    "cover.xhtml": '<svg><image href="cover.png"/></svg>',
    "one.xhtml": "<h1>The Door</h1><p>It was <em>open</em>.</p><h2>Inside</h2><p>Dark.</p>",
    "two.xhtml": "<p>No heading here.</p>",
}
NCX = """<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://no.invalid/ncx.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint id="a"><navLabel><text>Second</text></navLabel>
<content src="two.xhtml#top"/></navPoint></navMap></ncx>"""
NAV = '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><a href="two.xhtml">The&nbsp;2nd</a></nav></body></html>'
NCX_ITEM = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
NAV_ITEM = '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'


def test_chapters_in_order(document: Read) -> None:
    found = document("a.epub", epub(CHAPTERS))
    assert outline(found) == [
        (("The Door",), "The Door\n\nIt was open.\n\n"),
        (("The Door", "Inside"), "Inside\n\nDark.\n\n"),
        ((), "No heading here."),
    ]
    assert (found.title, found.kind, found.pages) == ("The Lock", "epub", ())
    assert found.metadata == {"author": "Ada, Bob", "language": "en"}


@pytest.mark.parametrize(
    ("name", "table", "item", "label"),
    [("toc.ncx", NCX, NCX_ITEM, "Second"), ("nav.xhtml", NAV, NAV_ITEM, "The 2nd")],
)
def test_the_table_of_contents_names_chapters_without_heading(
    document: Read, name: str, table: str, item: str, label: str
) -> None:
    found = document("a.epub", epub(CHAPTERS, {f"OEBPS/{name}": table}, item))
    assert outline(found)[-1] == ((label,), "No heading here.")


def test_names_are_percent_encoded_in_references(document: Read) -> None:
    raw = epub({"a b.xhtml": "<p>Text.</p>"})
    assert document("a.epub", raw).text == "Text."
    encoded = replaced(raw, {"OEBPS/book.opf": lambda text: text.replace("a b.xhtml", "a%20b.xhtml")})
    assert document("a.epub", encoded).text == "Text."


def encrypted(uri: str) -> dict[str, str]:
    return {
        "META-INF/encryption.xml": f'<encryption xmlns="urn:x"><CipherReference URI="{uri}"/></encryption>'
    }


def test_protected_books_and_protected_fonts(document: Read, reader: Reader) -> None:
    assert document("a.epub", epub(CHAPTERS, encrypted("OEBPS/font.otf"))).title == "The Lock"
    with pytest.raises(ReadError, match=r"a\.epub: encrypted \(it is protected"):
        list(extracted("a.epub", "epub", epub(CHAPTERS, encrypted("OEBPS/one.xhtml")), reader))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (epub(CHAPTERS)[:900], "damaged"),
        (epub({}), "damaged"),
        (epub({"cover.xhtml": CHAPTERS["cover.xhtml"]}), "no text"),
        (replaced(epub(CHAPTERS), {"META-INF/container.xml": "<container/>"}), "damaged"),
    ],
)
def test_what_cannot_be_read(reader: Reader, raw: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        list(extracted("a.epub", "epub", raw, reader))
    assert caught.value.reason == reason


def test_a_chapter_that_cannot_be_read_is_left_out_and_named(reader: Reader) -> None:
    raw = replaced(epub({"no.xhtml": "", **CHAPTERS}), {"OEBPS/no.xhtml": "<p>\0</p>\n"})
    book, left_out = extracted("a.epub", "epub", raw, reader)
    assert isinstance(book, Document)
    assert book.text.startswith("The Door")
    assert left_out == Skipped("a.epub", "damaged", "1 of 4 chapters, the first is 'OEBPS/no.xhtml'")
    with pytest.raises(ReadError, match="damaged .1 of 1 chapters"):
        list(extracted("a.epub", "epub", epub({"a.xhtml": "\0"}), reader))
