"""Look at every row of index.db and say what is wrong with it.

Each table is read in pieces of some thousand rows, each piece in a read transaction of its own: with a
rollback journal a writer's commit waits for readers, so one long transaction would hold up a run that is
under way. What is compared between tables is compared within one piece or one short statement, so a commit
in between is never taken for damage.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from search.encoding.fingerprint import Fingerprint
from search.errors import SearchError
from search.store.checksums import COVERED, content_key, covered, row_checksum
from search.store.database import SCHEMA_VERSION
from search.store.files import DATABASE
from search.store.health.kinds import Tally
from search.store.schema import create
from search.store.settings import Source

ROWS_AT_ONCE = 2048
_LENGTH_TOLERANCE = 1e-3  # of an embedding, whose length is 1; float32 arithmetic comes within 1e-6
NEEDED = (
    "schema_version",
    "root",
    "fingerprint",
    "source",
    "complete",
    "passages",
    "last_passage",
    "lexicon",
)

Tick = Callable[[int], None]


def lenient(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Let a connection hand out text that is no valid UTF-8, so that it can be named as damaged."""
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One short read transaction."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def pieces(
    connection: sqlite3.Connection, table: str, key: str = "id", tick: Tick | None = None
) -> Iterator[tuple[int, int]]:
    """Ranges (above, up to) of a table's keys, each within a read transaction of its own."""
    last = -(2**63)
    while True:
        with snapshot(connection):
            upto, rows = connection.execute(
                f"SELECT max(k), count(*) FROM (SELECT {key} AS k FROM {table} WHERE {key} > ? ORDER BY 1 LIMIT ?)",
                (last, ROWS_AT_ONCE),
            ).fetchone()
            if upto is None:
                return
            yield last, upto
        last = upto
        if tick:
            tick(rows)


def examine_database(connection: sqlite3.Connection, tally: Tally) -> None:
    """Whether SQLite can read all of it; its indexes are compared with the tables too."""
    with snapshot(connection):
        for (message,) in connection.execute("PRAGMA integrity_check(20)"):
            for line in message.splitlines():
                if "FTS5" in line:  # since SQLite 3.44
                    tally.add("words", line)
                elif line != "ok" and not line.startswith("***"):  # which is a headline
                    tally.add("database fault", line)


def examine_format(connection: sqlite3.Connection, index: Path, tally: Tally) -> bool:
    """Compare the tables with those that this program makes. Returns whether there is anything in them to look at."""
    with snapshot(connection):
        there = shape(connection)
        if not there:
            emptied = (index / DATABASE).stat().st_size or any(index.glob("ann/*.faiss"))
            tally.add("emptied" if emptied else "no tables")
            return False
        if not {name for _, name in there} & {"meta", "passages", "documents", "files"}:
            tally.add("foreign")
            return False
        version = _version(connection)
        if version is not None and version != SCHEMA_VERSION:
            tally.add("older format" if version < SCHEMA_VERSION else "newer format", str(version))
            return False
        different = sorted({key for key, _ in there.items() ^ expected_shape().items()})
        for kind, name in different:
            tally.add("schema", f"{kind} {name}")
        if different:
            return False
        named = connection.execute("SELECT 1 FROM meta WHERE key IN ('root', 'fingerprint')").fetchone()
        if not named and not connection.execute("SELECT 1 FROM files").fetchone():
            tally.add("no tables")
            return False
    return True


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows the large tables have."""
    return {
        table: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        for table in ("files", "documents", "passages")
    }


def shape(connection: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, ...]]:
    """What a database is made of: (kind, name) -> columns, for tables, indexes, views and triggers."""
    found = {}
    for kind, name in connection.execute("SELECT type, name FROM sqlite_master").fetchall():
        if not name.startswith("sqlite_"):
            columns = connection.execute(
                f"SELECT name FROM pragma_{'index' if kind == 'index' else 'table'}_info(?)", (name,)
            )
            found[kind, name] = tuple(str(row[0]) for row in columns)
    return found


def expected_shape() -> dict[tuple[str, str], tuple[str, ...]]:
    """As `shape`, of a new index."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create(connection)
        return shape(connection)


def _version(connection: sqlite3.Connection) -> int | None:
    """The format as recorded; None where that cannot be read."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        return int(row[0]) if row else None
    except (sqlite3.DatabaseError, ValueError):
        return None


def settings(connection: sqlite3.Connection) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entries of `meta` that can be relied on, and those that can be read but are not what was written."""
    good: dict[str, Any] = {}
    doubtful: dict[str, Any] = {}
    for key, value, checksum in connection.execute("SELECT key, value, checksum FROM meta"):
        try:
            parsed = json.loads(value)
            if not _makes_sense(key, parsed):
                continue
        except (ValueError, TypeError, KeyError, SearchError):
            continue
        (good if row_checksum(key, value) == checksum else doubtful)[key] = parsed
    return good, doubtful


