"""The tables of index.db, as named migrations.

SQLite is the only truth: what is not in these tables can be rebuilt from them.
"""

from __future__ import annotations

import sqlite3

from sqlite_utils import Database, Migrations

from search.store import lexicon
from search.store.checksums import add_missing
from search.store.database import SCHEMA_VERSION, count_passages, put_meta

_migrations = Migrations("seewhy")


@_migrations()
def m001_first(db: Database) -> None:
    """Files, their documents, the documents' passages, the passages' embeddings."""
    for statement in (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
        """CREATE TABLE files (
            id INTEGER PRIMARY KEY,
            path BLOB NOT NULL UNIQUE,
            size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
            sha256 TEXT,
            status TEXT NOT NULL CHECK (status IN ('indexed', 'partial', 'skipped'))
        ) STRICT""",
        """CREATE TABLE skipped (
            path BLOB NOT NULL, record INTEGER NOT NULL,
            stage TEXT NOT NULL CHECK (stage IN ('walk', 'read')),
            reason TEXT NOT NULL, detail TEXT NOT NULL,
            PRIMARY KEY (path, record, stage)
        ) STRICT""",
        """CREATE TABLE documents (
            id INTEGER PRIMARY KEY,
            file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
            record INTEGER NOT NULL,
            kind TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL, encoding TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            UNIQUE (file, record)
        ) STRICT""",
        """CREATE TABLE passages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            start INTEGER NOT NULL, "end" INTEGER NOT NULL,
            line_start INTEGER NOT NULL, line_end INTEGER NOT NULL,
            heading TEXT NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL,
            n_tokens INTEGER NOT NULL
        ) STRICT""",
        "CREATE INDEX passages_document ON passages (document)",
        """CREATE TABLE embeddings (
            passage INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE,
            vector BLOB NOT NULL,
            checksum INTEGER NOT NULL,
            content BLOB NOT NULL
        ) STRICT""",
        "CREATE INDEX embeddings_content ON embeddings (content)",
        """CREATE TABLE ann (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            generation INTEGER NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL,
            watermark INTEGER NOT NULL, count INTEGER NOT NULL, deleted INTEGER NOT NULL
        ) STRICT""",
    ):
        db.execute(statement)


@_migrations()
def m002_checksums(db: Database) -> None:
    """A checksum for every row, deleted passages by their ids, pages for formats that have them."""
    db.execute("ALTER TABLE passages ADD COLUMN page INTEGER")
    db.execute("CREATE TABLE tombstones (passage INTEGER PRIMARY KEY) STRICT")
    db.execute("DELETE FROM ann")  # a cache, which the next run fills again
    db.execute("ALTER TABLE ann DROP COLUMN deleted")
    for table in ("meta", "files", "documents", "passages", "ann"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
        add_missing(db.conn, table)


@_migrations()
def m003_words(db: Database) -> None:
    """The words of the passages (lexicon.py), what random pairs score (baseline.py), vectors of tokens."""
    lexicon.create(db.conn)
    lexicon.rebuild(db.conn)
    db.execute(
        """CREATE TABLE baseline (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            passages INTEGER NOT NULL, queries INTEGER NOT NULL, made_with TEXT NOT NULL,
            pairs BLOB NOT NULL, hubs TEXT NOT NULL, checksum INTEGER NOT NULL
        ) STRICT"""
    )
    db.execute(
        """CREATE TABLE token_vectors (
            passage INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE,
            vectors BLOB NOT NULL, checksum INTEGER NOT NULL
        ) STRICT"""
    )


@_migrations()
def m004_annotations(db: Database) -> None:
    """What models say of passages (annotations.py)."""
    db.execute(
        """CREATE TABLE annotators (
            name TEXT PRIMARY KEY, made_with TEXT NOT NULL, fields TEXT NOT NULL, checksum INTEGER NOT NULL
        ) STRICT"""
    )
    db.execute(
        """CREATE TABLE annotations (
            passage INTEGER NOT NULL REFERENCES passages (id) ON DELETE CASCADE,
            annotator TEXT NOT NULL REFERENCES annotators (name) ON DELETE CASCADE,
            "values" TEXT NOT NULL, spans TEXT NOT NULL, checksum INTEGER NOT NULL,
            PRIMARY KEY (passage, annotator)
        ) STRICT"""
    )


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a writer's connection to the newest schema, in one transaction."""
    db = Database(connection, execute_plugins=False)
    connection.execute("BEGIN IMMEDIATE")
    with db.atomic():
        _migrations.apply(db)
        put_meta(connection, {"schema_version": SCHEMA_VERSION})
        count_passages(connection)
    connection.execute("COMMIT")
