"""Read rows of index.db: passages, their documents and files. All methods run within a read transaction.

*Annotations* are values that models assign to passages, for filters. An annotator is a name, its settings, and the
fields of its annotations. It has at most one annotation per passage; a passage without one has not been annotated yet,
for example after an update. Annotations are deleted with their passage. annotating.py writes them.

*Copies* are passages with the same content, of three kinds: five or more passages of one file that
differ only in numbers, such as rows of a table; five or more passages with the same text; two or more
passages from the same e-mail in several files. Copies have equal keys, which are computed from their
words (`search.corpus.boilerplate`) and stored with their embeddings. Any other text that occurs fewer
than five times has no copies, because a user may want every occurrence.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.errors import IdMissing, IndexDamaged
from search.records.contents import StoredFile, StoredPassage
from search.records.documents import Annotation, Annotator, Mention, NamedDocument, Passage
from search.records.memory_document import Document
from search.records.visible_text import Spans, visible
from search.store.database import all_meta, one_meta
from search.store.places import ResolvedPath, resolve_path
from search.store.settings import UNREADABLE, IndexMeta, readable, unreadable

_COPIES = """WITH requested AS (SELECT id AS passage, {0} FROM passages
                 WHERE id IN (SELECT value FROM json_each(?)) AND {0} {1} 0),
             copied AS (SELECT {0}, count(*) AS passages FROM passages
                 WHERE {0} IN (SELECT {0} FROM requested) GROUP BY {0} HAVING passages >= ?)
             SELECT passage, {0}, passages FROM requested JOIN copied USING ({0})"""
# Each with the fewest passages with an equal key; a passage belongs to the first that applies.
_KINDS_OF_COPIES = (("near_key", ">", 5), ("text_key", "!=", 5), ("near_key", "<", 2))

# Keys of an annotator's `made_with` that are displayed, but not compared.
COMMAND = "command"
CALLED = "called"  # the name of the model, which may be a folder that was moved
NOT_COMPARED = (COMMAND, CALLED)

# A stored path that leads out of the indexed folder, or is invalid.
_OUTSIDE = re.compile(r"^/|^$|\0|(^|/)\.\.(/|$)" + (r"|\\|^.:" if os.name == "nt" else ""))

_PASSAGE = ("id", "context", "heading", "text", "start", "end", "line_start", "line_end", "page")
_COLUMNS = ("passage_id", *_PASSAGE[1:])
_STORED = f"""SELECT {", ".join(f'passages."{column}"' for column in _PASSAGE)}, n_tokens = 0, hidden, documents.id,
                     record, title, metadata, kind, path, size, mtime_ns, inode, files.sha256
              FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
              WHERE passages.id IN (SELECT value FROM json_each(?))"""


_LONGEST_NUMBER = 19  # digits; SQLite has 64 bits


def name_of(path: bytes, record: int | None = 0) -> str:
    """Return the name of a document: `path`, or `path#record` for a record of a file."""
    return os.fsdecode(path) + (f"#{record}" if record else "")


def rows_of_view(
    connection: sqlite3.Connection, columns: str, passages: NDArray[np.int64]
) -> list[tuple[Any, ...]]:
    """Return columns of the view `passages_in_files` for existing passages with increasing IDs, in their order."""
    select = f"""SELECT {columns} FROM passages_in_files
                 WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage"""
    return connection.execute(select, (json.dumps(passages.tolist()),)).fetchall()


def content_key(context: str, text: str, vector: bytes = b"") -> bytes:
    """Return the key of a text with its context: 16 bytes of SHA-256. Equal keys share an embedding.

    Args:
        vector: its embedding, if a program gave it. Other passages with the text do not share it.
    """
    content = f"{context}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content + (b"\0" + vector if vector else b"")).digest()[:16]


def passage_key(passage: Passage) -> bytes:
    """Return the `content_key` of a passage."""
    return content_key(passage.context, passage.visible_text, passage.vector)


def hidden_of(stored: str) -> Spans:
    """Decode the markup spans of a passage's text from its row; raise IndexDamaged if they cannot be read."""
    with readable("the markup of a passage"):
        return tuple((index(start), index(end)) for start, end in json.loads(stored))


