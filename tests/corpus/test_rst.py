from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import ParsedDocument, SourceFile, outline, parsed, read, shared, walk

MANUAL = """\
.. A comment

=========
The Title
=========

Intro.

First ``part``
--------------
Text \x0c with \u2028 false line ends.

.. include:: /etc/passwd
.. note::

   Not a title
   -----------

Third level
~~~~~~~~~~~
Deep.

Second *part*
-------------
End."""


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_titles_make_sections_with_their_lines(tmp_path: Path, line_end: str) -> None:
    source = MANUAL.replace("\n", line_end)
    document = parsed(tmp_path, "manual.rst", source)
    assert (document.kind, document.title, document.text) == ("rst", "The Title", source)
    assert document.metadata == {}
    assert [section.trail for section in document.sections] == [
        (),
        ("The Title",),
        ("The Title", "First part"),
        ("The Title", "First part", "Third level"),
        ("The Title", "Second part"),
    ]
    starts = [document.lines.span(section.start, section.start + 1)[0] for section in document.sections]
    assert starts == [1, 3, 9, 19, 23]
    texts = [text.strip() for _, text in outline(document)]
    assert texts[1].endswith("Intro.")
    assert document.sections[-1].end == len(source)


PEP = """\
PEP: 8
Title: Style Guide
Author: Guido,
        Barry
Author: Alyssa

Introduction
============
Text.
"""


def test_an_rfc_2822_header_is_metadata(tmp_path: Path) -> None:
    document = parsed(tmp_path, "pep-0008.rst", PEP)
    assert document.title == "PEP 8: Style Guide"
    assert document.metadata == {"PEP": "8", "Title": "Style Guide", "Author": "Guido, Barry\nAlyssa"}
    assert outline(document) == [((), "\n"), (("Introduction",), "Introduction\n============\nText.\n")]


def test_prose_with_a_colon_is_no_header(tmp_path: Path) -> None:
    for source in ("Note: this is prose.\n\nMore.\n", "Note: one\nWarning: two\nprose goes on\n"):
        document = parsed(tmp_path, "a.rst", source)
        assert document.metadata == {}
        assert outline(document) == [((), source)]


def test_titles_directly_below_each_other_are_nested(tmp_path: Path) -> None:
    source = "A\n===\nB\n---\nC\n---\ntext\n"
    assert outline(parsed(tmp_path, "a.rst", source)) == [
        (("A",), "A\n===\n"),
        (("A", "B"), "B\n---\n"),
        (("A", "C"), "C\n---\ntext\n"),
    ]


def test_a_text_without_a_title_takes_the_name_of_its_file(tmp_path: Path) -> None:
    assert parsed(tmp_path, "plain.rst", "Just text.\n").title == "plain"


def test_peps_are_read_whole_with_their_sections_and_titles() -> None:
    files = list(walk(shared("folders", "peps")))
    assert len(files) == 737
    # Every eighth, so that the whole suite stays quick; benchmarks read them all.
    sources = [file for file in files if isinstance(file, SourceFile)]
    for file in [*sources[::8], *(file for file in sources if file.path == "pep-0572.rst")]:
        (document,) = read(file)
        assert isinstance(document, ParsedDocument)
        source = file.absolute.read_bytes().decode()
        assert document.text == source
        assert document.sections[-1].end == len(source)
        pairs = zip(document.sections, document.sections[1:], strict=False)
        assert all(left.end == right.start for left, right in pairs)
        if file.path.startswith("pep-"):
            header = source[: document.sections[0].start]
            assert header.startswith("PEP:")
            assert header.count("\n\n") == 0
            assert document.title.startswith(f"PEP {int(file.path[4:8])}: ")
        if file.path == "pep-0572.rst":
            assert document.title == "PEP 572: Assignment Expressions"
            assert document.lines.span(document.sections[1].start, document.sections[1].start + 1) == (
                14,
                14,
            )
            assert ("Rationale", "The importance of real code") in [s.trail for s in document.sections]


def test_a_very_long_line_does_not_cost_the_sections(tmp_path: Path) -> None:
    source = "One\n===\n" + "word " * 10_000 + "\n\nTwo\n===\ntext\n"
    assert [section.trail for section in parsed(tmp_path, "a.rst", source).sections] == [
        ("One",),
        ("Two",),
    ]
