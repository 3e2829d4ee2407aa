"""Writing: one batch of documents, one short transaction.

A file's documents may come in several batches. Until the last of them is committed the file is marked
'partial', so that a run that was killed goes on with it; documents that are already stored
with the same content are kept, not encoded again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from search.corpus import Skipped, SourceFile
from search.records.documents import Document, Passage
from search.store import lexicon
from search.store.checksums import COVERED, Value, content_key, row_checksum
from search.store.database import one_meta, put_meta
from search.store.stored_vectors import Ann

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass
class Work:
    """A file, and those of its documents that are to be stored in one batch.

    Attributes:
        records: every record that the file has, as far as it was read.
        last: nothing of this file follows.
        outcome: of the file, with its last piece: "added", "changed", "renamed", "unchanged", "skipped"
            when it gives no document and never did, or "same bytes" when only its time stamp is new.
        renamed_from: where the same content is stored under a path that is gone, that path.
    """

    file: SourceFile
    sha256: str
    documents: list[tuple[Document, list[Passage]]] = field(default_factory=list)
    records: set[int] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    last: bool = False
    outcome: str = ""
    renamed_from: str | None = None

    @property
    def n_passages(self) -> int:
        return sum(len(passages) for _, passages in self.documents)


def document_sha256(document: Document) -> str:
    """What tells whether a document's stored passages are still right."""
    parts = [document.kind, document.title, document.text, json.dumps(document.metadata, sort_keys=True)]
    if document.pages:
        parts.append(json.dumps(document.pages))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class Writer:
    """Changes to an index, each method one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        except BaseException:
            if self.connection.in_transaction:  # when a disk is full, SQLite has rolled back by itself
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def put_meta(self, **values: Any) -> None:
        with self.transaction() as connection:
            put_meta(connection, values)

    def read_again(self) -> None:
        """Take no file for unchanged; documents that turn out to be equal keep their embeddings."""
        with self.transaction() as connection:
            connection.execute("UPDATE files SET mtime_ns = -1, sha256 = NULL")

    def stored_embeddings(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Those of the contents that were encoded before, and their vectors."""
        found = {}
        for key in keys:
            row = self.connection.execute(
                "SELECT vector, checksum FROM embeddings WHERE content = ? LIMIT 1", (key,)
            ).fetchone()
            if row and zlib.crc32(row[0]) == row[1]:
                found[key] = row[0]
        return found

    def store(self, batch: Sequence[Work], vectors: dict[bytes, bytes]) -> None:
        """Put a batch of documents in place of what was stored for them.

        Args:
            vectors: content key -> the embedding as little-endian float32, for every passage in the batch.
        """
        with self.transaction() as connection:
            passages, last = one_meta(connection, "passages"), one_meta(connection, "last_passage")
            for work in batch:
                if work.renamed_from is not None:
                    _rename_file(connection, work.renamed_from, work.file.path)
                file = _put_file(connection, work)
                for document, cut in work.documents:
                    passages += len(cut) - _delete_documents(connection, file, [document.record])
                    _put_document(connection, file, document, cut, last, vectors)
                    last += len(cut)
                if work.last:
                    stored = connection.execute("SELECT record FROM documents WHERE file = ?", (file,))
                    gone = [row[0] for row in stored if row[0] not in work.records]
                    passages -= _delete_documents(connection, file, gone)
            put_meta(connection, {"passages": passages, "last_passage": last})
            lexicon.seal(connection)

    def touch(self, files: Iterable[SourceFile]) -> None:
        """The files' time stamps changed, their contents did not."""
        with self.transaction() as connection:
            connection.executemany(
                "UPDATE files SET size = ?, mtime_ns = ?, inode = ? WHERE path = ?",
                ((file.size, file.mtime_ns, file.inode, os.fsencode(file.path)) for file in files),
            )

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files and all that was made of them."""
        with self.transaction() as connection:
            passages = one_meta(connection, "passages")
            for path in paths:
                row = connection.execute(
                    "SELECT id FROM files WHERE path = ?", (os.fsencode(path),)
                ).fetchone()
                if row:
                    records = connection.execute(
                        "SELECT record FROM documents WHERE file = ?", row
                    ).fetchall()
                    passages -= _delete_documents(connection, row[0], [record for (record,) in records])
                    connection.execute("DELETE FROM files WHERE id = ?", row)
                connection.execute(
                    "DELETE FROM skipped WHERE path = ? AND stage = 'read'", (os.fsencode(path),)
                )
            put_meta(connection, {"passages": passages})
            lexicon.seal(connection)

    def finish(self, walked: Iterable[Skipped], **meta: Any) -> None:
        """The end of a run: what the walk left out, and what is now known of the index."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM skipped WHERE stage = 'walk'")
            connection.executemany(
                "INSERT OR REPLACE INTO skipped VALUES (?, 0, 'walk', ?, ?)",
                ((os.fsencode(skip.path), skip.reason, skip.detail) for skip in walked),
            )
            put_meta(connection, meta)

    def put_token_vectors(self, rows: Iterable[tuple[int, bytes, int]]) -> None:
        """Store token vectors: passage, vectors, checksum."""
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO token_vectors VALUES (?, ?, ?)", rows)

    def drop_token_vectors(self) -> None:
        """Delete all token vectors, if there are any."""
        if self.connection.execute("SELECT 1 FROM token_vectors LIMIT 1").fetchone():
            with self.transaction() as connection:
                connection.execute("DELETE FROM token_vectors")

    def renew_lexicon(self) -> bool:
        """Make the table of words anew where it cannot be trusted. Returns whether it was."""
        if lexicon.is_sealed(self.connection):
            return False
        with self.transaction() as connection:
            lexicon.rebuild(connection)
        return True

    def name_vectors(self, ann: Ann | None) -> None:
        """Point the index at a new FAISS file, or at none."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM ann")
            connection.execute("DELETE FROM tombstones")
            if ann:
                row = (ann.generation, ann.file, ann.size, ann.watermark, ann.count)
                connection.execute(
                    """INSERT INTO ann (id, generation, file, size, watermark, count, checksum)
                       VALUES (1, ?, ?, ?, ?, ?, ?)""",
                    (*row, row_checksum(*row)),
                )


def _rename_file(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Let a file keep its documents and passages, with their ids, under another path."""
    before, after = os.fsencode(old), os.fsencode(new)
    row = connection.execute("SELECT id FROM files WHERE path = ?", (before,)).fetchone()
    if row:
        connection.execute("DELETE FROM skipped WHERE path = ? AND stage = 'read'", (before,))
        connection.execute(
            "UPDATE files SET path = ?, checksum = ? WHERE id = ?",
            (after, row_checksum(row[0], after), row[0]),
        )


