from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from search.errors import IndexDamaged, InputError
from search.records.documents import Annotation, Mention
from search.store.checksums import row_checksum
from search.store.milvus.layout import CHECKSUM, DENSE, LONGEST, PASSAGE, ROW
from search.store.milvus.rows import (
    OF_PASSAGE,
    document_content,
    document_row,
    embedding_fields,
    embedding_in,
    passage_row,
    said_of,
    stored_passage,
)
from search.store.protocol import StoredFile, StoredPassage

_ROOT = "/home/ada/notes"
_SAID = {
    "ner": Annotation(7, {"person": ["Ada"]}, (Mention("person", "Ada", 3, 6, 0.5),)),
    "label": Annotation(7, {"mood": "good"}),
}
_STORED = StoredPassage(
    id=7, path=f"{_ROOT}/a b/t\udcff.csv", document="a b/t\udcff.csv#12", document_id=3, title="T", heading="H > I",
    context="T", text="*Ada* wrote «it» 日本", start=2, end=20, line_start=4, line_end=5,
    metadata={"year": 1843, "tags": ["x", {"y": 1.5}], "none": None}, page=2,
    file=StoredFile("csv", 99, 1_700_000_000_123_456_789, 2**60 + 1, "ab"), hidden=((0, 1), (4, 5)),
    annotations={"person": ["Ada"], "mood": "good"},
)  # fmt: skip


def _row(stored: StoredPassage = _STORED) -> dict[str, Any]:
    return passage_row(stored, _ROOT, 5, tokens=11, copy=-(2**62), said=_SAID)


def test_a_passage_is_read_as_it_was_written() -> None:
    row = _row()
    assert stored_passage(row, _ROOT) == _STORED
    assert said_of(row) == _SAID
    assert (row["key"], row["born"], row["copy"]) == ("7@5", 5, -(2**62))
    assert row[ROW].isascii()
    assert json.loads(row[ROW])["tokens"] == 11


def test_an_index_whose_folder_has_moved_needs_no_other_rows() -> None:
    assert stored_passage(_row(), "/srv").path == "/srv/a b/t\udcff.csv"


def test_a_long_passage_is_compressed_and_one_that_is_still_too_long_is_named() -> None:
    long = replace(_STORED, text="*Ada* and again " * 10_000)
    row = _row(long)
    assert len(row[ROW]) < LONGEST
    assert stored_passage(row, _ROOT).text == long.text
    noise = np.random.default_rng(0).integers(0x4E00, 0x9FA5, 60_000)
    with pytest.raises(InputError, match=r"passage 7 of 'a b/t.*csv#12' is too long for Milvus.*--exclude"):
        _row(replace(_STORED, text="*Ada*" + "".join(map(chr, noise))))


def test_a_document_is_read_as_it_was_written() -> None:
    content = document_content(document_row(_STORED, _ROOT, 5))
    assert content["name"] == "a b/t\udcff.csv"
    assert content["record"] == 12
    assert content["metadata"] == _STORED.metadata
    assert content["file"] == _STORED.file


@pytest.mark.parametrize("field", OF_PASSAGE)
def test_a_row_that_is_not_what_was_written_is_damaged(field: str) -> None:
    row = _row()
    row[field] = row[field][:-2] + "0}" if isinstance(row[field], str) else row[field] + 1
    with pytest.raises(IndexDamaged, match="checksum is wrong.*--store-anew"):
        stored_passage(row, _ROOT)


@pytest.mark.parametrize(
    "written",
    ["[]", "{}", "z", "zzzzz", json.dumps({"name": "../x"}), "null", '{"said": []}', '{"a":' * 9000],
)
def test_a_row_that_somebody_else_wrote_is_refused(written: str) -> None:
    row = _row()
    row[ROW] = written
    row[CHECKSUM] = row_checksum(*(row[name] for name in OF_PASSAGE[:-1]))
    with pytest.raises(IndexDamaged, match="makes no sense"):
        stored_passage(row, _ROOT)


def test_a_document_outside_of_the_folder_is_refused() -> None:
    content = json.loads(_row()[ROW])
    row = _row() | {ROW: json.dumps(content | {"name": "../../etc/passwd"})}
    row[CHECKSUM] = row_checksum(*(row[name] for name in OF_PASSAGE[:-1]))
    with pytest.raises(IndexDamaged, match="makes no sense"):
        stored_passage(row, _ROOT)


def test_an_embedding_is_read_as_it_was_written() -> None:
    vector = np.random.default_rng(0).normal(size=8).astype(np.float32)
    row = {PASSAGE: 7, **embedding_fields(7, vector)}
    assert (embedding_in(row | {DENSE: vector.tolist()}, 8) == vector).all()
    for wrong in (
        row | {PASSAGE: 8},
        row | {DENSE: [*vector[:-1].tolist(), 0.0]},
        row | {DENSE: vector[:-1]},
    ):
        with pytest.raises(IndexDamaged, match="embedding of passage"):
            embedding_in(wrong, 8)
