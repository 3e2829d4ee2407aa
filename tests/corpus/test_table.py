from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.errors import ReadError

from .conftest import ParsedDocument, Skipped, read, records, source_file

rows = partial(records, "t.csv")


def texts(source: str, **fields: str | None) -> list[str]:
    return [
        item.text if isinstance(item, ParsedDocument) else item.reason for item in rows(source, **fields)
    ]


def test_a_row_is_a_document_with_its_columns_and_lines() -> None:
    source = 'id,Title,Text,year\n1,One,"first\nline\r\nend",1999\n\n2,Two,second,\n3,,"th""ird",2001\n'
    first, second, third = rows(source)
    assert isinstance(first, ParsedDocument)
    assert isinstance(second, ParsedDocument)
    assert isinstance(third, ParsedDocument)
    assert (first.name, first.title, first.text) == ("t.csv#1", "One", "first\nline\r\nend")
    assert first.metadata == {"id": "1", "year": "1999"}
    assert first.lines.span(0, 1) == (2, 4)
    assert first.lines.span(8, 12) == (2, 4)
    assert (second.metadata, second.lines.span(0, 6)) == ({"id": "2"}, (6, 6))
    assert (third.title, third.text, third.record) == ("t", 'th"ird', 3)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    source = f"id{delimiter}body\n1{delimiter}it's one, isn't it\n2{delimiter}two\n"
    if delimiter == ",":
        source = source.replace("it's one, isn't it", "\"it's one, isn't it\"")
    assert texts(source) == ["it's one, isn't it", "two"]


def test_a_single_column_of_prose_is_not_cut_at_its_commas() -> None:
    source = 'text\none, two\nthree\n"four, five",\n'
    assert texts(source) == ["one, two", "three", "four, five,"]


def test_the_text_column_is_found() -> None:
    assert texts("BODY,longer\na,much longer text\n") == ["a"]
    assert texts("x,y\n1,the longest cells are here\n2,and here\n") == [
        "the longest cells are here",
        "and here",
    ]
    assert texts("title,summary,text\nt,s,x\n") == ["x"]
    assert texts("title,text\nt,x\n", text_field="title") == ["t"]


def test_the_title_column_is_found_or_named() -> None:
    (document,) = rows("name,text,place\nAda,x,London\n")
    assert isinstance(document, ParsedDocument)
    assert (document.title, document.metadata) == ("Ada", {"place": "London"})
    (document,) = rows("name,text,place\nAda,x,London\n", title_field="place")
    assert isinstance(document, ParsedDocument)
    assert (document.title, document.metadata) == ("London", {"name": "Ada"})


@pytest.mark.parametrize("option", ["text_field", "title_field"])
def test_an_unknown_column_is_an_error(option: str) -> None:
    with pytest.raises(
        ReadError,
        match=rf"no such column \({option} 'nope' is not a column. Choose from: 'id', 'text'\)",
    ):
        rows("id,text\n1,x\n", **{option: "nope"})


def test_rows_without_text_are_counted() -> None:
    items = rows("id,text\n1,\n2,x\n3\n,\n4,  \n")
    assert [
        item.name if isinstance(item, ParsedDocument) else (item.path, item.reason) for item in items
    ] == [
        ("t.csv#1", "empty"),
        "t.csv#2",
        ("t.csv#3", "empty"),
        ("t.csv#4", "empty"),
        ("t.csv#5", "empty"),
    ]
    assert isinstance(items[0], Skipped)
    assert items[0].detail == "line 2: nothing in column 'text'"


def test_a_title_is_the_text_of_a_row_without_one() -> None:
    items = rows("id,title,text\n1,Wings,\n2,,\n3,Lift,drag\n")
    assert [(item.title, item.text) for item in items if isinstance(item, ParsedDocument)] == [
        ("Wings", "Wings"),
        ("Lift", "drag"),
    ]
    assert [item.path for item in items if isinstance(item, Skipped)] == ["t.csv#2"]


def test_a_quote_that_is_never_closed_takes_in_the_rest() -> None:
    items = rows('id,text\n1,fine\n2,"open\n3,also fine\n4,fine too\n')
    assert [item.text for item in items if isinstance(item, ParsedDocument)] == [
        "fine",
        "open\n3,also fine\n4,fine too\n",
    ]


def test_repeated_and_missing_headers_get_names() -> None:
    (document,) = rows("a,a,,text\n1,2,3,x,5,6\n")
    assert isinstance(document, ParsedDocument)
    assert document.metadata == {
        "a": "1",
        "a (2)": "2",
        "column 3": "3",
        "column 5": "5",
        "column 6": "6",
    }


def test_a_table_without_any_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,\n2,\n", encoding="utf-8")
    items: list[ParsedDocument | Skipped] = []
    with pytest.raises(ReadError, match=r"a\.csv: no text \(none of the 2 records contains text\)"):
        items.extend(read(source_file(tmp_path / "a.csv")))
    (tmp_path / "b.csv").write_text("id,text\n", encoding="utf-8")
    with pytest.raises(ReadError, match=r"none of the 0 records"):
        list(read(source_file(tmp_path / "b.csv")))


CELLS = st.text(st.sampled_from('ab,;"\n\r \té\u2028'), max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS.map(lambda cell: "x" + cell)), min_size=1, max_size=6))
def test_rows_that_csv_writes_are_read_back_from_their_lines(cells: list[tuple[str, str]]) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("key", "text"), *cells])
    source = buffer.getvalue()
    lines = list(io.StringIO(source, newline=""))
    documents = rows(source)
    assert len(documents) == len(cells)
    for document, (key, text) in zip(documents, cells, strict=True):
        assert isinstance(document, ParsedDocument)
        assert (document.text, document.metadata.get("key", key)) == (text, key)
        first, last = document.lines.span(0, 1)
        (read_back,) = csv.reader(lines[first - 1 : last])
        assert read_back == [key, text]


def test_spaces_behind_delimiters_are_no_part_of_a_cell() -> None:
    assert texts('id, text\n1, "one, two"\n2, three\n') == ["one, two", "three"]


def test_a_cell_may_be_longer_than_the_limit_of_the_csv_module() -> None:
    long = "word " * 60_000
    assert texts(f"id,text\n1,{long}\n") == [long]
