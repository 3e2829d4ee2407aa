"""Indexes that somebody changed to do harm: settings with right checksums, tables, links, blobs, numbers, sizes.

Whatever is asked of one, it is refused, or the answer is that of what it holds; in ten seconds and a gigabyte, with
nothing written or deleted beside it. The work is done in children of `tests.faults.mutate`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from search import Index, SearchError
from search.indexing.check import check
from search.indexing.repair import repair
from search.store.checksums import COVERED, row_checksum
from tests.faults import oracle

MOST_SECONDS, MOST_BYTES = 10.0, 1 << 30

_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
_SCHEMAS = [
    *([f"DROP TABLE {name}", f"CREATE VIEW {name} (passage) AS {_ENDLESS}"]
      for name in ("tombstones", "files", "skipped")),
    *([f"CREATE TRIGGER t AFTER {verb} ON {table} BEGIN DELETE FROM files WHERE id IN ({_ENDLESS}); END"]
      for verb in ("INSERT", "DELETE", "UPDATE") for table in ("meta", "files", "passages", "embeddings", "words")),
    ["ALTER TABLE files ADD COLUMN more TEXT AS (hex(zeroblob(1000000000)))"],
    ["CREATE INDEX more ON passages (upper(text))"], ["ANALYZE"], ["CREATE TABLE more (a)"],
    ["ALTER TABLE meta RENAME TO m", "CREATE VIEW meta AS SELECT * FROM m"],
    ["DROP TABLE meta", "CREATE VIRTUAL TABLE meta USING fts5 (key, value)"],
    ["DROP INDEX embeddings_content"], ["DROP TABLE segments"], ["DROP TABLE words"],
    ["PRAGMA writable_schema = 1", "UPDATE sqlite_master SET rootpage = 2 WHERE type = 'table' AND rootpage > 2"],
    ["PRAGMA user_version = 9"], ["PRAGMA journal_mode = WAL"],
]  # fmt: skip
_NUMBERS = (-1, 0, 1, 2, 7, 2**31, 2**62, -(2**63), 2**63 - 1)
_TEXTS = (
    "",
    "../../outside",
    "/etc/passwd",
    "\x1b[2J\x9b31m",
    "\u202e",
    "x" * 5000,
    "[" * 5000,
    "{}",
    "[]",
    "null",
    "NaN",
)
_VALUES: tuple[Any, ...] = (*_NUMBERS, *_TEXTS, None, True, 1.5, [], ["a"], {}, {"a": {}}, [[[]]] * 50)
_COLUMNS = [  # (table, column) of rows with a checksum, which is made right again
    (table, column) for table in ("files", "documents", "passages", "segments", "tombstones", "baseline")
    for column in COVERED[table] if column not in ("id", "text", "context")
]  # fmt: skip


def tampered(place: Path, rng: Random) -> tuple[str, Callable[[], tuple[str, str]]]:
    """Restore an index and tamper with it; how, and what then looks at it."""
    index, outside = place / "index", place / "outside"
    for old in (index, outside):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(place / "base", index)
    decoys(outside, index)
    how = rng.choice(
        (
            _setting,
            _setting,
            _fingerprint,
            _fingerprint,
            _tables,
            _row,
            _row,
            _row,
            _link,
            _blob,
            _size,
            _pages,
        )
    )
    what = how(index, outside, rng)
    return what, lambda: _looked_at(place)


def decoys(outside: Path, index: Path) -> None:
    """Files of the names that the program writes and deletes, where it must not."""
    for folder in (outside, outside / "ann", outside / "tmp"):
        folder.mkdir()
        for name in (
            "writer.json",
            "writer.lock",
            "g1-0123456789abcdef.faiss",
            "g1-0123456789abcdef.words",
            "index.db-journal",
            "private.txt",
        ):
            (folder / name).write_bytes(b"\0private")
        shutil.copyfile(index / "index.db", folder / "index.db")


def _looked_at(place: Path) -> tuple[str, str]:
    index, answer = place / "index", ""
    before = _tree(place)
    for name, ask in {
        "status": lambda: Index.open(index).status(),
        "query": lambda: _answered(index),
        "model": lambda: f"the model {Index.open(index).encoder.model} was loaded",
        "check": lambda: check(index),
        "repair": lambda: repair(index),
        "run": lambda: oracle.run(place / "folder", index),
        "repair of the folder": lambda: repair(index, folder=place / "folder", offline=True),
        "query at the end": lambda: _answered(index),
    }.items():
        started = time.monotonic()
        try:
            wrong, outcome = ask(), "right"
        except (SearchError, OSError):
            wrong, outcome = "", "refused"
        if name == "query":
            answer = outcome
        if isinstance(wrong, str) and wrong:
            return "wrong", f"{name}: {wrong}"
        if time.monotonic() - started > MOST_SECONDS:
            return "slow", f"{name} took {time.monotonic() - started:.0f} s"
        if _tree(place) != before:
            return "outside", f"{name} changed something outside of the index"
    return answer, ""


def _answered(index: Path) -> str:
    """How an answer differs from what the index holds; "" if it does not."""
    reader = oracle.opened(index)
    for query in oracle.QUERIES[:2]:
        reader.query(query, 3)
        reader.query(query, 1000)
        with contextlib.suppress(TypeError):  # where a page in the wrong place gives numbers for texts
            wrong = oracle.wrong_answer(reader, index, query, 1000)
            if wrong:
                return wrong
    return ""


def _tree(place: Path) -> dict[str, Any]:
    """Everything but the index itself, without following links."""
    found = {}
    for top in sorted(place.iterdir()):
        for path in (
            [top, *top.rglob("*")] if top.name not in ("index", "whole") and not top.is_symlink() else []
        ):
            seen = path.lstat()
            stamp = (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ino)
            found[str(path)] = stamp[:1] if path.is_dir() else stamp
    return found


def _sql(index: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    with closing(sqlite3.connect(index / "index.db", isolation_level=None)) as connection:
        for statement in statements:
            with contextlib.suppress(sqlite3.Error):  # what SQLite itself refuses is no attack
                connection.execute(statement, values)


def _meta(index: Path, key: str, value: Any) -> None:
    pair = (key, json.dumps(value))
    _sql(
        index,
        "REPLACE INTO meta (key, value, checksum) VALUES (?, ?, ?)",
        values=(*pair, row_checksum(*pair)),
    )


def _held(index: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(index / "index.db")) as connection:
        return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def _setting(index: Path, outside: Path, rng: Random) -> str:
    key, value = rng.choice(sorted(_held(index))), rng.choice((*_VALUES, str(outside), f"{outside}\0"))
    _meta(index, key, value)
    return f"setting {key} = {value!s:.40}"


def _fingerprint(index: Path, outside: Path, rng: Random) -> str:
    made = _held(index)["fingerprint"]
    key = rng.choice(sorted(made))
    value = rng.choice(
        (*_VALUES, str(outside), "../" * 12 + str(outside)[1:], "1000000000", "0" * 64, "32", "mean:9")
    )
    _meta(index, "fingerprint", made | {key: value})
    return f"fingerprint {key} = {value!s:.40}"


def _tables(index: Path, outside: Path, rng: Random) -> str:
    statements = rng.choice(_SCHEMAS)
    _sql(index, *statements)
    return statements[-1][:60]


def _row(index: Path, outside: Path, rng: Random) -> str:
    """A column of some rows, with the checksum that belongs to it."""
    table, column = rng.choice(_COLUMNS)
    value: Any = rng.choice((*_NUMBERS, *_TEXTS))
    if (table, column) in (("files", "path"), ("baseline", "pairs")):
        value = str(value).encode()
    columns = ", ".join(f'"{name}"' for name in COVERED[table])
    with closing(sqlite3.connect(index / "index.db", isolation_level=None)) as connection:
        rows = connection.execute(f"SELECT {columns} FROM {table} LIMIT {rng.choice((1, 1000))}").fetchall()
        for row in rows:
            changed = dict(zip(COVERED[table], row, strict=True)) | {column: value}
            with contextlib.suppress(sqlite3.Error, OverflowError):
                connection.execute(
                    f'UPDATE {table} SET "{column}" = ?, checksum = ? WHERE {COVERED[table][0]} = ?',
                    (value, row_checksum(*changed.values()), row[0]),
                )
    return f"{table}.{column} = {value!s:.40}"


def _link(index: Path, outside: Path, rng: Random) -> str:
    """A name of the index is a link, symbolic or hard, to a decoy."""
    name = rng.choice(("ann", "tmp", "index.db", "index.db-journal", "writer.json", "writer.lock"))
    target = outside / name if name in ("ann", "tmp") else outside / rng.choice((name, "private.txt"))
    if (index / name).is_dir():
        shutil.rmtree(index / name)
    (index / name).unlink(missing_ok=True)
    hard = not target.is_dir() and rng.random() < 0.5
    if hard:
        os.link(target, index / name)
    else:
        (index / name).symlink_to(target)
    return f"{name} is a {'hard link' if hard else 'link'} to {target.name}"


def _blob(index: Path, outside: Path, rng: Random) -> str:
    """Values that have no checksum of their row, and blocks of words that have one which is right."""
    columns = "words.block words.first words.last words.count embeddings.content tombstones.passage"
    table, _, column = rng.choice(columns.split()).partition(".")
    value: Any = rng.choice((b"", b"\xff" * 100, rng.randbytes(50), 2**40, 1, 0, -1))
    _sql(index, f'UPDATE OR IGNORE {table} SET "{column}" = ?', values=(value,))
    if isinstance(value, bytes) and table == "words":
        _sql(index, "UPDATE words SET checksum = ?", values=(zlib.crc32(value),))
    return f"{table}.{column} = {value!s:.40}"


def _size(index: Path, outside: Path, rng: Random) -> str:
    """Values of megabytes where some bytes are expected, and files that are mostly holes."""
    names = "meta.value skipped.detail documents.metadata baseline.hubs files.status passages.heading"
    table, _, column = rng.choice(names.split()).partition(".")
    n = rng.choice((2_000_000, 40_000_000))
    _sql(index, f"UPDATE {table} SET {column} = hex(zeroblob({n // 2})) WHERE rowid = 1",
         f"INSERT INTO skipped VALUES (x'61', 1, 'read', 'reason', hex(zeroblob({n // 2})))")  # fmt: skip
    if rng.random() < 0.2:
        with (index / "index.db").open("r+b") as stream:
            stream.truncate(3_000_000_000)
    return f"{table}.{column} of {n:,} bytes"


def _pages(index: Path, outside: Path, rng: Random) -> str:
    """Some pages are copies of others, so that trees share branches or go in circles."""
    data = bytearray((index / "index.db").read_bytes())
    size = int.from_bytes(data[16:18], "big")
    pages = [data[at : at + size] for at in range(0, len(data), size)]
    for _ in range(rng.choice((1, 3, 10))):
        pages[rng.randrange(1, len(pages))] = pages[rng.randrange(1, len(pages))]
    (index / "index.db").write_bytes(b"".join(pages))
    return "pages are copies of others"
