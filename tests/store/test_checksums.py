"""Every value that an answer is made of is guarded: a changed one is an error, never a wrong answer."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from search import Index, IndexDamaged
from search.store.calibration import _pseudo_query
from search.store.checksums import COVERED, name_of, row_checksum
from search.store.sqlite import SQLiteStore
from tests.store.crowd import crowd

CHANGES = {int: lambda value: value ^ 4, str: lambda value: value + "x", bytes: lambda value: value + b"x"}


def test_checksums_tell_kinds_and_boundaries_apart() -> None:
    different = [
        ("ab", "c"),
        ("a", "bc"),
        (1,),
        ("1",),
        (b"1",),
        (None,),
        ("",),
        (b"",),
        (0,),
        (),
        ("ab", "c", None),
    ]
    assert len({row_checksum(*values) for values in different}) == len(different)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table, column)
        for table, columns in COVERED.items()
        for column in columns
        if column not in ("key", "id", "file", "document")
        and table not in ("baseline", "annotators", "annotations")  # tests of their own
    ]
    + [("embeddings", "vector"), ("embeddings", "content"), ("segments", "file"), ("words", "block")],
)
def test_a_changed_value_is_noticed(notes: Path, tiny_model: Path, table: str, column: str) -> None:
    index = Index.build(notes, model=str(tiny_model))
    if table in ("words", "tombstones"):  # of what changed since the segments were made
        (notes / "new.txt").write_text("a new key", encoding="utf-8")
        (notes / "deep" / "time.txt").unlink()
        index.update()
    before = index.query("the key is in the water", k=50)
    connection = sqlite3.connect(index.path / "index.db")
    rows = connection.execute(f'SELECT rowid, "{column}" FROM {table}').fetchall()
    for rowid, value in rows:
        new = 7 if value is None else CHANGES[type(value)](value)
        connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (new, rowid))
    if (table, column) == ("embeddings", "vector"):
        connection.execute("DELETE FROM segments")
    connection.commit()
    connection.close()
    way_out = "--rebuild" if table == "meta" else "seewhy repair"  # the number of the format is changed, too
    with pytest.raises(IndexDamaged, match=way_out):
        Index.open(index.path).query("the key is in the water", k=50)
    assert rows and len(before) >= 5


@pytest.mark.parametrize("column", [column for column in COVERED["baseline"] if column != "id"])
def test_a_changed_sample_is_noticed_and_not_used(tmp_path: Path, tiny_model: Path, column: str) -> None:
    """Answers do not rest on the sample of random pairs, so it costs none; but no wrong percentile is given."""
    index = Index.build(crowd(tmp_path / "notes"), model=str(tiny_model))
    before = index.query("the key is in the water", k=50)
    connection = sqlite3.connect(index.path / "index.db")
    (value,) = connection.execute(f"SELECT {column} FROM baseline").fetchone()
    connection.execute(f"UPDATE baseline SET {column} = ?", (CHANGES[type(value)](value),))
    connection.commit()
    connection.close()
    opened = Index.open(index.path)
    after = opened.query("the key is in the water", k=50)
    assert [(hit.passage_id, hit.score) for hit in after] == [(hit.passage_id, hit.score) for hit in before]
    assert all(hit.percentile is not None for hit in before)
    assert all(hit.percentile is None and hit.hub is None for hit in after)
    assert any("seewhy repair" in note for note in opened.notes)


@pytest.mark.parametrize("table", ["passages", "embeddings", "documents", "files"])
def test_a_lost_row_is_noticed(notes: Path, tiny_model: Path, table: str) -> None:
    index = Index.build(notes, model=str(tiny_model))
    connection = sqlite3.connect(index.path / "index.db")
    connection.execute("PRAGMA foreign_keys = 0")
    connection.execute(f"DELETE FROM {table} WHERE rowid = 1")
    connection.commit()
    connection.close()
    with pytest.raises(IndexDamaged, match="seewhy repair"):
        Index.open(index.path).query("the key is in the water", k=50)


def test_a_page_in_the_wrong_place_is_an_error_that_is_ours(notes: Path, tiny_model: Path) -> None:
    """Numbers stand where paths should, and ids that no row has."""
    assert name_of(b"a.md", 2) == "a.md#2"
    with pytest.raises(IndexDamaged, match="'7' in place of a path.*seewhy repair"):
        name_of(7)
    index = Index.build(notes, model=str(tiny_model))
    with (
        SQLiteStore(index.path).reading() as snapshot,
        pytest.raises(IndexDamaged, match="passage 99 cannot"),
    ):
        _pseudo_query(snapshot, 99, np.random.default_rng(0))
