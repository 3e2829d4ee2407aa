"""The tables of index.db, format 5.

SQLite is the only truth: what is not in these tables can be made again from them. indexes/README.md tells what
each column means. A column may be NULL only if it is named in `_MAY_BE_NULL`.
"""

from __future__ import annotations

import sqlite3

from sqlite_utils import Database
from sqlite_utils.db import ForeignKey

from search.store import lexicon
from search.store.database import SCHEMA_VERSION, put_meta

_TABLES: dict[str, dict[str, type]] = {
    "meta": {"key": str, "value": str, "checksum": int},
    "files": {
        "id": int, "path": bytes, "size": int, "mtime_ns": int, "inode": int, "sha256": str, "status": str,
        "checksum": int,
    },
    "skipped": {"path": bytes, "record": int, "stage": str, "reason": str, "detail": str},
    "documents": {
        "id": int, "file": int, "record": int, "kind": str, "title": str, "metadata": str, "encoding": str,
        "sha256": str, "checksum": int,
    },
    "passages": {
        "id": int, "document": int, "start": int, "end": int, "line_start": int, "line_end": int,
        "heading": str, "context": str, "text": str, "n_tokens": int, "page": int, "checksum": int,
    },
    "embeddings": {"passage": int, "vector": bytes, "checksum": int, "content": bytes},
    "token_vectors": {"passage": int, "vectors": bytes, "checksum": int},
    "annotators": {"name": str, "made_with": str, "fields": str, "checksum": int},
    "annotations": {"passage": int, "annotator": str, "values": str, "spans": str, "checksum": int},
    "ann": {
        "id": int, "generation": int, "file": str, "size": int, "watermark": int, "count": int, "checksum": int,
    },
    "tombstones": {"passage": int},
    "baseline": {
        "id": int, "passages": int, "queries": int, "made_with": str, "pairs": bytes, "hubs": str,
        "checksum": int,
    },
}  # fmt: skip

_COMPOUND_KEYS = {"skipped": ("path", "record", "stage"), "annotations": ("passage", "annotator")}

_MAY_BE_NULL = {("files", "sha256"), ("passages", "page")}

# (table, column) -> (table, column) of the row that it goes with.
_PARENTS = {
    ("documents", "file"): ("files", "id"),
    ("passages", "document"): ("documents", "id"),
    ("embeddings", "passage"): ("passages", "id"),
    ("token_vectors", "passage"): ("passages", "id"),
    ("annotations", "passage"): ("passages", "id"),
    ("annotations", "annotator"): ("annotators", "name"),
}

# Name -> table, columns, and whether they are unique.
_INDEXES = {
    "files_path": ("files", ("path",), True),
    "documents_record": ("documents", ("file", "record"), True),
    "passages_document": ("passages", ("document",), False),
    "embeddings_content": ("embeddings", ("content",), False),
}


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of a new index, in one transaction."""
    db = Database(connection, execute_plugins=False)
    connection.execute("BEGIN IMMEDIATE")
    with db.atomic():
        for name, columns in _TABLES.items():
            db.table(name).create(
                columns,
                pk=_COMPOUND_KEYS.get(name, next(iter(columns))),
                not_null={column for column in columns if (name, column) not in _MAY_BE_NULL},
                foreign_keys=[
                    ForeignKey(name, column, *parent, on_delete="CASCADE")
                    for (table, column), parent in _PARENTS.items()
                    if table == name
                ],
                strict=True,
            )
        for name, (table, indexed, unique) in _INDEXES.items():
            db.table(table).create_index(indexed, index_name=name, unique=unique)
        lexicon.create(connection)
        lexicon.rebuild(connection)
        put_meta(connection, {"schema_version": SCHEMA_VERSION, "passages": 0, "last_passage": 0})
    connection.execute("COMMIT")
