"""Hits as CSV, Markdown and paths; groups and surroundings."""

import csv as standard_csv
import io
from dataclasses import replace

from search.records.hits import Surroundings
from search.render import csv, hits
from tests.render.test_render import HIT

OTHER = replace(
    HIT, rank=2, passage_id=13, document="a b.pdf", path="/notes/a b.pdf", page=3, title="A [b]*", heading=""
)


def test_csv_has_documented_columns_and_seven_digits() -> None:
    text = 'a "b",\nc\x1b[2J'
    hit = replace(HIT, score=0.12345678, cosine=None, lexical=None, text=text)
    header, row = standard_csv.reader(io.StringIO(csv.hits([hit])))
    assert tuple(header) == csv.HIT_COLUMNS
    found = dict(zip(header, row, strict=True))
    assert found == {
        "rank": "1", "score": "0.1234568", "cosine": "", "lexical": "", "path": "/notes/keys.md", "line_start": "3",
        "line_end": "5", "page": "", "passage_id": "12", "document": "keys.md", "title": "Keys",
        "heading": "Keys > Rotate", "text": 'a "b",\nc\\x1b[2J', "changed": "",
        "index": "", "document_id": "0",
    }  # fmt: skip


def test_markdown_links_lead_to_lines_and_say_nothing_else() -> None:
    assert hits.markdown([HIT, OTHER]).split("\n") == [
        "1. [Keys \\> Rotate](/notes/keys.md#L3-L5) 0.613",
        "",
        "   Turn the lock.",
        "",
        "2. [A \\[b\\]\\*](/notes/a%20b.pdf) 0.613",
        "",
        "   \\#\\# Rotate Turn the lock.",
    ]
    assert "(/notes/keys.md#L3)" in hits.markdown([replace(HIT, line_end=3)])


def test_paths_come_once_in_order() -> None:
    assert hits.paths([OTHER, HIT, OTHER]) == "/notes/a b.pdf\n/notes/keys.md"
    assert hits.paths([replace(HIT, path="/notes/a\nb\x1b.md")]) == "/notes/a\\x0ab\\x1b.md"


def test_groups_have_their_document_above() -> None:
    shown = hits.hits([HIT, replace(HIT, rank=2, passage_id=14), replace(OTHER, rank=3)], grouped=True)
    lines = [line for line in shown.split("\n") if line and not line.startswith(" ")]
    assert lines == ["keys.md  Keys", "a b.pdf  A [b]*"]


def test_surroundings_stand_in_order_and_are_harmless() -> None:
    beside = Surroundings(((2, "line \x1b two"),), ((6, "line six"),), "and a note")
    shown = hits.hits([HIT], around=[beside])
    assert "\x1b" not in shown
    marks = ["2  line", "Turn the lock.", "6  line six", "and a note"]
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)
