"""What the rows of index.db say of passages, their documents and files; all within a transaction.

*Annotations* are what models have said of passages, so that filters can ask for it. An annotator is a name, what made
its annotations, and the fields that they have. It has at most one annotation for each passage; a passage without one
has not been looked at yet, as after an update. Annotations go when their passage goes. annotating.py writes them.

*Copies* are texts that stand in many documents. Every embedding has the key of its passage's text beside it
(`search.corpus.boilerplate.text_key`), which two passages share if they have the same words. What stands in two or
three documents is no boilerplate: it may be what somebody looks for, twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from search.errors import IdMissing, IndexDamaged
from search.records.contents import StoredFile, StoredPassage
from search.records.documents import Annotation, Annotator, Mention, NamedDocument
from search.records.shown import Spans
from search.store.database import all_meta, one_meta
from search.store.places import Place, resolve_place
from search.store.settings import Facts

FEWEST_DOCUMENTS = 5  # that a copied text stands in

# Of `made_with` of an annotator: said to people, not compared.
COMMAND = "command"
CALLED = "called"  # the name of what made them, which may be a folder that was moved
NOT_COMPARED = (COMMAND, CALLED)

# A stored path that leads out of the indexed folder, or is none.
_OUTSIDE = re.compile(r"^/|^$|\0|(^|/)\.\.(/|$)" + (r"|\\|^.:" if os.name == "nt" else ""))

_PASSAGE = ("id", "context", "heading", "text", "start", "end", "line_start", "line_end", "page")
_COLUMNS = ("passage_id", *_PASSAGE[1:])
_STORED = f"""SELECT {", ".join(f'passages."{column}"' for column in _PASSAGE)}, hidden, documents.id, record, title,
                     metadata, kind, path, size, mtime_ns, inode, files.sha256
              FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
              WHERE passages.id IN (SELECT value FROM json_each(?))"""


def name_of(path: bytes, record: int | None = 0) -> str:
    """`path` or `path#record` of a document, given its path as it is stored."""
    return os.fsdecode(path) + (f"#{record}" if record else "")


def content_key(context: str, text: str) -> bytes:
    """What tells whether two passages have the same embedding: sha256 of all that is encoded, 16 bytes."""
    return hashlib.sha256(f"{context}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


def hidden_of(stored: str) -> Spans:
    """The spans of a passage's text that are markup, as its row holds them."""
    return tuple(map(tuple, json.loads(stored)))


@dataclass(frozen=True)
class StoredDocument:
    """A document as it lies in the index, with its passages, at least one, in their order."""

    id: int
    name: str
    path: str
    title: str
    metadata: Mapping[str, Any]
    file: StoredFile
    passages: tuple[StoredPassage, ...]


@dataclass(frozen=True)
class Copied:
    """A text that stands in `documents` documents, by a number that all passages with it share."""

    text: int
    documents: int


