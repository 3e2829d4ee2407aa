"""Indexes of an earlier format."""

import sqlite3
from pathlib import Path

import pytest

from search import Index, IndexOutdated
from search.store import schema
from search.store.checksums import COVERED
from search.store.database import SCHEMA_VERSION


def as_first_format(index: Path) -> None:
    """Take from an index what came after the first format."""
    connection = sqlite3.connect(index / "index.db")
    connection.execute("ALTER TABLE passages DROP COLUMN page")
    for table in (
        "tombstones", "lexicon_terms", "lexicon", "baseline", "token_vectors", "annotations", "annotators",
    ):  # fmt: skip
        connection.execute(f"DROP TABLE {table}")
    connection.execute("ALTER TABLE ann ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0")
    for table in COVERED.keys() - {"baseline", "annotations", "annotators"}:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
    connection.execute("DELETE FROM meta WHERE key IN ('passages', 'lexicon')")
    connection.execute("DELETE FROM _sqlite_migrations WHERE name != 'm001_first'")
    connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'")
    connection.commit()
    connection.close()


def test_an_older_index_is_refused_with_the_command_that_helps(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model)).path
    as_first_format(index)
    with pytest.raises(IndexOutdated, match="format 1, of an earlier version.*seewhy index .*notes"):
        Index.open(index)


def test_indexing_brings_an_older_index_up_to_date(notes: Path, tiny_model: Path) -> None:
    built = Index.build(notes, model=str(tiny_model))
    before = built.query("the key is in the water")
    as_first_format(built.path)
    again = Index.build(notes, model=str(tiny_model))
    assert again.path == built.path
    assert again.report is not None and again.report.encoded == 0
    assert again.query("the key is in the water") == before


def test_a_migration_that_fails_leaves_the_format_as_it_was(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.build(notes, model=str(tiny_model)).path
    as_first_format(index)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    connection = sqlite3.connect(index / "index.db", isolation_level=None)
    monkeypatch.setattr(schema, "put_meta", fail)
    with pytest.raises(KeyboardInterrupt):
        schema.migrate(connection)
    connection.close()
    monkeypatch.undo()
    with pytest.raises(IndexOutdated):
        Index.open(index)
    connection = sqlite3.connect(index / "index.db", isolation_level=None)
    schema.migrate(connection)
    assert connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone() == (
        str(SCHEMA_VERSION),
    )
    connection.close()
