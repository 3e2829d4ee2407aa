"""Links between documents: which documents link to a document, and which it links to.

The field `links` of a document has names of other documents, as its text or front matter writes them: `Vegetable beds`,
`garden/Vegetable beds`. A name means each document whose path without its suffix is the name or ends with it, and each
document whose title or one of whose `aliases` is the name; letter case does not matter.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from search.store.conditions import folded
from search.store.settings import readable

_DOCUMENTS = "SELECT documents.id, path, title, metadata FROM documents JOIN files ON files.id = file"


def linked_documents(connection: sqlite3.Connection, documents: Collection[int]) -> set[int]:
    """Return the IDs of the documents that some documents link to, and of those that link to one of them."""
    names: dict[int, set[str]] = {}
    links: dict[int, set[str]] = {}
    for id_, path, title, metadata in connection.execute(_DOCUMENTS):
        with readable(f"the metadata of document {id_}"):
            fields = json.loads(metadata)
        names[id_] = set(_names(os.fsdecode(path), title, fields))
        links[id_] = set(map(_as_name, _texts(fields.get("links"))))
    own_names = set[str]().union(*(names[id_] for id_ in documents))
    own_links = set[str]().union(*(links[id_] for id_ in documents))
    return {
        id_
        for id_ in names
        if not own_links.isdisjoint(names[id_]) or not own_names.isdisjoint(links[id_])
    }


def _names(path: str, title: str, fields: dict[str, Any]) -> Iterator[str]:
    """Yield the names that links to a document may have."""
    parts = PurePosixPath(path).with_suffix("").parts
    for first in range(len(parts)):
        yield folded("/".join(parts[first:]))
    yield from map(folded, (title, *_texts(fields.get("aliases"))))


def _as_name(link: str) -> str:
    """Return the name in a link, without the suffix of a Markdown file."""
    return folded(link.removesuffix(".md"))


def _texts(values: Any) -> Iterable[str]:
    """Return the texts of a field, which may have one value or a list."""
    return [
        value for value in (values if isinstance(values, list) else [values]) if isinstance(value, str)
    ]
