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
from search.index.vectors import Ann
from search.records import Document, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass
class Work:
    """A file, and those of its documents that are to be stored in one batch.

    Attributes:
        records: every record that the file has, as far as it was read.
        last: nothing of this file follows.
        outcome: of the file, with its last piece: "added", "changed", "unchanged", or "same bytes" when
            only its time stamp is new.
    """

    file: SourceFile
    sha256: str
    documents: list[tuple[Document, list[Passage]]] = field(default_factory=list)
    records: set[int] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    last: bool = False
    outcome: str = ""

    @property
    def n_passages(self) -> int:
        return sum(len(passages) for _, passages in self.documents)


def document_sha256(document: Document) -> str:
    """What tells whether a document's stored passages are still right."""
    parts = [document.kind, document.title, document.text, json.dumps(document.metadata, sort_keys=True)]
    if document.pages:
        parts.append(json.dumps(document.pages))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def content_key(passage: Passage) -> bytes:
    """What tells whether two passages have the same embedding: sha256 of all that is encoded, 16 bytes."""
    return hashlib.sha256(f"{passage.context}\0{passage.text}".encode("utf-8", "surrogatepass")).digest()[:16]


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
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def put_meta(self, **values: Any) -> None:
        with self.transaction() as connection:
            _put_meta(connection, values)

    def number_passages_after(self, last: int) -> None:
        """Give the first passage the id `last` + 1, so that no id is ever used twice."""
        with self.transaction() as connection:
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('passages', ?)", (last,))

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
            for work in batch:
                file = _put_file(connection, work)
                for document, passages in work.documents:
                    _delete_documents(connection, file, [document.record])
                    _put_document(connection, file, document, passages, vectors)
                if work.last:
                    stored = connection.execute("SELECT record FROM documents WHERE file = ?", (file,))
                    _delete_documents(
                        connection, file, [row[0] for row in stored if row[0] not in work.records]
                    )

    def touch(self, file: SourceFile) -> None:
        """The file's time stamp changed, its content did not."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE files SET size = ?, mtime_ns = ?, inode = ? WHERE path = ?",
                (file.size, file.mtime_ns, file.inode, os.fsencode(file.path)),
            )

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files and all that was made of them."""
        with self.transaction() as connection:
            for path in paths:
                row = connection.execute(
                    "SELECT id FROM files WHERE path = ?", (os.fsencode(path),)
                ).fetchone()
                if row:
                    records = connection.execute(
                        "SELECT record FROM documents WHERE file = ?", row
                    ).fetchall()
                    _delete_documents(connection, row[0], [record for (record,) in records])
                    connection.execute("DELETE FROM files WHERE id = ?", row)
                connection.execute(
                    "DELETE FROM skipped WHERE path = ? AND stage = 'read'", (os.fsencode(path),)
                )

    def finish(self, walked: Iterable[Skipped], **meta: Any) -> None:
        """The end of a run: what the walk left out, and what is now known of the index."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM skipped WHERE stage = 'walk'")
            connection.executemany(
                "INSERT OR REPLACE INTO skipped VALUES (?, 0, 'walk', ?, ?)",
                ((os.fsencode(skip.path), skip.reason, skip.detail) for skip in walked),
            )
            _put_meta(connection, meta)

    def name_vectors(self, ann: Ann | None) -> None:
        """Point the index at a new FAISS file, or at none."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM ann")
            if ann:
                connection.execute(
                    "INSERT INTO ann VALUES (1, ?, ?, ?, ?, ?, ?)",
                    (ann.generation, ann.file, ann.sha256, ann.watermark, ann.count, ann.deleted),
                )


def _put_meta(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        ((key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()),
    )


def _put_file(connection: sqlite3.Connection, work: Work) -> int:
    path = os.fsencode(work.file.path)
    status = "partial" if not work.last else "indexed" if work.records else "skipped"
    row = connection.execute(
        """INSERT INTO files (path, size, mtime_ns, inode, sha256, status) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns,
               inode = excluded.inode, sha256 = excluded.sha256, status = excluded.status
           RETURNING id""",
        (path, work.file.size, work.file.mtime_ns, work.file.inode, work.sha256, status),
    ).fetchone()
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
    vectors: dict[bytes, bytes],
) -> None:
    row = connection.execute(
        """INSERT INTO documents (file, record, kind, title, metadata, encoding, sha256)
           VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (
            file,
            document.record,
            document.kind,
            document.title,
            json.dumps(document.metadata, ensure_ascii=False),
            document.encoding,
            document_sha256(document),
        ),
    ).lastrowid
    for passage in passages:
        id_ = connection.execute(
            """INSERT INTO passages
               (document, start, "end", line_start, line_end, heading, context, text, n_tokens, page)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                row,
                passage.start,
                passage.end,
                passage.line_start,
                passage.line_end,
                passage.heading,
                passage.context,
                passage.text,
                passage.n_tokens,
                passage.page,
            ),
        ).lastrowid
        key = content_key(passage)
        connection.execute(
            "INSERT INTO embeddings VALUES (?, ?, ?, ?)", (id_, vectors[key], zlib.crc32(vectors[key]), key)
        )


def _delete_documents(connection: sqlite3.Connection, file: int, records: Sequence[int]) -> None:
    """Delete documents with all their passages, counting those that the FAISS file still holds."""
    for record in records:
        row = connection.execute(
            "SELECT id FROM documents WHERE file = ? AND record = ?", (file, record)
        ).fetchone()
        if row is None:
            continue
        connection.execute(
            """UPDATE ann SET deleted = deleted
               + (SELECT count(*) FROM passages WHERE document = ? AND id <= ann.watermark)""",
            row,
        )
        connection.execute("DELETE FROM documents WHERE id = ?", row)


def as_blob(vector: NDArray[np.float32]) -> bytes:
    """An embedding as it is stored: little-endian float32."""
    return vector.astype("<f4", copy=False).tobytes()