def _put_file(connection: sqlite3.Connection, work: Work) -> int:
    path = os.fsencode(work.file.path)
    status = "partial" if not work.last else "indexed" if work.records else "skipped"
    row = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    if row is None:
        row = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM files").fetchone()
    connection.execute(
        """INSERT INTO files (id, path, size, mtime_ns, inode, sha256, status, checksum)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns,
               inode = excluded.inode, sha256 = excluded.sha256, status = excluded.status""",
        (
            row[0],
            path,
            work.file.size,
            work.file.mtime_ns,
            work.file.inode,
            work.sha256,
            status,
            row_checksum(row[0], path),
        ),
    )
    if work.last:
        connection.execute("DELETE FROM skipped WHERE path = ? AND stage = 'read'", (path,))
        connection.executemany(
            "INSERT OR REPLACE INTO skipped VALUES (?, ?, 'read', ?, ?)",
            ((path, _record_of(skip, work.file), skip.reason, skip.detail) for skip in work.skipped),
        )
    return int(row[0])


def _record_of(skip: Skipped, file: SourceFile) -> int:
    """Which record of the file was left out; 0 for the file itself."""
    return 0 if skip.path == file.path else int(skip.path.rpartition("#")[2])


def _put_document(
    connection: sqlite3.Connection,
    file: int,
    document: Document,
    passages: Sequence[Passage],
    last: int,
    vectors: dict[bytes, bytes],
) -> None:
    """Store a document whose passages get the ids after `last`."""
    (id_,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()
    _insert(
        connection,
        "documents",
        id_,
        file,
        document.record,
        document.kind,
        document.title,
        json.dumps(document.metadata, ensure_ascii=False),
        document.encoding,
        document_sha256(document),
    )
    for number, passage in enumerate(passages, start=last + 1):
        _insert(
            connection,
            "passages",
            number,
            id_,
            passage.start,
            passage.end,
            passage.line_start,
            passage.line_end,
            passage.heading,
            passage.context,
            passage.text,
            passage.n_tokens,
            passage.page,
        )
        key = content_key(passage.context, passage.text)
        connection.execute(
            "INSERT INTO embeddings VALUES (?, ?, ?, ?)",
            (number, vectors[key], zlib.crc32(vectors[key]), key),
        )
        lexicon.add(connection, number, passage.context, passage.text)


def _insert(connection: sqlite3.Connection, table: str, *values: Value) -> None:
    """Insert a row, given its covered columns, with its checksum."""
    columns = ", ".join(f'"{column}"' for column in COVERED[table])
    marks = ", ".join("?" * (len(values) + 1))
    connection.execute(
        f"INSERT INTO {table} ({columns}, checksum) VALUES ({marks})", (*values, row_checksum(*values))
    )


def _delete_documents(connection: sqlite3.Connection, file: int, records: Sequence[int]) -> int:
    """Delete those documents of a file, by their records, that are there; returns how many passages they had."""
    passages = 0
    for record in records:
        row = connection.execute(
            "SELECT id FROM documents WHERE file = ? AND record = ?", (file, record)
        ).fetchone()
        if row is not None:
            passages += delete_document(connection, *row)
    return passages


def delete_document(connection: sqlite3.Connection, document: int) -> int:
    """Delete a document with all its passages, and note those that the FAISS file still holds.

    Returns:
        How many passages it had.
    """
    connection.execute(
        """INSERT INTO tombstones SELECT passages.id FROM passages, ann
           WHERE document = ? AND passages.id <= ann.watermark""",
        (document,),
    )
    lexicon.forget(connection, document)
    deleted = connection.execute("DELETE FROM passages WHERE document = ?", (document,)).rowcount
    connection.execute("DELETE FROM documents WHERE id = ?", (document,))
    return deleted


def as_blob(vector: NDArray[np.float32]) -> bytes:
    """An embedding as it is stored: little-endian float32."""
    return vector.astype("<f4", copy=False).tobytes()
