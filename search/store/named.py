"""Documents by a part of their name."""

from __future__ import annotations

import sqlite3
from itertools import islice

from search.records.documents import NamedDocument
from search.store.checksums import name_of


def documents_named(
    connection: sqlite3.Connection, part: str, most: int, offset: int = 0
) -> list[NamedDocument]:
    """Documents that have all words of `part` in their name or title, in any case of letters, by name."""
    rows = connection.execute(
        "SELECT documents.id, path, record, title FROM documents JOIN files ON files.id = file ORDER BY path, record"
    )
    documents = (NamedDocument(id_, name_of(path, record), title) for id_, path, record, title in rows)
    matching = (one for one in documents if is_named(f"{one.name} {one.title}", part))
    return list(islice(matching, offset, offset + most))


def is_named(name: str, part: str) -> bool:
    """Whether all words of `part` are in a name, in any case of letters."""
    return all(word in name.casefold() for word in part.casefold().split())
