"""An index whose rows are put there by hand, with the checksums that belong to them."""

import json
import sqlite3
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from search.store import words
from search.store.checksums import COVERED, row_checksum
from search.store.database import connect_to_write, count_anew
from search.store.sqlite import SQLiteSnapshot, SQLiteStore
from search.store.writer import create


def empty(folder: Path) -> sqlite3.Connection:
    connection = connect_to_write(folder / "index.db")
    create(connection)
    return connection


def put(connection: sqlite3.Connection, table: str, *values: Any, **others: Any) -> None:
    """A row: the columns that the checksum covers, in order, then others by name."""
    columns = [f'"{column}"' for column in (*COVERED[table], *others, "checksum")]
    marks = ", ".join("?" * len(columns))
    connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})",
        (*values, *others.values(), row_checksum(*values)),
    )


def add_document(
    connection: sqlite3.Connection,
    path: bytes,
    metadata: Any = None,
    *,
    kind: str = "markdown",
    title: str = "",
    passages: tuple[tuple[str, int | None], ...] = (("", None),),
    record: int = 0,
) -> list[int]:
    """A document with passages, given by heading and page; returns the passages' ids. A transaction is the caller's."""
    found = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    if found is None:
        found = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM files").fetchone()
        facts = {"size": 0, "mtime_ns": 0, "inode": 0, "sha256": "", "status": "indexed"}
        put(connection, "files", found[0], path, **facts)
    (document,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()
    text = metadata if isinstance(metadata, str) else json.dumps(metadata or {}, ensure_ascii=False)
    put(connection, "documents", document, found[0], record, kind, title, text, "utf-8", "")
    ids = []
    for heading, page in passages:
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        ids.append(last + 1)
        put(connection, "passages", ids[-1], document, 0, 1, 1, 1, heading, "", "x", 3, page, "[]")
    words.add(connection, [(id_, "", "x") for id_ in ids])
    count_anew(connection)
    return ids


def add_embedding(connection: sqlite3.Connection, passage: int, vector: np.ndarray) -> None:
    blob = vector.astype("<f4").tobytes()
    values = passage, blob, zlib.crc32(blob), passage
    connection.execute("INSERT INTO embeddings VALUES (?, ?, ?, x'00', ?)", values)


def add_annotator(connection: sqlite3.Connection, name: str, fields: list[str]) -> None:
    made_with = json.dumps({"model": "by hand", "command": f"seewhy tag --name {name}"})
    put(connection, "annotators", name, made_with, json.dumps(fields))


def add_annotation(connection: sqlite3.Connection, passage: int, annotator: str, values: Any) -> None:
    put(connection, "annotations", passage, annotator, json.dumps(values, ensure_ascii=False), "[]")


def nearest(
    connection: sqlite3.Connection, store: SQLiteStore, query: np.ndarray, k: int, among: Any = None
) -> list[tuple[int, float]]:
    return SQLiteSnapshot(store, connection).nearest(query, k, among)


def bury(connection: sqlite3.Connection, passages: Iterable[int]) -> None:
    """Note passages as deleted."""
    for passage in passages:
        put(connection, "tombstones", passage)
