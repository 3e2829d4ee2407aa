"""What is wrong with an index: every row of index.db is looked at, and what is derived of the rows (derived.py).

Each table is read in pieces of some thousand rows, each piece in a read transaction of its own: with a rollback journal
a writer's commit waits for readers, so one long transaction would hold up a run that is under way. What is compared
between tables is compared within one piece or one short statement, so a commit in between is never taken for damage.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from search.corpus.boilerplate import text_key
from search.encoding.fingerprint import Fingerprint
from search.encoding.tokenizer import with_context
from search.errors import IndexDamaged, ModelError, SearchError
from search.records.reports import Finding, Progress, Severity
from search.records.shown import shown
from search.store import derived
from search.store.checksums import COVERED, content_key, covered, hidden_of, name_of, row_checksum
from search.store.database import (
    SCHEMA_VERSION,
    connect_to_read,
    counted,
    format_of,
    has_meta,
    has_tables,
    keys_of_meta,
    one_meta,
)
from search.store.derived import snapshot
from search.store.files import DATABASE, permitted
from search.store.folders import stays_inside
from search.store.schema import strange
from search.store.settings import Source

ROWS_AT_ONCE = 2048
_EXAMPLES = 5
_LONGEST_NAME = 5000  # characters; no path is longer
_LENGTH_TOLERANCE = 1e-3  # of an embedding, whose length is 1; float32 arithmetic comes within 1e-6
_GIVEN = ("schema_version", "root", "fingerprint", "source")  # settings that nothing else tells
_COUNTED = ("complete", "passages", "last_passage")


@dataclass(frozen=True)
class Check:
    """One thing that is looked at, and so one kind of what can be wrong.

    Attributes:
        sound, wrong: a sentence for either case.
        way_out: "repair", "index" (bring it up to date), or "rebuild".
    """

    sound: str
    wrong: str
    severity: Severity = "damaged"
    way_out: str = "repair"


# In the order in which they are made and reported.
CHECKS = {
    "database": Check(
        "SQLite finds no fault in index.db, and it tells what the index is of",
        "index.db is not to be relied on", way_out="rebuild",
    ),
    "settings": Check(
        "what is counted is right; no id will be used twice", "what is counted is damaged"
    ),
    "documents": Check(
        "all documents, passages and embeddings are as they were written",
        "documents are not as they were written",
    ),
    "words": Check(
        "the words of the passages are as they were written",
        "the words of the passages are damaged; without them only --mode dense answers",
    ),
    "vectors": Check(
        "the FAISS files hold what index.db holds",
        "a FAISS file is damaged or missing; queries are exact without it, only slower",
    ),
    "token vectors": Check(
        "all token vectors are as they were written", "token vectors are damaged; they are not used"
    ),
    "annotations": Check("all annotations are as they were written", "annotations are damaged"),
    "baseline": Check(
        "the sample of random pairs is as it was written",
        "the sample of random pairs is damaged; without it hits have no percentiles",
    ),
    "leftovers": Check("no file lies about", "files of a run that was stopped lie about", "stale"),
    "run": Check("no run was stopped before its end", "the last run was stopped before its end", "stale", "index"),
    "sources": Check(
        "the files of the folder are those that were indexed",
        "the files of the folder are not those that were indexed", "stale", "index",
    ),
    "sample": Check(
        "passages of a sample, encoded again, have the embeddings that are stored",
        "stored embeddings are not what the model makes of their passages; any other may be wrong, too",
        way_out="rebuild",
    ),
}  # fmt: skip


class Examination:
    """One pass over an index, and what it found.

    Attributes:
        meta: the settings that can be relied on.
        counts: check -> how often something is wrong; `names`, the first few.
        made: the checks that could be made.
        rows: table -> ids of its damaged rows; an embedding has that of its passage.
        adrift: it cannot be told which files the damaged rows belong to.
        totals: how many rows the large tables have.
    """

    def __init__(
        self, index: Path, progress: Callable[[Progress], None] | None = None, *, verify: bool = False
    ) -> None:
        """
        Args:
            verify: compare what is derived with what it is derived of, not only with what was written.
        """
        self.index, self._verify = index, verify
        self.meta: dict[str, Any] = {}
        self.counts: Counter[str] = Counter()
        self.names: dict[str, list[str]] = defaultdict(list)
        self.made: list[str] = []
        self.rows: dict[str, set[int]] = defaultdict(set)
        self.adrift = False
        self.totals = dict.fromkeys(("files", "documents", "passages"), 0)
        self._dimension = self._done = self._passages = 0
        self._progress = progress

    def run(self) -> Examination:
        """Look at everything but the files of the folder."""
        try:
            connection = lenient(connect_to_read(self.index / DATABASE, any_tables=True))
        except IndexDamaged as error:
            self.add("database", f"SQLite cannot read it: {error.__cause__ or error}")
            return self
        with closing(connection), permitted(self.index):
            for check, look in {
                "database": lambda: self._database(connection),
                "settings": lambda: self._settings(connection),
                "documents": lambda: self._documents(connection),
                "words": lambda: derived.of_words(connection, self.index, anew=self._verify),
                "vectors": lambda: derived.vectors(
                    connection, self.index, self._dimension, anew=self._verify
                ),
                "token vectors": lambda: self._token_vectors(connection),
                "annotations": lambda: self._annotations(connection),
                "baseline": lambda: derived.baseline(connection),
                "leftovers": lambda: derived.lying_about(connection, self.index),
                "run": lambda: derived.unfinished(connection, self.index),
            }.items():
                self.look(check, look)
                if check in ("database", "settings") and self.counts.keys() & {"database", "run"}:
                    break
        return self

    def look(self, check: str, look: Callable[[], Iterator[str]]) -> None:
        """Make one check, which yields the names of what is wrong, unless SQLite gives up on a part of the database.

        Raises:
            ModelError: the model cannot be loaded, which says nothing of the index.
        """
        try:
            for name in look():
                self.add(check, name)
        except ModelError:
            raise
        except (sqlite3.DatabaseError, SearchError, ValueError, TypeError, KeyError, OverflowError) as error:
            self.add("database", str(error) if check == "database" else f"{check}: {error}")
        else:
            self.made.append(check)

    def add(self, check: str, name: str) -> None:
        """Count something that is wrong; its name is kept while there are few."""
        self.counts[check] += 1
        if len(self.names[check]) < _EXAMPLES:
            self.names[check].append(name[:_LONGEST_NAME])

    def findings(self, ways_out: dict[str, str]) -> Iterator[Finding]:
        """One for each check that was made, in the order of CHECKS; `ways_out` has the command of each `way_out`."""
        for name, check in CHECKS.items():
            if count := self.counts[name]:
                command, names = ways_out[check.way_out], tuple(self.names[name])
                yield Finding(name, check.severity, count, check.wrong, names, command)
            elif name in self.made:
                yield Finding(name, "ok", 0, check.sound)

    def _database(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Whether SQLite can read all of it, and its tables are those that this program makes."""
        with snapshot(connection):
            yield from _strange(connection)
            if self.counts["database"]:
                return
            for (message,) in connection.execute("PRAGMA integrity_check(20)"):
                for line in message.splitlines():
                    if line != "ok" and not line.startswith("***"):  # which is a headline
                        yield line
            if self.counts["database"]:
                return
            if not has_tables(connection):
                if (self.index / DATABASE).stat().st_size or any(self.index.glob("ann/g*")):
                    yield "it is empty, though there was an index"
                else:
                    self.add("run", "nothing is stored yet")
            elif _is_bare(connection):
                self.add("run", "nothing is stored yet")

    def _settings(self, connection: sqlite3.Connection) -> Iterator[str]:
        with snapshot(connection):
            for key in dict.fromkeys([*_GIVEN, *_COUNTED, *keys_of_meta(connection)]):
                try:
                    self.meta[key] = one_meta(connection, key)
                except IndexDamaged:
                    if key not in _GIVEN:
                        yield key
            passages, highest = counted(connection)
            for table in self.totals:
                (self.totals[table],) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        for key in _GIVEN:
            if key not in self.meta:
                self.add("database", f"its setting '{key}' cannot be read")
        if passages != self.meta.get("passages", passages):
            self.add("database", f"{passages:,} passages are there, {self.meta['passages']:,} should be")
        if self.meta.get("last_passage", highest) < highest:
            yield f"the next passage would be p{self.meta['last_passage'] + 1}, and there was a p{highest}"
        if not self.counts["database"]:
            self._dimension = int(Fingerprint.from_dict(self.meta["fingerprint"]).dimension)
            Source.from_dict(self.meta["source"])

    def _documents(self, connection: sqlite3.Connection) -> Iterator[str]:
        """All rows of files, documents, passages and embeddings, and all that belong to no other row."""
        with snapshot(connection):
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
        for table, row, *_ in orphans:
            check = {"annotations": table, "token_vectors": "token vectors"}.get(table, "documents")
            self.adrift |= check == "documents"
            self.rows[f"orphaned {table}"].add(row)
            self.add(check, f"row {row} of {table} belongs to nothing")
        for look in (self._file_rows, self._document_rows, self._passage_rows):
            for table, id_, name in look(connection):
                self.adrift |= table != "embeddings"
                self.rows[table].add(id_)
                yield name

    def _file_rows(self, connection: sqlite3.Connection) -> Iterator[tuple[str, int, str]]:
        for above, upto in pieces(connection, "files", tick=self._tick):
            rows = connection.execute(
                """SELECT id, path, checksum, status, EXISTS (SELECT 1 FROM documents WHERE file = files.id)
                   FROM files WHERE id > ? AND id <= ?""",
                (above, upto),
            )
            for id_, path, checksum, status, has_documents in rows:
                name = name_of(path)
                if row_checksum(id_, path) != checksum or not stays_inside(name):
                    yield "files", id_, f"{name} (its row)"
                elif status == "indexed" and not has_documents:
                    yield "empty files", id_, f"{name} (has no document)"

    def _document_rows(self, connection: sqlite3.Connection) -> Iterator[tuple[str, int, str]]:
        for above, upto in pieces(connection, "documents", tick=self._tick):
            rows = connection.execute(
                f"""SELECT {covered("documents")}, documents.checksum, path
                    FROM documents LEFT JOIN files ON files.id = file
                    WHERE documents.id > ? AND documents.id <= ?""",
                (above, upto),
            )
            for *values, checksum, path in rows:
                row = dict(zip(COVERED["documents"], values, strict=True))
                sound = row_checksum(*values) == checksum and row["record"] >= 0
                if not (sound and _is(dict, row["metadata"])):
                    yield "documents", row["id"], f"{_name(path, row['record'])} (its row)"

    def _passage_rows(self, connection: sqlite3.Connection) -> Iterator[tuple[str, int, str]]:
        """Every passage and its embedding."""
        for above, upto in pieces(connection, "passages", tick=self._tick_passages):
            rows = connection.execute(
                f"""SELECT {covered("passages")}, passages.checksum, vector, embeddings.checksum, content,
                           text_key, path, record
                    FROM passages LEFT JOIN embeddings ON passage = passages.id
                    LEFT JOIN documents ON documents.id = document LEFT JOIN files ON files.id = file
                    WHERE passages.id > ? AND passages.id <= ?""",
                (above, upto),
            )
            for *values, checksum, vector, vector_checksum, content, kept, path, record in rows:
                passage = dict(zip(COVERED["passages"], values, strict=True))
                name = f"p{passage['id']} of {_name(path, record)}"
                if row_checksum(*values) != checksum or not _spans_its_text(passage):
                    yield "passages", passage["id"], f"{name} (its row)"
                elif vector is None:
                    yield "embeddings", passage["id"], f"{name} (has no embedding)"
                elif (
                    zlib.crc32(vector) != vector_checksum
                    or not _is_unit(vector, self._dimension)
                    or content != content_key(passage["context"], _shown(passage))
                    or kept != text_key(_shown(passage))
                ):
                    yield "embeddings", passage["id"], f"{name} (its embedding)"

    def _token_vectors(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Every row against its checksum, and what the passage's row says of its tokens."""
        with snapshot(connection):
            rows = connection.execute(
                """SELECT passage, vectors, token_vectors.checksum, n_tokens
                   FROM token_vectors JOIN passages ON id = passage"""
            )
            for id_, blob, checksum, n_tokens in rows:
                n, rest = divmod(len(blob), 4 + self._dimension)
                if zlib.crc32(blob) != checksum or rest or n > n_tokens:
                    self.rows["token_vectors"].add(id_)
                    yield f"p{id_}"
                self._tick(1)

    def _annotations(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Every annotator and every annotation. Those that belong to nothing are found with the documents."""
        for table in ("annotators", "annotations"):
            for above, upto in pieces(connection, table, "rowid", self._tick):
                rows = connection.execute(
                    f"SELECT rowid, {covered(table)}, checksum FROM {table} WHERE rowid > ? AND rowid <= ?",
                    (above, upto),
                )
                for id_, *values, checksum in rows:
                    if id_ in self.rows[f"orphaned {table}"]:
                        continue
                    sound = row_checksum(*values) == checksum
                    if not (sound and _is(dict, values[-2]) and _is(list, values[-1])):
                        self.rows[table].add(id_)
                        of = f" of p{values[0]}" if table == "annotations" else ""
                        yield f"{values[-3]}{of}"

    def _tick(self, rows: int) -> None:
        self._done += rows
        if self._progress:
            total = max(sum(self.totals.values()), self._done)
            self._progress(Progress("checking", self._done, total, passages=self._passages))

    def _tick_passages(self, rows: int) -> None:
        self._passages += rows
        self._tick(rows)


def sample(connection: sqlite3.Connection, most: int) -> list[tuple[str, str, bytes]]:
    """(name, text that is encoded, embedding) of passages all over an index, the same ones for the same index."""
    with snapshot(connection):
        first, last = connection.execute("SELECT min(passage), max(passage) FROM embeddings").fetchone()
        ids = range(first, last + 1) if first else range(0)
        starts = Random(0).sample(ids, min(most, len(ids)))
        found = {}
        for start in starts:
            id_, context, text, hidden, vector, path, record = connection.execute(
                """SELECT passages.id, context, text, hidden, vector, path, record FROM embeddings
                   JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
                   JOIN files ON files.id = file WHERE passage >= ? ORDER BY passage LIMIT 1""",
                (start,),
            ).fetchone()
            read = shown(text, hidden_of(hidden, text))
            found[id_] = (f"p{id_} of {_name(path, record)}", with_context(context, read), vector)
    return list(found.values())


def lenient(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Let a connection hand out text that is no valid UTF-8, so that it can be named as damaged."""
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def pieces(
    connection: sqlite3.Connection, table: str, key: str = "id", tick: Callable[[int], None] | None = None
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


def _strange(connection: sqlite3.Connection) -> Iterator[str]:
    """What the tables have that this program does not make."""
    names = strange(connection)
    if names and not has_meta(connection):
        yield "it is a database, but not of this program"
        return
    if (names or has_tables(connection)) and (version := format_of(connection)) not in (
        None,
        str(SCHEMA_VERSION),
    ):
        yield f"it has format {version}, and this version of seewhy reads {SCHEMA_VERSION}"
        return
    yield from (f"the {name} is not as it should be" for name in names)


def _is_bare(connection: sqlite3.Connection) -> bool:
    """Whether an index was begun and never filled."""
    named = connection.execute("SELECT 1 FROM meta WHERE key IN ('root', 'fingerprint')").fetchone()
    return not named and connection.execute("SELECT 1 FROM files").fetchone() is None


def _name(path: bytes | None, record: int | None) -> str:
    """`path` or `path#record` of a document."""
    return name_of(path or b"a file that is missing", record)


def _is(kind: type, text: str) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False


def _spans_its_text(passage: dict[str, Any]) -> bool:
    return bool(
        0 <= passage["start"] < passage["end"]
        and passage["end"] - passage["start"] == len(passage["text"])
        and 1 <= passage["line_start"] <= passage["line_end"]
        and passage["n_tokens"] > 0
        and (passage["page"] is None or passage["page"] > 0)
        and _hides_sense(passage)
    )


def _hides_sense(passage: dict[str, Any]) -> bool:
    try:
        return bool(_shown(passage).strip())
    except IndexDamaged:
        return False


def _shown(passage: dict[str, Any]) -> str:
    return shown(passage["text"], hidden_of(passage["hidden"], passage["text"]))


def _is_unit(blob: bytes, dimension: int) -> bool:
    """Whether a blob is an embedding of length 1; NaN and infinity are not."""
    if len(blob) != 4 * dimension:
        return False
    with np.errstate(all="ignore"):
        length = np.linalg.norm(np.frombuffer(blob, dtype="<f4").astype(np.float64))
    return bool(abs(length - 1) < _LENGTH_TOLERANCE)
