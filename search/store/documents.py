"""A document as it is stored: all its passages, in their order."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from search.errors import IdMissing
from search.records.contents import StoredPassage
from search.store.passages import stored_passages
from search.store.protocol import StoredDocument


def stored_document(connection: sqlite3.Connection, id_: int) -> StoredDocument:
    """A document by its number, within a transaction.

    Raises:
        IdMissing: there is none of that number.
        IndexDamaged: a row of it is damaged.
    """
    one = "(SELECT value FROM json_each(?))"  # any whole number
    rows = connection.execute(
        f"SELECT id FROM passages WHERE document IN {one}", (json.dumps([int(id_)]),)
    ).fetchall()
    return document_of(id_, stored_passages(connection, [row[0] for row in rows]).values())


def document_of(id_: int, found: Iterable[StoredPassage]) -> StoredDocument:
    """A document by its number, given all its passages.

    Raises:
        IdMissing: there are none.
    """
    passages = tuple(sorted(found, key=lambda one: (one.start, one.end, one.passage_id)))
    if not passages:
        raise IdMissing(
            f"the index has no document {id_}. Documents get new numbers when they change; query again."
        )
    one = passages[0]
    return StoredDocument(id_, one.document, one.path, one.title, one.metadata, one.file, passages)