def metadata_of(stored: str) -> dict[str, Any]:
    """Decode the metadata of a document.

    Raises:
        TypeError, ValueError: they are not a JSON object.
    """
    if not isinstance(metadata := json.loads(stored), dict):
        raise TypeError("the metadata are no object")
    return metadata


@dataclass(frozen=True)
class StoredDocument:
    """A stored document with its passages, in order; there is at least one."""

    id: int
    name: str
    path: str
    title: str
    metadata: Mapping[str, Any]
    file: StoredFile
    passages: tuple[StoredPassage, ...]


@dataclass(frozen=True)
class Copied:
    """A text that occurs in several passages.

    Attributes:
        text: number that identifies the text; the same for all its copies.
        passages: number of passages with the text.
    """

    text: int
    passages: int


@dataclass(frozen=True)
class PassageText:
    """Text of a passage, for an encoder.

    Attributes:
        context, text: the headings, and the text without markup.
        content: `content_key` of both.
        n_tokens: number of their tokens.
        place: its lines and its document, for a message.
    """

    id: int
    context: str
    text: str
    content: bytes
    n_tokens: int
    place: str

    @property
    def encoded(self) -> str:
        """Input of the encoder, as for `search.records.documents.Passage`."""
        return f"{self.context}\n{self.text}" if self.context else self.text


def passage_texts(connection: sqlite3.Connection, passages: Iterable[int]) -> list[PassageText]:
    """Return the texts of passages, in their order; passages that do not exist are left out."""
    ids = list(passages)
    rows = connection.execute(
        """SELECT passages.id, context, text, hidden, content, n_tokens, line_start, line_end, path, record
           FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
           WHERE passages.id IN (SELECT value FROM json_each(?))""",
        (json.dumps(ids),),
    )
    texts = {
        id_: PassageText(
            id_,
            context,
            visible(text, hidden_of(hidden)),
            content,
            n_tokens,
            f"the passage in lines {first} to {last} of '{name_of(path, record)}'",
        )
        for id_, context, text, hidden, content, n_tokens, first, last, path, record in rows
    }
    return [texts[id_] for id_ in ids if id_ in texts]


