from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from search.errors import ReadError

from .conftest import ParsedDocument, Skipped, items, outline
from .making import pdf

Read = Callable[[str, bytes], ParsedDocument]

PARAGRAPH = [
    "Whoever wants to rotate the keys of a house has to begin with the lock and",
    "not with the door, because the lock decides which keys can be turned in it at",
    "all. Then the door follows.",
]


def test_a_pdf_has_pages_a_title_and_metadata(parse: Read) -> None:
    document = parse("a.pdf", pdf([["First page."], ["Second page."]], title="On keys"))
    assert document.text == "First page.\n\nSecond page."
    assert document.pages == (0, 13)
    assert [document.page(offset) for offset in (0, 12, 13)] == [1, 1, 2]
    assert (document.title, document.kind) == ("On keys", "pdf")
    assert document.metadata == {"author": "Ada", "created": "2024-02-29", "date": "2024-02-29"}
    assert document.lines.span(13, 25) == (3, 3)


def test_a_pdf_without_a_title_takes_the_name_of_its_file(parse: Read) -> None:
    assert parse("a.pdf", pdf([["Text."]], title="Untitled", bookmarks=[("Text.", 0)])).title == "a"
    assert parse("a.pdf", pdf([["Text."]], title="Microsoft Word - Keys.doc")).title == "Keys.doc"


def test_lines_are_joined_to_paragraphs(parse: Read) -> None:
    document = parse("a.pdf", pdf([[*PARAGRAPH, "", "", "Another", "short", "list"]]))
    assert document.text == " ".join(PARAGRAPH) + "\n\nAnother\nshort\nlist"


def test_hyphenated_words_are_joined(parse: Read) -> None:
    lines = [
        "These are lines that are long enough to be taken for the text of a vocab-",
        "ulary, and not for the entries of a list, which is a thing that is well-",
        "known and stays so. A list of vocabulary is short. It is well-known.",
    ]
    document = parse("a.pdf", pdf([lines]))
    assert "text of a vocabulary, and" in document.text
    assert "that is well-known and" in document.text


def test_bookmarks_are_headings(parse: Read) -> None:
    pages = [
        ["Before."],
        ["2.1 Locks", "", "About locks.", "", "Doors", "", "About doors."],
        ["", "About nothing."],
    ]
    raw = pdf(pages, bookmarks=[("Locks", 1), ("Doors", 1), ("In a picture", 2)])
    assert outline(parse("a.pdf", raw)) == [
        ((), "Before.\n\n"),
        (("Locks",), "2.1 Locks\n\nAbout locks.\n\n"),
        (("Doors",), "Doors\n\nAbout doors.\n\n"),
        (("In a picture",), "About nothing."),
    ]


def test_a_page_is_a_section_unless_its_sentence_runs_on(parse: Read) -> None:
    pages = [["Heading", "", "A sentence."], ["This one goes"], ["on and on."], ["End."]]
    document = parse("a.pdf", pdf(pages, bookmarks=[("Heading", 0)]))
    assert outline(document) == [
        (("Heading",), "Heading\n\nA sentence.\n\n"),
        (("Heading",), "This one goes\n\non and on.\n\n"),
        (("Heading",), "End."),
    ]
    assert len(document.pages) == 4


def marks(document: ParsedDocument) -> list[str]:
    pairs = zip(document.marks[::2], document.marks[1::2], strict=True)
    return [document.text[start:end] for start, end in pairs]


def test_page_headers_and_footers_are_marks(parse: Read) -> None:
    rows = ["One night the ship", "went down, and who", "was on it swam. All.", "Twice it was seen."]
    pages = [
        [f"Night {row[0]} {n}", "A Tale", "", row, row[:3], "", f"Page {n} of 9"]
        for n, row in enumerate(rows)
    ]
    document = parse("a.pdf", pdf([["Title"], *pages, ["", "", "Afterword"]]))
    assert marks(document) == [
        mark for n in range(4) for mark in (f"Night {rows[n][0]} {n}", "A Tale", f"Page {n} of 9")
    ]
    assert marks(parse("b.pdf", pdf([["A Tale", "", row] for row in rows[:2]]))) == []
    contents = ["1 The storm . . . . . . . . 3", "2 The beach........... iv"]
    assert marks(parse("c.pdf", pdf([[*contents, "Wait... what, 3 ships?"]]))) == [" ".join(contents)]


def test_a_page_without_text_has_its_number(parse: Read) -> None:
    assert parse("a.pdf", pdf([[], ["Text."], []])).pages == (0, 0, 5)
    assert parse("a.pdf", pdf([[], ["Text."], []])).page(0) == 2


def test_filled_in_form_fields_are_read(parse: Read) -> None:
    raw = pdf([["Name:"]], filled_in="Ada")
    assert parse("a.pdf", raw).text == "Name:\n\nAda"


def test_scanned_pages_are_named(tmp_path: Path, failure: Callable[[str, bytes], ReadError]) -> None:
    error = failure("a.pdf", pdf([[], []], pictures=[0, 1]))
    assert (error.reason, error.detail[:7]) == ("no text", "scanned")
    results = items(tmp_path, "a.pdf", pdf([["Text."], [], []], pictures=[1]))
    assert results[1:] == [
        Skipped(
            "a.pdf", "no text", "damaged pages or images without OCR: 1 of 3 pages, the first is page 2"
        )
    ]


def test_a_damaged_page_is_left_out_and_named(tmp_path: Path) -> None:
    raw = pdf([["One."], ["Two."], ["Three."]])
    kids = b"/Kids [7 0 R 9 0 R 11 0 R]"
    assert kids in raw
    document, left_out = items(tmp_path, "a.pdf", raw.replace(kids, b"/Kids [7 0 R 0 0 R 11 0 R]"))
    assert (document.text.split(), left_out.reason) == (["One.", "Three."], "no text")
    assert left_out.detail.endswith("1 of 3 pages, the first is page 2")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (pdf([["Secret."]], encrypted=True), "encrypted"),
        (pdf([["Text."]])[:200], "damaged"),
        (b"<html>not found</html>", "damaged"),
        (b"", "empty"),
    ],
)
def test_an_unreadable_pdf_is_refused_with_a_reason(
    failure: Callable[[str, bytes], ReadError], raw: bytes, reason: str
) -> None:
    assert failure("a.pdf", raw).reason == reason


def test_a_gap_between_letters_is_a_space(parse: Read) -> None:
    """pdfium makes "Ifthe" of a gap that is narrower than its spaces."""
    line = "If the key fits, turn it in the lock and then"
    operators = b"(If) Tj 7.56 0 Td (the key fits, turn it.) Tj"
    raw = pdf([[line]]).replace(f"({line}) Tj".encode(), operators.ljust(len(line) + 5))
    assert parse("a.pdf", raw).text == "If the key fits, turn it."
