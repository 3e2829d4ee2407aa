"""The store that there is: index.db for what is true, segments for what is near and for words.

See protocol.py for what is asked of it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding.fingerprint import Fingerprint
from search.errors import IdMissing, IndexDamaged
from search.records.contents import StoredPassage
from search.store.bm25 import Matches, Words
from search.store.calibration import Baseline, read_baseline
from search.store.checksums import content_key
from search.store.choices import choice_of
from search.store.codes import RoughQuery
from search.store.copies import copies_of
from search.store.database import Reader, generation_of, one_meta, read_meta
from search.store.documents import stored_document
from search.store.files import is_being_written, remove_index
from search.store.folders import Folders
from search.store.held import Held, State
from search.store.layout import DATABASE
from search.store.nearest import cosines_of, nearest_of
from search.store.passages import (
    annotations_of,
    annotators,
    each_annotation,
    place_of,
    status_of,
    stored_passages,
)
from search.store.protocol import Copied, Place, StoredDocument
from search.store.segments import after
from search.store.settings import Source
from search.store.terms import Term
from search.store.token_vectors import token_vectors_of
from search.store.vectors import best, embeddings
from search.store.words import texts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.contents import Facet
    from search.records.documents import Annotation, Annotator, NamedDocument
    from search.records.reports import Status
    from search.store.conditions import Where
    from search.store.facets import Facets
    from search.store.filters import Filters
    from search.store.protocol import Ids

# Passages whose embeddings are read from index.db rather than looked for by their codes: always, or in the first search
# of a process, which is all that most processes do.
_ALWAYS_READ, _READ_FIRST = 500, 10_000


class SQLiteStore:
    """An index on disk that is open for reading; see `search.store.protocol.Store`.

    Nothing is opened until it is needed: codes at the first search by meaning that they save time, words at the first
    by words.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = Held(path)
        self._reader = Reader(path / DATABASE)
        self._remarks = threading.local()

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint.from_dict(read_meta(self.path / DATABASE)["fingerprint"])

    @property
    def folders(self) -> Folders:
        return Folders.from_meta(read_meta(self.path / DATABASE))

    @property
    def state(self) -> tuple[int, ...]:
        """What differs when the database was written to, or another one put in its place; () where there is none."""
        try:
            stat = (self.path / DATABASE).stat()
        except OSError:
            return ()
        return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size

    @property
    def problems(self) -> tuple[str, ...]:
        return (*filter(None, [self.held.problem]), *getattr(self._remarks, "of_filter", ()))

    @cached_property
    def filters(self) -> Filters:
        """What has passed filters before; loaded with the first filter."""
        from search.store.filters import Filters

        return Filters()

    @cached_property
    def facets(self) -> Facets:
        """What was told of all documents before; loaded when it is first asked for."""
        from search.store.facets import Facets

        return Facets()

    def remark(self, remarks: Sequence[str]) -> None:
        """What is to be known of the answer to this thread's query; each ends with the command that helps."""
        self._remarks.of_filter = remarks

    def remove(self) -> None:
        """Delete the index."""
        remove_index(self.path)

    @contextmanager
    def reading(self) -> Iterator[SQLiteSnapshot]:
        with self._reader.reading() as connection:
            yield SQLiteSnapshot(self, connection)


