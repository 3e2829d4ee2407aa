"""An index whose rows are put there by hand."""

import json
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from search.store import segments
from search.store.database import connect_to_write
from search.store.snapshot import Snapshot, Store
from search.store.writer import Writer, create

FINGERPRINT = {
    **dict.fromkeys(("weights", "tokenizer", "config"), "0" * 64), "model": "by hand", "pooling": "mean",
    "max_tokens": "8", "prompts": "{}", "normalized": "yes",
}  # fmt: skip


def empty(folder: Path, dimension: int = 4) -> sqlite3.Connection:
    connection = connect_to_write(folder / "index.db")
    fingerprint = FINGERPRINT | {"dimension": str(dimension)}
    create(connection).put(root=str(folder), source={}, fingerprint=fingerprint)
    return connection


def put(connection: sqlite3.Connection, table: str, *values: Any) -> None:
    """A row, with the values of all columns."""
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def count(connection: sqlite3.Connection) -> None:
    """Write down how many passages there are, as the writer does with every change."""
    (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone()
    rows = (
        "SELECT coalesce(max(id), 0) FROM (SELECT id FROM passages UNION SELECT passage FROM tombstones)"
    )
    Writer(connection).put(
        generation=time.time_ns(), passages=passages, last_passage=connection.execute(rows).fetchone()[0]
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
    row = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    if row is None:
        row = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM files").fetchone()
        name = path.decode("utf-8", "backslashreplace")
        put(connection, "files", row[0], path, name, 0, 0, 0, "", "indexed")
    (document,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()
    text = metadata if isinstance(metadata, str) else json.dumps(metadata or {}, ensure_ascii=False)
    put(connection, "documents", document, row[0], record, kind, title, text, "")
    ids = []
    for heading, page in passages:
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        ids.append(last + 1)
        id_ = ids[-1]
        put(
            connection,
            "passages",
            id_,
            document,
            0,
            1,
            1,
            1,
            3,
            page,
            b"",
            id_,
            0,
            heading,
            "",
            "x",
            "[]",
        )
    segments.add(Writer(connection), [(id_, "", "x") for id_ in ids])
    count(connection)
    return ids


def add_embedding(connection: sqlite3.Connection, passage: int, vector: np.ndarray) -> None:
    put(connection, "embeddings", passage, vector.astype("<f4").tobytes())


def add_annotator(connection: sqlite3.Connection, name: str, fields: list[str]) -> None:
    made_with = json.dumps({"model": "by hand", "command": f"seewhy lab tag --name {name}"})
    put(connection, "annotators", name, made_with, json.dumps(fields))


def add_annotation(connection: sqlite3.Connection, passage: int, annotator: str, values: Any) -> None:
    put(connection, "annotations", passage, annotator, json.dumps(values, ensure_ascii=False), "[]")


def nearest(
    connection: sqlite3.Connection, store: Store, query: np.ndarray, k: int, among: Any = None
) -> list[tuple[int, float]]:
    return Snapshot(store, connection).nearest(query, k, among)


def bury(connection: sqlite3.Connection, passages: Iterable[int]) -> None:
    """Note passages as deleted."""
    for passage in passages:
        put(connection, "tombstones", passage)
