"""Documents by a part of their name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import islice

from search.errors import IndexDamaged
from search.records.documents import NamedDocument
from search.store.checksums import covered, name_of
from search.store.folders import stays_inside
from search.store.passages import checked


def documents_named(
    connection: sqlite3.Connection, part: str, most: int, offset: int = 0
) -> list[NamedDocument]:
    """Documents that have all words of `part` in their name or title, in any case of letters, by name.

    Raises:
        IndexDamaged: the row of one of them is damaged.
    """
    rows = connection.execute(
        "SELECT documents.id, path, record, title FROM documents JOIN files ON files.id = file ORDER BY path, record"
    )
    names = ((id_, f"{name_of(path, record)} {title}") for id_, path, record, title in rows)
    found = list(islice((id_ for id_, name in names if is_named(name, part)), offset, offset + most))
    named = _documents(connection, found)
    return [named[id_] for id_ in found]


def is_named(name: str, part: str) -> bool:
    """Whether all words of `part` are in a name, in any case of letters."""
    return all(word in name.casefold() for word in part.casefold().split())


def _documents(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, NamedDocument]:
    """Those of the documents that are there, each checked against what was written.

    Raises:
        IndexDamaged: a row of a document or its file is damaged.
    """
    rows = connection.execute(
        f"""SELECT {covered("documents")}, documents.checksum, {covered("files")}, files.checksum
            FROM documents JOIN files ON files.id = file
            WHERE documents.id IN (SELECT value FROM json_each(?))""",
        (json.dumps(list(ids)),),
    )
    found = {}
    for row in rows:
        values = iter(row)
        document, file = checked("documents", values), checked("files", values)
        if not stays_inside(name_of(file["path"])):
            raise IndexDamaged(
                f"document {document['id']} is said to be '{name_of(file['path'])}', which is no file of the indexed "
                "folder. Mend it with: seewhy repair"
            )
        name = name_of(file["path"], document["record"])
        found[document["id"]] = NamedDocument(document["id"], name, document["title"])
    return found
