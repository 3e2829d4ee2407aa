"""Links between documents: which documents link to a document, and which it links to.

The field `links` of a document has names of other documents, as its text or front matter writes them: `Vegetable beds`,
`garden/Vegetable beds`. A name means each document whose path, with or without its suffix, is the name or ends with it,
and each document whose title or one of whose `aliases` is the name. A name that begins with a slash, `/garden/beds.md`,
is the path of one file. Letter case does not matter.
"""

from __future__ import annotations

import json
import os
import posixpath
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from search.store.conditions import folded
from search.store.settings import readable

_DOCUMENTS = "SELECT documents.id, path, title, metadata FROM documents JOIN files ON files.id = file"


@dataclass(frozen=True, eq=False)
class LinkTable:
    """Names of all documents of an index, and the links in them.

    Attributes:
        names: document ID -> the names that links to it may have.
        links: document ID -> the names in its links.
    """

    names: dict[int, frozenset[str]]
    links: dict[int, frozenset[str]]

    def linked(self, documents: Collection[int]) -> set[int]:
        """Return the IDs of the documents that some documents link to, and of those that link to one of them."""
        own_names = frozenset[str]().union(*(self.names[id_] for id_ in documents))
        own_links = frozenset[str]().union(*(self.links[id_] for id_ in documents))
        return {
            id_
            for id_, names in self.names.items()
            if not own_links.isdisjoint(names) or not own_names.isdisjoint(self.links[id_])
        }


def read_links(connection: sqlite3.Connection, are_files: bool) -> LinkTable:
    """Read the names and links of all documents.

    Args:
        are_files: documents are files, whose names may stand without their suffixes; else they are from memory.
    """
    names: dict[int, frozenset[str]] = {}
    links: dict[int, frozenset[str]] = {}
    for id_, path, title, metadata in connection.execute(_DOCUMENTS):
        with readable(f"the metadata of document {id_}"):
            fields = json.loads(metadata)
        names[id_] = frozenset(_names(os.fsdecode(path), title, fields, are_files))
        links[id_] = frozenset(map(folded, _texts(fields.get("links"))))
    return LinkTable(names, links)


def _names(path: str, title: str, fields: dict[str, Any], is_file: bool) -> Iterator[str]:
    """Yield the names that links to a document may have."""
    for name in {path, posixpath.splitext(path)[0]} if is_file else {path}:
        yield folded(f"/{name}")
        parts = name.split("/")
        yield from (folded("/".join(parts[first:])) for first in range(len(parts)) if parts[first])
    yield from map(folded, filter(None, (title, *_texts(fields.get("aliases")))))


def _texts(values: Any) -> list[str]:
    """Return the texts of a field, which may have one value or a list."""
    return [
        value for value in (values if isinstance(values, list) else [values]) if isinstance(value, str)
    ]