class SQLiteSnapshot:
    """One read transaction; see `search.store.protocol.Snapshot`."""

    approximate = False

    def __init__(self, store: SQLiteStore, connection: sqlite3.Connection) -> None:
        self._store, self.connection = store, connection

    @cached_property
    def passage_count(self) -> int:
        return int(one_meta(self.connection, "passages"))

    @cached_property
    def generation(self) -> int:
        return generation_of(self.connection)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint.from_dict(one_meta(self.connection, "fingerprint"))

    @property
    def root(self) -> Path:
        return Path(one_meta(self.connection, "root"))

    @property
    def source(self) -> Source:
        return Source.from_dict(one_meta(self.connection, "source"))

    @property
    def choice(self) -> Mapping[str, Any]:
        return choice_of(self.connection)

    def status(self, weight: float) -> Status:
        return status_of(self.connection, self._store.path, weight)

    @cached_property
    def _state(self) -> State:
        return self._store.held.state(self.connection)

    def nearest(
        self, query: NDArray[np.float32], k: int, among: Ids | None = None, terms: Sequence[Term] = ()
    ) -> list[tuple[int, float]]:
        """By the codes of segments, and the embeddings of the tail; or by embeddings alone where that is as quick.

        To load FAISS takes some 50 ms, in which 10,000 embeddings are read.
        """
        held, count = self._store.held, self._state.passages if among is None else len(among)
        held.searches += 1
        if _better_read(k, count, held.searches == 1):
            return self._read_through(query, k, among)
        try:
            pieces = self._state.pieces(self.connection, len(query), among)
        except IndexDamaged:
            if not held.problem:
                raise
            return self._read_through(query, k, among)
        newer = self._state.tail(self.connection, len(query))
        if among is not None:
            newer = embeddings(self.connection, len(query), among=among[among > after(self._state.segments)])
        known: dict[int, float] = {}
        for ids, vectors in newer:
            known.update(best(ids, vectors, query, k))
        return nearest_of(self.connection, list(pieces.values()), query, k, known)

    def _read_through(self, query: NDArray[np.float32], k: int, among: Ids | None) -> list[tuple[int, float]]:
        """The nearest by the embeddings in index.db alone."""
        near: list[tuple[int, float]] = []
        for ids, vectors in embeddings(self.connection, len(query), among=among):
            near += best(ids, vectors, query, k)
        return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:k]

    def cosines(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        ids, places = np.unique(passages, return_inverse=True)
        return cosines_of(self.connection, query, ids).astype(np.float64)[places]

    def highest(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        found = np.full(len(passages), np.inf)
        with suppress(IndexDamaged):
            rough_query = RoughQuery(query)
            for segment, piece in self._state.pieces(self.connection, len(query), passages).items():
                here = (passages >= segment.first) & (passages <= segment.last)
                found[here] = piece.codes.rough(rough_query, np.searchsorted(piece.codes.ids, passages[here]))
                found[here] += rough_query.slack(segment.scale)
        return found

    def embeddings(self, passages: Sequence[int]) -> NDArray[np.float32]:
        wanted = np.array(passages, dtype=np.int64)
        ids = np.unique(wanted)
        blocks = [vectors for _, vectors in self.embedding_blocks(ids)]
        rows = np.concatenate([np.empty((0, self._dimension), dtype=np.float32), *blocks])
        return rows[np.searchsorted(ids, wanted)]

    def embedding_blocks(self, among: Ids | None = None) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
        return embeddings(self.connection, self._dimension, among=among)

    def embedding_of(self, context: str, text: str) -> NDArray[np.float32] | None:
        row = self.connection.execute(
            "SELECT passage FROM embeddings WHERE content = ? LIMIT 1", (content_key(context, text),)
        ).fetchone()
        return None if row is None else self.embeddings(row)[0]

    def token_vectors(self, passages: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        return token_vectors_of(self.connection, passages, self._dimension)

    def terms(self, query: str, *, phrases: bool = False) -> list[Term]:
        return self._store.held.stemmer.terms(query, phrases=phrases)

    def words(self, text: str, among: Collection[tuple[str, ...]] = ()) -> list[Term]:
        return self._store.held.stemmer.words(text, among)

    def counts(self, terms: Sequence[Term]) -> list[int]:
        return self.indexed.counts(terms, self._texts) if terms else []

    def telling(self, terms: Sequence[Term]) -> list[Term]:
        return self.indexed.telling(terms, self._texts) if terms else []

    def matches(self, terms: Sequence[Term], without: Collection[Term] = ()) -> Matches:
        return self.indexed.matches(terms, self._texts, without)

    @cached_property
    def indexed(self) -> Words:
        """The words of all passages."""
        return self._state.words(self.connection)

    def _texts(self, passages: Ids) -> Iterator[str]:
        """What of passages has words, in the order of their ids."""
        return (text for _, text in texts_of(self.connection, passages))

    def ids(self) -> Ids:
        with suppress(IndexDamaged):
            return self._state.ids(self.connection, self._dimension)
        rows = self.connection.execute("SELECT id FROM passages").fetchall()
        return np.sort(np.array([row[0] for row in rows], dtype=np.int64))

    def passing(self, where: Where | None) -> Ids | None:
        ids, remarks = (None, ()) if where is None else self._store.filters.matching(self.connection, where)
        self._store.remark((*remarks, *self._nothing_yet()))
        return ids

    def _nothing_yet(self) -> tuple[str, ...]:
        """That the first run has stored nothing, if that is so."""
        if self.passage_count:
            return ()
        if is_being_written(self._store.path):
            return (
                "the index holds no passages yet: a run is filling it. See how far it is with: seewhy status",
            )
        return ("the index holds no passages: its run was stopped. Go on with: seewhy index FOLDER",)

    def within(self, passages: Ids, among: Ids | None) -> Ids:
        return np.unique(passages) if among is None else np.intersect1d(passages, among)

    def without(self, among: Ids | None, excluded: Sequence[int]) -> Ids:
        ids = self.ids() if among is None else among
        return ids[~np.isin(ids, np.array(excluded, dtype=np.int64))]

    def stored(self, passages: Sequence[int]) -> dict[int, StoredPassage]:
        return stored_passages(self.connection, passages)

    def passage(self, id_: int) -> StoredPassage:
        stored = self.stored([id_])
        if id_ not in stored:
            raise IdMissing(
                f"the index has no passage {id_}. Passages get new ids when their document changes; query again."
            )
        return stored[id_]

    def documents(self, passages: Sequence[int]) -> dict[int, int]:
        rows = self.connection.execute(
            "SELECT id, document FROM passages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(passages)),),
        )
        return dict(rows.fetchall())

    def document(self, id_: int) -> StoredDocument:
        return stored_document(self.connection, id_)

    def siblings(self, passages: Sequence[int]) -> dict[int, int]:
        rows = self.connection.execute(
            """SELECT id, document FROM passages WHERE document IN (
                   SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?)))
               ORDER BY id""",
            (json.dumps(list(passages)),),
        )
        return dict(rows.fetchall())

    def documents_named(self, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
        from search.store.named import documents_named

        return documents_named(self.connection, part, most, offset)

    def document_metadata(self) -> Iterator[dict[str, Any]]:
        rows = self.connection.execute("SELECT metadata FROM documents ORDER BY id")
        return (json.loads(metadata) for (metadata,) in rows)

    def facets(self, where: Where | None) -> tuple[Facet, ...]:
        from search.store.facets import facets_of

        state = self.generation or self._state.key
        return self._store.facets.of(state, where, lambda: facets_of(self.connection, self.passing(where)))

    def copies(self, passages: Sequence[int]) -> dict[int, Copied]:
        return copies_of(self.connection, passages)

    def place(self, what: str | Path) -> Place:
        return place_of(self.connection, what)

    def annotators(self) -> list[Annotator]:
        return annotators(self.connection)

    def annotations(self, passages: Sequence[int]) -> dict[int, list[Annotation]]:
        return annotations_of(self.connection, passages)

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        return each_annotation(self.connection, annotator)

    def random_pairs(self) -> Baseline | None:
        return read_baseline(self.connection)

    @property
    def _dimension(self) -> int:
        return int(self.fingerprint.dimension)


def _better_read(k: int, passages: int, first: bool) -> bool:
    """Whether to read all embeddings, rather than look for the k nearest by their codes.

    Args:
        first: it is the first search of the process.
    """
    return passages <= (_READ_FIRST if first else _ALWAYS_READ) or 4 * k >= passages
