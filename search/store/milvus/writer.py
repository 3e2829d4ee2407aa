"""Write an index whose passages are on a Milvus server.

The rows of a batch are written to the server before the local transaction. If a run is killed in between, the server
has rows with IDs above the highest local ID; the next run deletes them first. Rows of changed or deleted documents are
noted in table `gone`, and deleted from the server after the transaction.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from search.errors import InputError
from search.store.database import STREAMED, one_meta
from search.store.milvus.client import Address, Client
from search.store.milvus.collections import ABOUT, Server, activate, create, rows_of, terms_of
from search.store.status import status_of
from search.store.terms import Stemmer
from search.store.writer import FileUpdate, Writer

if TYPE_CHECKING:
    from pathlib import Path

    from search.corpus import Skipped

# ID ranges in an expression, IDs in a range; they fit into one answer.
_RANGES, _LONGEST_RANGE = 100, 100


class MilvusWriter(Writer):
    """Writer of an index whose passages are on a server; each method is one transaction of the local database."""

    streams = True

    def __init__(
        self, connection: sqlite3.Connection, index: Path, server: Server, dimension: int
    ) -> None:
        """
        Args:
            index: folder with the part of the index that is on this machine.

        Raises:
            InputError: the address belongs to another index.
            StoreUnavailable: the server does not respond.
        """
        super().__init__(connection)
        self._index, self._server = index, server
        self._client, self._stemmer = Client(Address.parse(server.address)), Stemmer()
        for name, columns in STREAMED.items():
            connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) STRICT")
        self.note(server=asdict(server))
        target = self._client.target(self._client.address.name)
        if server.answers and target != server.collection:
            raise InputError(
                f"{server.address} was deleted or replaced by another index. To upload again, add: --rebuild"
            )
        create(self._client, server, dimension)
        last = one_meta(connection, "last_passage")
        self._client.call("delete", server.collection, filter=f"passage > {last}")
        self._delete_gone()

    def store(
        self, batch: Sequence[FileUpdate], vectors: Mapping[bytes, bytes], *, unread: int | None = None
    ) -> None:
        with self.transaction() as connection:
            last = one_meta(connection, "last_passage")
            (number,) = connection.execute("SELECT coalesce(max(id), 0) FROM documents").fetchone()
            rows, sent, newest = list[dict[str, Any]](), list[tuple[int, ...]](), number
            for update in batch:
                for document, cut in update.documents:
                    newest += 1
                    document_rows = rows_of(
                        self._stemmer, update, document, cut, vectors, newest, last + 1
                    )
                    words = sum(row["stems"].count(" ") + bool(row["stems"]) for row in document_rows)
                    tokens = sum(passage.n_tokens for passage in cut)
                    sent.append((newest, last + 1, last + len(cut), words, tokens))
                    rows += document_rows
                    last += len(cut)
            self._client.put(self._server.collection, rows)
            bare = [
                replace(update, documents=[(doc, []) for doc, _ in update.documents]) for update in batch
            ]
            self.store_documents(connection, bare, {})
            connection.execute("UPDATE documents SET title = '', metadata = '{}' WHERE id > ?", (number,))
            connection.executemany("INSERT INTO sent VALUES (?, ?, ?, ?, ?)", sent)
            self._count((row["stems"] for row in rows), 1)
            passages = one_meta(connection, "passages") + len(rows)
            self.put(passages=passages, last_passage=last)
        self._delete_gone()

    def remove(self, paths: Iterable[str]) -> None:
        super().remove(paths)
        self._delete_gone()

    def counts(self) -> tuple[int, int, int]:
        select = "SELECT count(*), coalesce(sum(tokens), 0) FROM sent"
        documents, tokens = self.connection.execute(select).fetchone()
        return documents, one_meta(self.connection, "passages"), tokens

    def finish(self, walked: Iterable[Skipped], **meta: Any) -> None:
        """End a run like `Writer.finish`; store the facts on the server, and activate the collection if needed."""
        super().finish(walked, **meta)
        terms = terms_of(self._server.collection)
        select = "SELECT stem, passages FROM stems WHERE changed LIMIT 5000"
        while changed := self.connection.execute(select).fetchall():
            self._client.put(terms, [_term(stem, count) for stem, count in changed])
            with self.transaction(same_answers=True) as connection:
                done = [(stem,) for stem, _ in changed]
                connection.executemany("UPDATE stems SET changed = 0 WHERE stem = ?", done)
        self._client.put(terms, [_term(ABOUT, 0, json.dumps(self._facts()))])
        if not self._server.answers:
            activate(self._client, self._server.collection)
            self._server = replace(self._server, answers=True)
            self.note(server=asdict(self._server))

    def _facts(self) -> dict[str, Any]:
        """Return the facts about the index that readers need."""
        documents, passages, tokens = self.counts()
        (words,) = self.connection.execute("SELECT coalesce(sum(words), 0) FROM sent").fetchone()
        status = replace(
            status_of(self.connection, self._index), index=self._server.address, documents=documents,
            passages=passages, tokens=tokens, bytes=0, running=False, vectors=f"on the server, {self._server.kind}",
        )  # fmt: skip
        return {
            "status": asdict(status),
            "source": one_meta(self.connection, "source"),
            "words": words,
            "generation": time.time_ns() // 1_000_000,
        }

    def _delete_document(self, document: int) -> int:
        """Note the passages of a document as deleted."""
        first, last = self.connection.execute(
            'SELECT "first", "last" FROM sent WHERE document = ?', (document,)
        ).fetchone()
        starts = range(first, last + 1, _LONGEST_RANGE)
        ranges = [(start, min(last, start + _LONGEST_RANGE - 1)) for start in starts]
        self.connection.executemany("INSERT INTO gone VALUES (?, ?, 0)", ranges)
        self.delete("sent", "document = ?", document)
        self.delete("documents", "id = ?", document)
        return int(last - first + 1)

    def _delete_gone(self) -> None:
        """Subtract the stems of deleted passages from the counts, then delete their rows on the server."""
        collection = self._server.collection
        for counted, statement in ((0, "UPDATE gone SET counted = 1"), (1, "DELETE FROM gone")):
            select = 'SELECT "first", "last" FROM gone WHERE counted = ? LIMIT ?'
            while ranges := self.connection.execute(select, (counted, _RANGES)).fetchall():
                rows = [] if counted else self._client.query(collection, _within(ranges), ("stems",))
                if counted:
                    self._client.call("delete", collection, filter=_within(ranges))
                with self.transaction(same_answers=True) as connection:
                    self._count((row["stems"] for row in rows), -1)
                    firsts = [(first,) for first, _ in ranges]
                    connection.executemany(f'{statement} WHERE "first" = ?', firsts)

    def _count(self, stems: Iterable[str], step: int) -> None:
        """Add `step` to each stem's count, once per text with the stem, within an open transaction."""
        counts = Counter(stem for text in stems for stem in set(text.split()))
        self.connection.executemany(
            "INSERT INTO stems VALUES (?, ?, 1) ON CONFLICT (stem) DO UPDATE"
            " SET passages = passages + excluded.passages, changed = 1",
            [(stem, step * count) for stem, count in counts.items()],
        )


def _term(key: str, count: int, facts: str = "") -> dict[str, Any]:
    return {"key": key, "count": count, "facts": facts, "nothing": [0.0, 0.0]}


def _within(ranges: Iterable[tuple[int, int]]) -> str:
    """Return the expression for passages whose IDs are in one of the ranges."""
    return " or ".join(f"(passage >= {first} and passage <= {last})" for first, last in ranges)