def _makes_sense(key: str, value: Any) -> bool:
    """Whether an entry is what it should be; may raise instead of saying no."""
    if key == "root":
        return isinstance(value, str) and value != ""
    if key == "fingerprint":
        made = Fingerprint.from_dict(value)
        return int(made.dimension) > 0 and isinstance(json.loads(made.passages), dict)
    if key == "source":
        Source.from_dict(value)
    if key in ("schema_version", "passages", "last_passage"):
        return type(value) is int and value >= 0
    return key != "complete" or isinstance(value, bool)


def examine_settings(connection: sqlite3.Connection, tally: Tally) -> tuple[dict[str, Any], dict[str, Any]]:
    """Count entries that are damaged or missing; returns what `settings` does."""
    good, doubtful = settings(connection)
    stored = [row[0] for row in connection.execute("SELECT key FROM meta ORDER BY key")]
    for key in dict.fromkeys([*NEEDED, *stored]):
        if key not in good:
            tally.add("setting", key)
    return good, doubtful


def usual_dimension(connection: sqlite3.Connection) -> int:
    """What most embeddings have, for an index that does not say it; 0 if there are none."""
    row = connection.execute(
        """SELECT length(vector) / 4 FROM (SELECT vector FROM embeddings LIMIT 1000)
           GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"""
    ).fetchone()
    return int(row[0]) if row else 0


def examine_links(connection: sqlite3.Connection, tally: Tally) -> None:
    """Rows whose parent is missing."""
    with snapshot(connection):
        for table, row, *_ in connection.execute("PRAGMA foreign_key_check"):
            kind = f"orphan {table.removesuffix('s')}"
            tally.add(kind, f"{table.removesuffix('s')} {row}", row)


def examine_files(connection: sqlite3.Connection, tally: Tally, tick: Tick) -> None:
    for above, upto in pieces(connection, "files", tick=tick):
        rows = connection.execute(
            f"""SELECT {covered("files")}, checksum, status,
                       EXISTS (SELECT 1 FROM documents WHERE file = files.id)
                FROM files WHERE id > ? AND id <= ?""",
            (above, upto),
        )
        for id_, path, checksum, status, has_documents in rows:
            if row_checksum(id_, path) != checksum or not _stays_inside(path):
                tally.add("file", os.fsdecode(path), id_)
            elif status == "indexed" and not has_documents:
                tally.add("file without documents", os.fsdecode(path), id_)


def _stays_inside(path: bytes) -> bool:
    """Whether a stored path is relative and leads nowhere out of the folder."""
    name = os.fsdecode(path)
    if os.name == "nt" and (PureWindowsPath(name).drive or "\\" in name):
        return False
    return name != "" and not PurePosixPath(name).is_absolute() and ".." not in name.split("/")


def examine_documents(connection: sqlite3.Connection, tally: Tally, tick: Tick) -> None:
    for above, upto in pieces(connection, "documents", tick=tick):
        rows = connection.execute(
            f"SELECT {covered('documents')}, checksum FROM documents WHERE id > ? AND id <= ?", (above, upto)
        ).fetchall()
        for *values, checksum in rows:
            row = dict(zip(COVERED["documents"], values, strict=True))
            if row_checksum(*values) != checksum or row["record"] < 0 or not _is_object(row["metadata"]):
                tally.add("document", document_name(connection, row["id"], tally, "document"), row["id"])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def examine_passages(connection: sqlite3.Connection, dimension: int, tally: Tally, tick: Tick) -> None:
    """Every passage and its embedding."""
    for above, upto in pieces(connection, "passages", tick=tick):
        rows = connection.execute(
            f"""SELECT {covered("passages")}, passages.checksum, vector, embeddings.checksum, content
                FROM passages LEFT JOIN embeddings ON passage = id WHERE id > ? AND id <= ?""",
            (above, upto),
        ).fetchall()
        n = len(COVERED["passages"])
        unit = unit_length([row[n + 1] for row in rows], dimension)
        for row, is_unit in zip(rows, unit, strict=True):
            values, (checksum, vector, vector_checksum, content) = row[:n], row[n:]
            passage = dict(zip(COVERED["passages"], values, strict=True))
            kinds = []
            if row_checksum(*values) != checksum or not _spans_its_text(passage):
                kinds.append("passage")
            if vector is None:
                kinds.append("no embedding")
            elif len(vector) != 4 * dimension:
                kinds.append("embedding length")
            elif zlib.crc32(vector) != vector_checksum:
                kinds.append("embedding checksum")
            elif not is_unit:
                kinds.append("embedding value")
            elif not kinds and content != content_key(passage["context"], passage["text"]):
                kinds.append("embedding content")
            for kind in kinds:
                tally.add(kind, passage_name(connection, passage["id"], tally, kind), passage["id"])