class Rows:
    """The rows of index.db, as one transaction sees them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @cached_property
    def facts(self) -> Facts:
        """What the index says of itself."""
        return Facts.of(all_meta(self.connection))

    def stored(self, passages: Iterable[int]) -> dict[int, StoredPassage]:
        """Those of the passages that are there, by id.

        Raises:
            IndexDamaged: a path leads out of the indexed folder.
        """
        ids = json.dumps(list(passages))
        root, annotated = str(self.facts.root), dict[int, dict[str, Any]]()
        for id_, _, values, _ in self._annotations(ids):  # no two annotators have a field in common
            annotated.setdefault(id_, {}).update(json.loads(values))
        by_id = {}
        for row in self.connection.execute(_STORED, (ids,)):
            hidden, document, record, title, metadata, kind, path, *file = row[len(_PASSAGE) :]
            name = os.fsdecode(path)
            if _OUTSIDE.search(name):
                raise IndexDamaged(
                    f"passage {row[0]} names '{name}', which is outside of the indexed folder."
                )
            by_id[row[0]] = StoredPassage(
                **dict(zip(_COLUMNS, row, strict=False)),
                path=os.path.join(root, *name.split("/")),  # noqa: PTH118 (quicker than Path)
                document=f"{name}#{record}" if record else name,
                document_id=document,
                title=title,
                metadata=json.loads(metadata),
                file=StoredFile(kind, *file),
                hidden=tuple(map(tuple, json.loads(hidden))),
                annotations=annotated.get(row[0], {}),
            )
        return by_id

    def passage(self, id_: int) -> StoredPassage:
        """
        Raises:
            IdMissing: there is no passage of that id.
        """
        stored = self.stored([id_])
        if id_ not in stored:
            raise IdMissing(
                f"the index has no passage {id_}. Passages get new ids when their document changes; query again."
            )
        return stored[id_]

    def documents(self, passages: Iterable[int]) -> dict[int, int]:
        """Passage id -> a number of its document, of those of the passages that are there."""
        rows = "SELECT id, document FROM passages WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self.connection.execute(rows, (json.dumps(list(passages)),)).fetchall())

    def siblings(self, passages: Iterable[int]) -> dict[int, int]:
        """As `documents`, of all passages of the same documents, by increasing ids."""
        rows = self.connection.execute(
            """SELECT id, document FROM passages WHERE document IN (
                   SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?)))
               ORDER BY id""",
            (json.dumps(list(passages)),),
        )
        return dict(rows.fetchall())

    def document(self, id_: int) -> StoredDocument:
        """
        Raises:
            IdMissing: there is no document of that number.
        """
        ids = "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))"  # any whole number
        rows = self.connection.execute(ids, (json.dumps([int(id_)]),)).fetchall()
        return document_of(id_, self.stored([row[0] for row in rows]).values())

    def documents_named(self, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
        """Documents with all words of `part` in their name or title, in any case of letters, by name."""
        rows = self.connection.execute(
            "SELECT documents.id, path, record, title FROM documents JOIN files ON files.id = file "
            "ORDER BY path, record"
        )
        words = part.casefold().split()
        named = (NamedDocument(id_, name_of(path, record), title) for id_, path, record, title in rows)
        matches = (
            doc for doc in named if all(word in f"{doc.name} {doc.title}".casefold() for word in words)
        )
        return list(islice(matches, offset, offset + most))

    def copies(self, passages: Iterable[int]) -> dict[int, Copied]:
        """Those of the passages whose text stands in many documents."""
        rows = self.connection.execute(
            """WITH mine AS (
                   SELECT passage, text_key FROM embeddings
                   WHERE passage IN (SELECT value FROM json_each(?)) AND text_key != 0),
               copied AS (
                   SELECT text_key, count(DISTINCT document) AS documents
                   FROM (SELECT DISTINCT text_key FROM mine) JOIN embeddings USING (text_key)
                        JOIN passages ON passages.id = embeddings.passage
                   GROUP BY text_key HAVING documents >= ?)
               SELECT passage, text_key, documents FROM mine JOIN copied USING (text_key)""",
            (json.dumps(list(passages)), FEWEST_DOCUMENTS),
        )
        return {passage: Copied(key, documents) for passage, key, documents in rows}

    def place(self, path: str | Path) -> Place:
        """What a path means, with the ids of its passages; see `search.store.places.resolve_place`."""

        def rows(place: Place) -> list[tuple[int, int, int]]:
            return self.connection.execute(
                """SELECT passages.id, line_start, line_end
                   FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
                   WHERE path = ? AND (? IS NULL OR record = ?) ORDER BY passages.id""",
                (os.fsencode(place.name or ""), place.record, place.record),
            ).fetchall()

        return resolve_place(self.facts.root, path, rows)

    def annotators(self) -> list[Annotator]:
        """Those that the index has, by name."""
        rows = self.connection.execute(
            """SELECT name, made_with, fields, (SELECT count(*) FROM annotations WHERE annotator = name)
               FROM annotators ORDER BY name"""
        ).fetchall()
        total = int(one_meta(self.connection, "passages")) if rows else 0
        return [
            Annotator(name, json.loads(made_with), tuple(json.loads(fields)), done, total)
            for name, made_with, fields, done in rows
        ]

    def annotations(self, passages: Iterable[int]) -> dict[int, list[Annotation]]:
        """What annotators say of those of the passages that they have said something of, by the annotators' names."""
        by_passage: dict[int, list[Annotation]] = {}
        for passage, _, values, spans in self._annotations(json.dumps(list(passages))):
            by_passage.setdefault(passage, []).append(_annotation(passage, values, spans))
        return by_passage

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        """All that one annotator says, by increasing ids of passages."""
        rows = 'SELECT passage, "values", spans FROM annotations WHERE annotator = ? ORDER BY passage'
        return (_annotation(*row) for row in self.connection.execute(rows, (annotator,)))

    def _annotations(self, passages: str) -> Iterable[tuple[int, str, str, str]]:
        """Annotations by passage and annotator; without annotators one look at an empty table."""
        if self.connection.execute("SELECT 1 FROM annotators LIMIT 1").fetchone() is None:
            return ()
        return self.connection.execute(
            """SELECT passage, annotator, "values", spans FROM annotations
               WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage, annotator""",
            (passages,),
        )

    def lacking(self, annotator: str) -> list[int]:
        """The ids of the passages that an annotator has not looked at, increasing."""
        rows = self.connection.execute(
            """SELECT id FROM passages LEFT JOIN annotations ON passage = id AND annotator = ?
               WHERE passage IS NULL ORDER BY id""",
            (annotator,),
        )
        return [row[0] for row in rows]


def document_of(id_: int, stored: Iterable[StoredPassage]) -> StoredDocument:
    """A document by its number, given all its passages.

    Raises:
        IdMissing: there are none.
    """
    passages = tuple(sorted(stored, key=lambda passage: (passage.start, passage.end, passage.passage_id)))
    if not passages:
        raise IdMissing(
            f"the index has no document {id_}. Documents get new numbers when they change; query again."
        )
    first = passages[0]
    return StoredDocument(
        id_, first.document, first.path, first.title, first.metadata, first.file, passages
    )


def _annotation(passage: int, values: str, spans: str) -> Annotation:
    return Annotation(passage, json.loads(values), tuple(Mention(**span) for span in json.loads(spans)))
