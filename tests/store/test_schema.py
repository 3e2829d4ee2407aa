"""The tables of an index, and indexes of other formats."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from search import Index, IndexOutdated
from search.store import writer
from search.store.database import SCHEMA_VERSION


def as_format(index: Path, version: int) -> None:
    """Let an index say that it is of another format, as one without checksums did."""
    with closing(sqlite3.connect(index / "index.db", isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(version),))


def test_an_older_index_is_refused_with_the_command_that_makes_it_anew(notes: Path, tiny_model: Path) -> None:
    built = Index.build(notes, model=str(tiny_model))
    before = built.query("the key is in the water")
    as_format(built.path, SCHEMA_VERSION - 1)
    way = rf"format {SCHEMA_VERSION - 1}, of an earlier version.*seewhy index \S*notes --index \S*notes --rebuild"
    with pytest.raises(IndexOutdated, match=way):
        Index.open(built.path)
    with pytest.raises(IndexOutdated, match=way):
        Index.build(notes, model=str(tiny_model))
    again = Index.build(notes, model=str(tiny_model), rebuild=True)
    assert again.path == built.path
    assert [hit.score for hit in again.query("the key is in the water")] == [hit.score for hit in before]


def test_an_index_of_other_tables_is_made_anew(notes: Path, tiny_model: Path) -> None:
    """As those of an earlier format are."""
    built = Index.build(notes, model=str(tiny_model))
    before = built.query("the key is in the water")
    as_format(built.path, SCHEMA_VERSION - 1)
    with closing(sqlite3.connect(built.path / "index.db", isolation_level=None)) as connection:
        connection.execute("ALTER TABLE passages DROP COLUMN hidden")
    with pytest.raises(IndexOutdated, match="--rebuild"):
        Index.open(built.path).query("water")
    again = Index.build(notes, model=str(tiny_model), rebuild=True).query("the key is in the water")
    assert [hit.score for hit in again] == [hit.score for hit in before]
    assert not {hit.passage_id for hit in again} & {hit.passage_id for hit in before}, "an id is used twice"


def test_tables_are_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "put_meta", fail)
    connection = sqlite3.connect(tmp_path / "index.db", isolation_level=None)
    with pytest.raises(KeyboardInterrupt):
        writer.create(connection)
    connection.close()
    with closing(sqlite3.connect(tmp_path / "index.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        monkeypatch.undo()
        writer.create(connection)
        strict = connection.execute(
            "SELECT count(*) FROM pragma_table_list WHERE strict AND schema = 'main'"
        ).fetchone()
        assert strict == (13,)
