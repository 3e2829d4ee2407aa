from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from search.errors import ReadError

from .conftest import ParsedDocument, Skipped, read, shared, source_file
from .conftest import records as table_records

records = partial(table_records, "r.jsonl")


def test_a_record_in_the_layout_of_beir_is_read() -> None:
    (document,) = records(
        '{"_id": "d1", "title": "Wings", "text": "Lift\\nand drag", "metadata": {"url": "x"}}\n'
    )
    assert isinstance(document, ParsedDocument)
    assert (document.name, document.title, document.text) == ("r.jsonl#1", "Wings", "Lift\nand drag")
    assert document.metadata == {"_id": "d1", "metadata": {"url": "x"}}
    assert document.lines.span(0, 8) == (1, 1)


def test_lines_are_counted_as_editors_do() -> None:
    items = records('\n{"text": "a\u2028b"}\r\n\r\n"bare"\r"last"')
    lines = [item.lines.span(0, 1) for item in items if isinstance(item, ParsedDocument)]
    assert lines == [(2, 2), (4, 4), (5, 5)]
    assert [item.text for item in items if isinstance(item, ParsedDocument)] == [
        "a\u2028b",
        "bare",
        "last",
    ]


def test_one_bad_line_costs_one_record() -> None:
    items = records('{"text": "a"}\n{"text": \n[1]\n{"text": ""}\n{"other": 1}\n{"text": "b"}\n')
    assert [
        item.text if isinstance(item, ParsedDocument) else (item.path, item.reason) for item in items
    ] == [
        "a",
        ("r.jsonl#2", "damaged"),
        ("r.jsonl#3", "damaged"),
        ("r.jsonl#4", "empty"),
        ("r.jsonl#5", "empty"),
        "b",
    ]
    assert [item.detail for item in items if isinstance(item, Skipped)] == [
        "line 2: invalid JSON: Expecting value: line 1 column 10 (char 9)",
        "line 3: expected an object or a string, got list",
        "line 4: nothing under 'text'",
        "line 5: nothing under 'text'",
    ]


def test_the_keys_of_text_and_title_are_guessed_or_given() -> None:
    source = '{"id": 7, "notes": ["one", "two"], "name": "N", "score": NaN}\n'
    (document,) = records(source)
    assert isinstance(document, ParsedDocument)
    assert (document.text, document.title) == ("one\ntwo", "N")
    assert document.metadata == {"id": 7, "score": "nan"}
    (document,) = records(source, text_field="name", title_field="id")
    assert isinstance(document, ParsedDocument)
    assert (document.text, document.title) == ("N", "7")


def test_an_unknown_text_field_is_an_error() -> None:
    with pytest.raises(ReadError, match=r"text_field 'nope' is not a column. Choose from: 'a', 'b'"):
        records('{"a": "x"}\n{"b": "y"}\n', text_field="nope")
    late = '{"a": "x"}\n' * 150 + '{"b": "y"}\n'
    assert isinstance(records(late, text_field="b")[-1], ParsedDocument)


def test_half_a_surrogate_pair_becomes_a_character() -> None:
    (document,) = records('{"text": "a\\ud800b", "k": "\\udfff"}')
    assert isinstance(document, ParsedDocument)
    assert (document.text, document.metadata) == ("a\ufffdb", {"k": "\ufffd"})


@pytest.mark.parametrize("depth", [300, 900])
def test_deeply_nested_records_do_not_stop_the_others(depth: int) -> None:
    deep = '{"a": ' + "[" * depth + "]" * depth + "}\n"
    assert [getattr(item, "text", "") for item in records(deep + '{"b": "text"}\n' + deep)] == [
        "",
        "text",
        "",
    ]


def test_all_of_cranfield_is_read() -> None:
    path = shared("retrieval", "cranfield", "corpus.jsonl")
    expected = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items = list(read(source_file(path)))
    assert len(items) == len(expected)
    texts = {item.metadata["_id"]: item.text for item in items if isinstance(item, ParsedDocument)}
    assert texts == {row["_id"]: row["text"] for row in expected if row["text"].strip()}


def test_a_file_that_is_no_jsonl_at_all_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("plain\nwords\n", encoding="utf-8")
    with pytest.raises(ReadError, match=r"a\.jsonl: no text \(none of the 2 records contains text\)"):
        list(read(source_file(tmp_path / "a.jsonl")))