class SnapshotReader:
    """Reads passages, documents and annotations of index.db in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @cached_property
    def facts(self) -> IndexMeta:
        """Facts that the index stores about itself."""
        return IndexMeta.of(all_meta(self.connection))

    def stored(self, passages: Iterable[int]) -> dict[int, StoredPassage]:
        """Return passage ID -> passage; IDs that do not exist are left out.

        Raises:
            IndexDamaged: a path leads out of the indexed folder.
        """
        ids = json.dumps(list(passages))
        memory = self.facts.folders.memory
        root, annotated = str(self.facts.root), dict[int, dict[str, Any]]()
        for id_, _, values, _ in self._annotations(ids):  # no two annotators have a field in common
            with readable(f"the annotations of passage {id_}"):
                annotated.setdefault(id_, {}).update(json.loads(values))
        by_id = {}
        for row in self.connection.execute(_STORED, (ids,)):
            is_own, hidden, document, record, title, metadata, kind, path, *file = row[len(_PASSAGE) :]
            name = os.fsdecode(path)
            if not memory and _OUTSIDE.search(name):
                raise IndexDamaged(
                    f"the file '{name}' of passage {row[0]} is outside the indexed folder."
                )
            document_name = f"{name}#{record}" if record else name
            try:
                by_id[row[0]] = StoredPassage(
                    **dict(zip(_COLUMNS, row, strict=False)),
                    path="" if memory else os.path.join(root, *name.split("/")),  # noqa: PTH118 (quicker)
                    document=document_name,
                    document_id=document,
                    title=title,
                    metadata=metadata_of(metadata),
                    file=StoredFile(kind, *file),
                    hidden=tuple((index(start), index(end)) for start, end in json.loads(hidden)),
                    annotations=annotated.get(row[0], {}),
                    own_vector=bool(is_own),
                )
            except UNREADABLE as error:
                raise unreadable(f"passage {row[0]} of the document '{document_name}'", error) from error
        return by_id

    def passage(self, id_: int) -> StoredPassage:
        """Return a passage.

        Raises:
            IdMissing: there is no passage with this ID.
        """
        stored = self.stored([id_])
        if id_ not in stored:
            raise IdMissing(
                f"no passage {id_} in the index. Passages get new IDs when their document changes; query again."
            )
        return stored[id_]

    def documents(self, passages: Iterable[int]) -> dict[int, int]:
        """Return passage ID -> document number; IDs that do not exist are left out."""
        rows = "SELECT id, document FROM passages WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self.connection.execute(rows, (json.dumps(list(passages)),)).fetchall())

    def count_stored_files(self) -> int:
        """Return the number of files, or of documents from memory, that are stored."""
        return int(self.connection.execute("SELECT count(*) FROM files").fetchone()[0])

    def count_files(self, passages: Iterable[int]) -> int:
        """Return the number of files, or of documents from memory, that passages are from."""
        rows = self.connection.execute(
            """SELECT count(DISTINCT file) FROM passages JOIN documents ON documents.id = document
               WHERE passages.id IN (SELECT value FROM json_each(?))""",
            (json.dumps(list(passages)),),
        )
        return int(rows.fetchone()[0])

    def siblings(self, passages: Iterable[int]) -> dict[int, int]:
        """Return passage ID -> document number for all passages of the same documents, in the order of IDs."""
        rows = self.connection.execute(
            """SELECT id, document FROM passages WHERE document IN (
                   SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?)))
               ORDER BY id""",
            (json.dumps(list(passages)),),
        )
        return dict(rows.fetchall())

    def passages_of(self, documents: Collection[int]) -> set[int]:
        """Return the IDs of the passages of some documents."""
        select = "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))"
        return {id_ for (id_,) in self.connection.execute(select, (json.dumps(sorted(documents)),))}

    def document(self, id_: int) -> StoredDocument:
        """Return a document with its passages.

        Raises:
            IdMissing: there is no document with this ID.
        """
        # JSON, because integers of any size are allowed.
        ids = "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))"
        rows = self.connection.execute(ids, (json.dumps([int(id_)]),)).fetchall()
        return document_of(id_, self.stored([row[0] for row in rows]).values())

    def documents_named(self, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
        """List the documents whose name or title contains all words of `part`, sorted by name; at most `most`."""
        rows = self.connection.execute(
            "SELECT documents.id, path, record, title FROM documents JOIN files ON files.id = file "
            "ORDER BY path, record"
        )
        words = part.casefold().split()
        documents = (
            NamedDocument(id_, name_of(path, record), title) for id_, path, record, title in rows
        )
        matches = (
            document
            for document in documents
            if all(word in f"{document.name} {document.title}".casefold() for word in words)
        )
        first = "SELECT min(id) FROM passages WHERE document = ?"
        return [
            replace(document, passage_id=self.connection.execute(first, [document.id]).fetchone()[0])
            for document in islice(matches, offset, offset + most)
        ]

    def document_names(
        self, passages: NDArray[np.int64] | None = None, limit: int | None = None, offset: int = 0
    ) -> list[str]:
        """Return the names of documents: of documents from memory as they were added, of files by path.

        Args:
            passages: IDs of passages; only their documents are named. None for all documents.
            limit, offset: maximum number of names, None for all; and number of names to skip.
        """
        part = -1 if limit is None else limit, offset
        if self.facts.folders.memory:
            select, order = "SELECT DISTINCT files.id, path, 0 FROM files", "ORDER BY files.id"
        else:
            select = (
                "SELECT DISTINCT documents.id, path, record FROM documents JOIN files ON files.id = file"
            )
            order = "ORDER BY path, record"
        order += " LIMIT ? OFFSET ?"
        if passages is None:
            rows = self.connection.execute(f"{select} {order}", part)
        else:
            join = "JOIN documents ON documents.file = files.id" if self.facts.folders.memory else ""
            rows = self.connection.execute(
                f"{select} {join} JOIN passages ON passages.document = documents.id "
                f"WHERE passages.id IN (SELECT value FROM json_each(?)) {order}",
                (json.dumps(passages.tolist()), *part),
            )
        return [name_of(path, record) for _, path, record in rows]

    def first_passages_of_documents(self, passages: NDArray[np.int64] | None = None) -> list[int]:
        """Return the first passage of each document, in the order of `document_names`.

        Args:
            passages: IDs of passages to choose from; None for all.
        """
        order = "files.id" if self.facts.folders.memory else "path, record"
        chosen = "" if passages is None else "WHERE passages.id IN (SELECT value FROM json_each(?))"
        rows = self.connection.execute(
            "SELECT min(passages.id) FROM passages JOIN documents ON documents.id = document "
            f"JOIN files ON files.id = file {chosen} GROUP BY documents.id ORDER BY {order}",
            () if passages is None else (json.dumps(passages.tolist()),),
        )
        return [id_ for (id_,) in rows]

    def has_document(self, name: str) -> bool:
        """Return True if there is a document of this name: an ID from memory, or a path, also with "#" and a record."""
        try:
            encoded = os.fsencode(name)
        except UnicodeEncodeError:  # no document has such a name
            return False
        if self.facts.folders.memory:
            select = "SELECT 1 FROM files WHERE path = ?"
            return self.connection.execute(select, (encoded,)).fetchone() is not None
        path, _, record = encoded.rpartition(b"#")
        is_record = path and record.isdigit() and len(record) < _LONGEST_NUMBER
        names = [(encoded, 0), *([(path, int(record))] if is_record else [])]
        select = "SELECT 1 FROM documents JOIN files ON files.id = file WHERE path = ? AND record = ?"
        return any(
            self.connection.execute(select, file_and_record).fetchone() for file_and_record in names
        )

    def some_documents(self, step: int) -> list[tuple[int, str, str, str]]:
        """Return (id, name, title, kind) of every document whose ID is a multiple of `step`."""
        rows = self.connection.execute(
            "SELECT documents.id, path, record, title, kind FROM documents JOIN files ON files.id = file "
            "WHERE documents.id % ? = 0",
            [step],
        )
        return [(id_, name_of(path, record), title, kind) for id_, path, record, title, kind in rows]

    def first_passages(self, documents: list[int], most: int) -> dict[int, list[int]]:
        """Return document ID -> IDs of its first passages, at most `most`."""
        select = (
            "SELECT document, id FROM passages "
            "WHERE document IN (SELECT value FROM json_each(?)) ORDER BY document, id"
        )
        passages: dict[int, list[int]] = {}
        for document, id_ in self.connection.execute(select, [json.dumps(documents)]):
            ids = passages.setdefault(document, [])
            if len(ids) < most:
                ids.append(id_)
        return passages

    def memory_documents(self, ids: Iterable[str]) -> list[Document]:
        """Return documents from memory by ID, in the order of the IDs; IDs that do not exist are left out.

        Raises:
            IndexDamaged: a document cannot be read.
        """
        select = "SELECT content FROM contents JOIN files ON files.id = file WHERE path = ?"
        documents = []
        for id_ in ids:
            row = self.connection.execute(select, (os.fsencode(id_),)).fetchone()
            if row:
                with readable(f"the document '{id_}'"):
                    documents.append(Document.stored(id_, row[0]))
        return documents

    def copies(self, passages: Collection[int]) -> dict[int, Copied]:
        """Return passage ID -> its copied text, for the passages that have copies."""
        copied: dict[int, Copied] = {}
        for key, sign, fewest in _KINDS_OF_COPIES:
            others = json.dumps([id_ for id_ in passages if id_ not in copied])
            rows = self.connection.execute(_COPIES.format(key, sign), (others, fewest))
            copied |= {passage: Copied(text, number) for passage, text, number in rows}
        return copied

    def near_copies(self, texts: Iterable[Copied]) -> NDArray[np.int64]:
        """Return the IDs of all near-copies of some texts; identical copies of a text do not count."""
        rows = self.connection.execute(
            """SELECT json_group_array(id) FROM passages
               WHERE near_key IN (SELECT value FROM json_each(?))""",
            (json.dumps([copied.text for copied in texts]),),
        )
        return np.array(json.loads(rows.fetchone()[0]), dtype=np.int64)

    def resolve(self, path: str | Path) -> ResolvedPath:
        """Resolve a path, and find its passages; see `search.store.places.resolve_path`."""

        def rows(resolved: ResolvedPath) -> list[tuple[int, int, int]]:
            return self.connection.execute(
                """SELECT passages.id, line_start, line_end
                   FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
                   WHERE path = ? AND (? IS NULL OR record = ?) ORDER BY passages.id""",
                (os.fsencode(resolved.name or ""), resolved.record, resolved.record),
            ).fetchall()

        return resolve_path(self.facts.root, path, rows)

    def annotators(self) -> list[Annotator]:
        """List the annotators of the index, by name."""
        rows = self.connection.execute(
            """SELECT name, made_with, fields, (SELECT count(*) FROM annotations WHERE annotator = name)
               FROM annotators ORDER BY name"""
        ).fetchall()
        total = int(one_meta(self.connection, "passages")) if rows else 0
        with readable("the annotators of the index"):
            return [
                Annotator(name, json.loads(made_with), tuple(json.loads(fields)), done, total)
                for name, made_with, fields, done in rows
            ]

    def annotations(self, passages: Iterable[int]) -> dict[int, list[Annotation]]:
        """Return passage ID -> its annotations, ordered by annotator; passages without annotations are left out."""
        by_passage: dict[int, list[Annotation]] = {}
        for passage, _, values, spans in self._annotations(json.dumps(list(passages))):
            by_passage.setdefault(passage, []).append(_annotation(passage, values, spans))
        return by_passage

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        """Yield all annotations of an annotator, in the order of passage IDs."""
        rows = 'SELECT passage, "values", spans FROM annotations WHERE annotator = ? ORDER BY passage'
        return (_annotation(*row) for row in self.connection.execute(rows, (annotator,)))

    def _annotations(self, passages: str) -> Iterable[tuple[int, str, str, str]]:
        """Read annotations in the order of passages and annotators; quick if the index has no annotators."""
        if self.connection.execute("SELECT 1 FROM annotators LIMIT 1").fetchone() is None:
            return ()
        return self.connection.execute(
            """SELECT passage, annotator, "values", spans FROM annotations
               WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage, annotator""",
            (passages,),
        )

    def lacking(self, annotator: str) -> list[int]:
        """Return the increasing IDs of the passages that an annotator has not annotated."""
        rows = self.connection.execute(
            """SELECT id FROM passages LEFT JOIN annotations ON passage = id AND annotator = ?
               WHERE passage IS NULL ORDER BY id""",
            (annotator,),
        )
        return [row[0] for row in rows]


def existing(reader: SnapshotReader, passages: Iterable[int]) -> dict[int, StoredPassage]:
    """Return passage ID -> passage for the passages of a ranking, in its order.

    Raises:
        IndexDamaged: a passage is missing, although its embedding or its words are stored.
    """
    ids = dict.fromkeys(passages)
    stored = reader.stored(ids)
    if missing := ids.keys() - stored.keys():
        raise IndexDamaged(f"passage {min(missing)} is missing from the index. {IndexDamaged.CHECK}")
    return {id_: stored[id_] for id_ in ids}


def document_of(id_: int, stored: Iterable[StoredPassage]) -> StoredDocument:
    """Build a document from its number and all its passages.

    Raises:
        IdMissing: the document has no passages.
    """
    passages = tuple(sorted(stored, key=lambda passage: (passage.start, passage.end, passage.passage_id)))
    if not passages:
        raise IdMissing(
            f"no document {id_} in the index. A document gets a new ID when it changes; query again."
        )
    first = passages[0]
    return StoredDocument(
        id_, first.document, first.path, first.title, first.metadata, first.file, passages
    )


def _annotation(passage: int, values: str, spans: str) -> Annotation:
    with readable(f"the annotations of passage {passage}"):
        return Annotation(
            passage, json.loads(values), tuple(Mention(**span) for span in json.loads(spans))
        )