def unit_length(blobs: list[bytes | None], dimension: int) -> list[bool]:
    """For each blob whether it is an embedding of length 1; NaN and infinity are not."""
    found = [False] * len(blobs)
    whole = [i for i, blob in enumerate(blobs) if blob is not None and len(blob) == 4 * dimension]
    if whole:
        joined = b"".join(blobs[i] or b"" for i in whole)
        vectors = np.frombuffer(joined, dtype="<f4").reshape(-1, dimension).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt((vectors * vectors).sum(axis=1))
        for i, good in zip(whole, np.abs(lengths - 1) < _LENGTH_TOLERANCE, strict=True):
            found[i] = bool(good)
    return found


def _spans_its_text(passage: dict[str, Any]) -> bool:
    return bool(
        0 <= passage["start"] < passage["end"]
        and passage["end"] - passage["start"] == len(passage["text"])
        and 1 <= passage["line_start"] <= passage["line_end"]
        and passage["n_tokens"] > 0
        and (passage["page"] is None or passage["page"] > 0)
    )


def examine_counts(connection: sqlite3.Connection, tally: Tally) -> None:
    """The number of passages, and the number that the next one gets."""
    with snapshot(connection):
        count, last, held = connection.execute(
            """SELECT count(*), coalesce(max(id), 0),
                      (SELECT coalesce(max(passage), 0) FROM (SELECT passage FROM tombstones
                                                              UNION ALL SELECT watermark FROM ann))
               FROM passages"""
        ).fetchone()
        good, doubtful = settings(connection)
    known = doubtful | good
    expected = known.get("passages", count)
    if expected != count:
        tally.add("passage count", f"{count:,} are there, {expected:,} should be")
    if known.get("last_passage", last) < max(last, held):
        tally.add("sequence", f"{known['last_passage'] + 1}, but {max(last, held)} was given already")


def document_name(connection: sqlite3.Connection, id_: int, tally: Tally, kind: str) -> str:
    """`path` or `path#record`; "" when no more names are wanted."""
    if not tally.wants_name(kind):
        return ""
    row = connection.execute(
        "SELECT path, record FROM documents JOIN files ON files.id = file WHERE documents.id = ?", (id_,)
    ).fetchone()
    if row is None:
        return f"document {id_}"
    return os.fsdecode(row[0]) + (f"#{row[1]}" if row[1] else "")


def passage_name(connection: sqlite3.Connection, id_: int, tally: Tally, kind: str) -> str:
    """`p812 of path`; "" when no more names are wanted."""
    if not tally.wants_name(kind):
        return ""
    row = connection.execute("SELECT document FROM passages WHERE id = ?", (id_,)).fetchone()
    return f"p{id_} of {document_name(connection, row[0], tally, kind)}" if row else f"p{id_}"


def examine_annotations(connection: sqlite3.Connection, tally: Tally, tick: Tick) -> None:
    """Every annotator and every annotation. Those that belong to nothing are found by their links."""
    with snapshot(connection):
        rows = connection.execute(
            f"SELECT rowid, {covered('annotators')}, checksum FROM annotators"
        ).fetchall()
    for rowid, *values, checksum in rows:
        if row_checksum(*values) != checksum or not (_is(dict, values[1]) and _is(list, values[2])):
            tally.add("annotator", str(values[0]), rowid)
    n = len(COVERED["annotations"])
    for above, upto in pieces(connection, "annotations", "rowid", tick):
        found = connection.execute(
            f"""SELECT annotations.rowid, {covered("annotations")}, annotations.checksum,
                       {covered("passages")}, passages.checksum
                FROM annotations LEFT JOIN passages ON id = passage
                WHERE annotations.rowid > ? AND annotations.rowid <= ?""",
            (above, upto),
        ).fetchall()
        for rowid, *row in found:
            passage, annotator, values, spans = row[:n]
            whole = row_checksum(*row[:n]) == row[n] and _is(dict, values) and _is(list, spans)
            if not whole or not _spans_are_in_text(json.loads(spans), row[n + 1 : -1], row[-1]):
                tally.add("annotation", f"{annotator} of p{passage}", rowid)


def _is(kind: type, text: str) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False


def _spans_are_in_text(spans: list[dict[str, Any]], values: list[Any], checksum: int | None) -> bool:
    """Whether spans are where they should be in a passage; true of a passage that is damaged or missing."""
    if checksum is None or row_checksum(*values) != checksum:
        return True
    passage = dict(zip(COVERED["passages"], values, strict=True))
    start, text = passage["start"], passage["text"]
    try:
        return all(
            start <= span["start"] <= span["end"] <= passage["end"]
            and text[span["start"] - start : span["end"] - start] == span["text"]
            for span in spans
        )
    except (KeyError, TypeError):  # no spans of this program
        return False
