"""Write documents in batches, each in one short transaction.

A file's documents may come in several batches. Until the last one is committed the file is marked 'partial', so that a
killed run resumes with it; documents that are already stored with the same content are kept, not encoded again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.corpus import Skipped, SourceFile
from search.corpus.boilerplate import message_key, near_key, text_key
from search.languages import ENGLISH
from search.records.documents import ParsedDocument, Passage
from search.records.reports import Outcome
from search.store.analyzer import Analyzer, create_analyzed
from search.store.database import (
    CONTENTS,
    SCHEMA_VERSION,
    TABLES,
    all_meta,
    connect_to_write,
    has_table,
    has_tables,
    one_meta,
    require_format,
    translated,
)
from search.store.document_languages import create_languages
from search.store.passages import content_key
from search.store.pending import PENDING, pending_among, some_pending
from search.store.record_counts import create_records
from search.store.segments import add
from search.store.status import counts
from search.store.tables import Tables
from search.store.vectors import vector_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OF_PASSAGE = ("start", "end", "line_start", "line_end", "heading", "context", "text", "n_tokens", "page")

_PUT_FILE = """INSERT INTO files (path, name, size, mtime_ns, inode, sha256, status) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns, inode = excluded.inode,
        sha256 = excluded.sha256, status = excluded.status
    RETURNING id"""


@dataclass
class FileUpdate:
    """Documents of one file to store with a batch, and the new state of the file.

    Attributes:
        records: all records of the file that were read so far.
        last: True if no more documents of this file follow.
        outcome: None until the last batch of the file.
        renamed_from: earlier path of the same content, if that file is gone.
        content: `content` of a document from memory; "" for a file.
    """

    file: SourceFile
    sha256: str
    documents: list[tuple[ParsedDocument, list[Passage]]] = field(default_factory=list)
    records: set[int] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    last: bool = False
    outcome: Outcome | None = None
    renamed_from: str | None = None
    content: str = ""

    @property
    def n_passages(self) -> int:
        return sum(len(passages) for _, passages in self.documents)


_ROWS = ("csv", "jsonl", "text")  # kinds with passages that differ in a number only


def document_sha256(document: ParsedDocument) -> str:
    """Return the SHA-256 of everything that the passages of a document depend on."""
    values = [document.kind, document.title, document.text, json.dumps(document.metadata, sort_keys=True)]
    if document.pages:
        values.append(json.dumps(document.pages))
    if document.language not in ("", ENGLISH):
        values.append(document.language)
    return hashlib.sha256("\0".join(values).encode("utf-8", "surrogatepass")).hexdigest()


class Writer(Tables):
    """Writer of an index; each method is one transaction.

    Attributes:
        streams: True if passages are sent to a server and not kept on this machine.
        analyzer: analyser of a program, for documents from memory; None for none.
    """

    streams = False
    analyzer: Analyzer | None = None

    def read_again(self) -> None:
        """Mark all files as changed, to read them again; equal documents keep their embeddings.

        Uses one statement: row by row with sqlite-utils, 20,000 files take 3.4 s instead of 0.01 s.
        """
        with self.transaction() as connection:
            connection.execute("UPDATE files SET mtime_ns = -1, sha256 = NULL")

    def create_contents(self) -> None:
        """Create the table of documents from memory, within an open transaction."""
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS contents ({CONTENTS}) STRICT")

    def hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the SHA-256 of each file that the index contains, by path; other paths are left out."""
        select = "SELECT sha256 FROM files WHERE path = ?"
        rows = ((path, self.connection.execute(select, (os.fsencode(path),))) for path in paths)
        return {path: state[0] for path, row in rows if (state := row.fetchone())}

    def large_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a transaction that writes nothing before the commit, so that readers need not wait."""
        self.connection.execute("PRAGMA cache_spill = 0")
        return self.transaction()

    def has_embeddings(self) -> bool:
        """Return True if a passage is encoded."""
        return self.connection.execute("SELECT 1 FROM embeddings LIMIT 1").fetchone() is not None

    def stored_embeddings(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return content key -> stored embedding, for the contents that were encoded before."""
        pairs = ((key, vector_of(self.connection, key)) for key in keys)
        return {key: vector for key, vector in pairs if vector is not None}

    def store(
        self, batch: Sequence[FileUpdate], vectors: Mapping[bytes, bytes], *, unread: int | None = None
    ) -> None:
        """Store a batch of documents, replacing earlier versions.

        Args:
            vectors: content key -> embedding as little-endian float32. Passages without one are *pending*: they are
                found by their words, and `put_embeddings` completes them.
            unread: number of files that the run has not read yet; None if it encodes what it reads.
        """
        with self.transaction() as connection:
            self.store_documents(connection, batch, vectors)
            if unread is not None:
                self.put(unread=unread)

    def store_documents(
        self, connection: sqlite3.Connection, batch: Sequence[FileUpdate], vectors: Mapping[bytes, bytes]
    ) -> None:
        """Store a batch of documents as `store` does, within an open transaction."""
        passages, last = one_meta(connection, "passages"), one_meta(connection, "last_passage")
        (document_id,) = connection.execute("SELECT coalesce(max(id), 0) FROM documents").fetchone()
        tables = ("documents", "languages", "records", "passages", "analyzed", "embeddings", "pending")
        rows: dict[str, list[dict[str, Any]]] = {table: [] for table in tables}
        # (ID, context, text, language, tokens of the analyser) for the postings
        added: list[tuple[int, str, str, str, str]] = []
        for update in batch:
            if update.renamed_from is not None:
                self._rename_file(update.renamed_from, update.file.path)
            file = self._put_file(update)
            for document, cut in update.documents:
                document_id += 1
                passages += len(cut) - self._delete_documents(file, [document.record])
                rows["documents"].append(_document_row(document_id, file, document))
                if document.language:
                    rows["languages"].append({"document": document_id, "lang": document.language})
                if document.records:
                    rows["records"].append({"document": document_id, "count": document.records})
                for passage in cut:
                    last += 1
                    visible_text = passage.visible_text  # read once: it is put together at each access
                    row = _passage_row(last, document_id, passage, visible_text)
                    row["near_key"] = _near_key(file, document, f"{passage.context} {visible_text}")
                    rows["passages"].append(row)
                    if vector := vectors.get(row["content"]):
                        rows["embeddings"].append({"passage": last, "vector": vector})
                    else:
                        rows["pending"].append({"passage": last})
                    tokens = ""
                    if self.analyzer:
                        tokens = self.analyzer.tokens_of(f"{passage.context}\n{visible_text}")
                        rows["analyzed"].append({"passage": last, "tokens": tokens})
                    added.append((last, passage.context, visible_text, document.language, tokens))
            if update.last:
                stored = self.column("documents", "record", "file = ?", file)
                gone = [record for record in stored if record not in update.records]
                passages -= self._delete_documents(file, gone)
        if rows["languages"]:
            create_languages(connection)
        if rows["records"]:
            create_records(connection)
        if rows["analyzed"]:
            create_analyzed(connection)
        if rows["pending"]:
            connection.execute(f"CREATE TABLE IF NOT EXISTS pending ({PENDING}) STRICT")
        for table, rows_of_table in rows.items():
            self.insert(table, rows_of_table)
        self.put(passages=passages, last_passage=last)
        add(self, added)

    def put_embeddings(
        self, passages: Sequence[int], vectors: Sequence[bytes], *, on_demand: bool = False
    ) -> None:
        """Store the embeddings of pending passages, in their order; a passage that is pending no longer is left out.

        Args:
            on_demand: a question needed them. The generation stays, as it would otherwise change while the question is
                answered; snapshots know the new state by a number of its own.
        """
        with self.transaction(same_answers=on_demand) as connection:
            pending = pending_among(connection, passages)
            encoded = {
                passage: vector
                for passage, vector in zip(passages, vectors, strict=True)
                if passage in pending
            }
            self.insert(
                "embeddings", ({"passage": key, "vector": vector} for key, vector in encoded.items())
            )
            if encoded:
                keys = json.dumps([*encoded])
                self.delete("pending", "passage IN (SELECT value FROM json_each(?))", keys)
                if not some_pending(connection):
                    connection.execute("DROP TABLE pending")
            if on_demand and encoded:
                self.put(on_demand=one_meta(connection, "on_demand", 0) + len(encoded))

    def counts(self) -> tuple[int, int, int]:
        """Count documents, passages and tokens in the index."""
        return counts(self.connection)

    def touch(self, files: Iterable[SourceFile]) -> None:
        """Update the time stamps of unchanged files; this affects only filters by time."""
        rows = [(file.size, file.mtime_ns, file.inode, os.fsencode(file.path)) for file in files]
        select = "SELECT 1 FROM files WHERE path = ? AND mtime_ns >= 0 AND mtime_ns != ?"
        moved = any(self.connection.execute(select, (path, at)).fetchone() for _, at, _, path in rows)
        with self.transaction(same_answers=not moved) as connection:
            connection.executemany(
                "UPDATE files SET size = ?, mtime_ns = ?, inode = ? WHERE path = ?", rows
            )

    def remove(self, paths: Iterable[str]) -> None:
        """Delete files from the index, with everything derived from them."""
        with self.transaction() as connection:
            passages = one_meta(connection, "passages")
            for path in map(os.fsencode, paths):
                for file in self.column("files", "id", "path = ?", path):
                    records = self.column("documents", "record", "file = ?", file)
                    passages -= self._delete_documents(file, records)
                    self.delete("files", "id = ?", file)
                self.delete("skipped", "path = ? AND stage = 'read'", path)
            self.put(passages=passages)

    def finish(self, walked: Iterable[Skipped], **meta: Any) -> None:
        """End the first phase of a run: all files are read.

        Args:
            walked: the files that the walk of the folder skipped; they replace those of the last run.
            meta: key-value pairs for table `meta`.
        """
        with self.transaction(same_answers=True):
            self.delete("skipped", "stage = 'walk'")
            self._put_skipped("walk", ((os.fsencode(skip.path), 0, skip) for skip in walked))
            self.delete("meta", "key = 'unread'")
            self.put(**meta)

    def complete(self, **meta: Any) -> None:
        """End a run; if nothing is pending, nothing is left in the index of passages that were.

        Args:
            meta: key-value pairs for table `meta`.
        """
        with self.transaction(same_answers=True) as connection:
            if has_table(connection, "pending") and not some_pending(
                connection
            ):  # the last ones were deleted
                connection.execute("DROP TABLE pending")
            if not has_table(connection, "pending"):
                self.delete("meta", "key IN ('lazy', 'on_demand')")
            self.put(complete=True, **meta)

    def put_token_vectors(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Store token vectors, given as (passage ID, packed vectors)."""
        columns = ("passage", "vectors")
        with self.transaction():
            self.insert(
                "token_vectors", (dict(zip(columns, row, strict=True)) for row in rows), replace=True
            )

    def drop_token_vectors(self) -> None:
        """Delete all token vectors."""
        if self.connection.execute("SELECT 1 FROM token_vectors LIMIT 1").fetchone():
            with self.transaction():
                self.delete("token_vectors", "1")

    def _rename_file(self, old: str, new: str) -> None:
        """Change the path of a file; its documents and passages keep their ids."""
        before, after = os.fsencode(old), os.fsencode(new)
        for file in self.column("files", "id", "path = ?", before):
            self.delete("skipped", "path = ? AND stage = 'read'", before)
            self.database.table("files").update(file, {"path": after, "name": _legible(after)})

    def _put_file(self, update: FileUpdate) -> int:
        """Store the state of a file; return the file's ID. A document from memory counts as a file, too."""
        path, file, execute = os.fsencode(update.file.path), update.file, self.connection.execute
        status = "partial" if not update.last else "indexed" if update.records else "skipped"
        row = (path, _legible(path), file.size, file.mtime_ns, file.inode, update.sha256, status)
        [(id_,)] = execute(_PUT_FILE, row).fetchall()
        if update.content:
            execute("INSERT OR REPLACE INTO contents VALUES (?, ?)", (id_, update.content))
        if update.last:
            execute("DELETE FROM skipped WHERE path = ? AND stage = 'read'", (path,))
            self._put_skipped("read", ((path, _record_of(skip, file), skip) for skip in update.skipped))
        return int(id_)

    def _put_skipped(self, stage: str, skipped: Iterable[tuple[bytes, int, Skipped]]) -> None:
        insert = (
            "INSERT OR REPLACE INTO skipped (path, record, stage, reason, detail) VALUES (?, ?, ?, ?, ?)"
        )
        rows = ((path, record, stage, skip.reason, skip.detail) for path, record, skip in skipped)
        self.connection.executemany(insert, rows)

    def _delete_documents(self, file: int, records: Sequence[int]) -> int:
        """Delete records of a file, if they exist; return the number of deleted passages."""
        where = "file = ? AND record = ?"
        return sum(
            self._delete_document(document)
            for record in records
            for document in self.column("documents", "id", where, file, record)
        )

    def _delete_document(self, document: int) -> int:
        """Delete a document with its passages; record the passage IDs, whose postings and codes are removed later.

        Returns:
            Number of its passages.
        """
        ids = self.column("passages", "id", "document = ?", document)
        self.insert("tombstones", ({"passage": id_} for id_ in ids))
        self.delete("passages", "document = ?", document)
        self.delete("documents", "id = ?", document)
        return len(ids)


def _legible(path: bytes) -> str:
    """Return a path as text; bytes that are not UTF-8 become codes such as "\\xff"."""
    return path.decode("utf-8", "backslashreplace")


def _record_of(skip: Skipped, file: SourceFile) -> int:
    """Return the number of the skipped record; 0 if the file itself was skipped."""
    return 0 if skip.path == file.path else int(skip.path.rpartition("#")[2])


def _document_row(id_: int, file: int, document: ParsedDocument) -> dict[str, Any]:
    return {
        "id": id_,
        "file": file,
        "record": document.record,
        "kind": document.kind,
        "title": document.title,
        "metadata": json.dumps(document.metadata, ensure_ascii=False),
        "sha256": document_sha256(document),
    }


def _passage_row(id_: int, document: int, passage: Passage, visible_text: str) -> dict[str, Any]:
    columns = {column: getattr(passage, column) for column in _OF_PASSAGE}
    return {
        "id": id_,
        "document": document,
        **columns,
        "hidden": json.dumps(passage.hidden, separators=(",", ":")),
        "content": content_key(passage.context, visible_text, passage.vector),
        "text_key": text_key(visible_text),
    }


def _near_key(file: int, document: ParsedDocument, text: str) -> int:
    if document.kind == "mail":
        return message_key(json.dumps(document.metadata, sort_keys=True), text)
    return near_key(file, text) if document.kind in _ROWS else 0


def as_blob(vector: NDArray[np.float32]) -> bytes:
    """Serialise an embedding: little-endian float32."""
    return vector.astype("<f4", copy=False).tobytes()


def create(connection: sqlite3.Connection) -> Writer:
    """Create the tables of a new index, in one transaction."""
    writer = Writer(connection)
    with writer.transaction(same_answers=True):
        for statement in TABLES:
            connection.execute(statement)
        writer.put(schema_version=SCHEMA_VERSION, passages=0, last_passage=0)
    return writer


@contextmanager
def writing(database: Path) -> Iterator[Writer]:
    """Open a writer of an index; create the tables if there are none. The caller must hold the lock.

    Raises:
        IndexOutdated, IndexDamaged: the index has another format.
    """
    with closing(connect_to_write(database)) as connection, translated(database):
        if has_tables(connection):
            require_format(all_meta(connection), database)
            yield Writer(connection)
        else:
            yield create(connection)
