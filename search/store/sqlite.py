"""The store that there is: index.db for what is true, an FAISS file for what is near, FTS5 for words.

See protocol.py for what is asked of it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding.fingerprint import Fingerprint
from search.errors import IndexDamaged, InputError
from search.store.calibration import Baseline, trusted_baseline
from search.store.checksums import content_key
from search.store.choices import choice_of
from search.store.copies import copies_of
from search.store.database import Reader, one_meta
from search.store.faiss_file import LoadedVectors
from search.store.files import is_being_written
from search.store.layout import DATABASE
from search.store.lexicon import Lexicon, Matches
from search.store.passages import (
    annotations_of,
    annotators,
    each_annotation,
    metadata_of,
    place_of,
    status_of,
    stored_passages,
)
from search.store.protocol import Copied, Place, StoredFile, StoredPassage
from search.store.settings import Source
from search.store.terms import Term
from search.store.vectors import (
    Ann,
    best,
    count_after,
    embeddings,
    is_stored,
    nearest_of,
    read_ann,
    token_vectors_of,
    without_deleted,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.documents import Annotation, Annotator
    from search.records.reports import Status
    from search.store.conditions import Where
    from search.store.filters import Filters
    from search.store.protocol import Ids

# Passages whose embeddings are read from index.db rather than loading the FAISS file for them.
_READ_DIRECTLY = 2000


class SQLiteStore:
    """An index on disk that is open for reading; see `search.store.protocol.Store`.

    Nothing is loaded until it is needed: the FAISS file at the first search by meaning, postings as words come up.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.vectors = LoadedVectors(path)
        self.lexicon = Lexicon()
        self.baseline_problem = ""
        self._reader = Reader(path / DATABASE)
        self._remarks = threading.local()

    @property
    def problems(self) -> tuple[str, ...]:
        problems = (self.vectors.problem, self.baseline_problem)
        return (*filter(None, problems), *getattr(self._remarks, "of_filter", ()))

    @cached_property
    def filters(self) -> Filters:
        """What has passed filters before; loaded with the first filter."""
        from search.store.filters import Filters

        return Filters()

    def remark(self, remarks: Sequence[str]) -> None:
        """What is to be known of the answer to this thread's query; each ends with the command that helps."""
        self._remarks.of_filter = remarks

    @contextmanager
    def reading(self) -> Iterator[SQLiteSnapshot]:
        with self._reader.reading() as connection:
            yield SQLiteSnapshot(self, connection)


class SQLiteSnapshot:
    """One read transaction; see `search.store.protocol.Snapshot`."""

    def __init__(self, store: SQLiteStore, connection: sqlite3.Connection) -> None:
        self._store, self.connection = store, connection

    @cached_property
    def passage_count(self) -> int:
        return int(one_meta(self.connection, "passages"))

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

    def nearest(
        self, query: NDArray[np.float32], k: int, among: Ids | None = None
    ) -> list[tuple[int, float]]:
        """The FAISS file is searched, and everything newer than it.

        With `among`, FAISS looks at those passages alone. Of 20,000 passages with d = 384 that took 0.1 ms for 100,
        0.2 ms for 1,000 and 1.1 ms for 10,000; reading their vectors from index.db took 0.2, 3 and 22 ms, and was
        quicker only up to some 20. But to load the file took 100 ms: as long as it is not in memory, up to 2,000
        vectors are read from index.db.

        Raises:
            IndexDamaged: not all passages that the index should hold, or that `among` names, were looked at.
        """
        connection, near = self.connection, list[tuple[int, float]]()
        ann, flat = self._file(len(query), among)
        after = looked_at = in_file = 0
        if ann and flat is not None:
            after, in_file = ann.watermark, ann.count - ann.deleted
            if among is None:
                near = nearest_of(flat, query, k + ann.deleted)
                near, looked_at = (without_deleted(connection, near) if ann.deleted else near)[:k], in_file
            else:
                older = among[among <= after]
                near, looked_at = nearest_of(flat, query, k, older), len(older)
            if not is_stored(connection, query, near[:_READ_DIRECTLY]):
                self._store.vectors.distrust(ann)
                return self.nearest(query, k, among)
        if among is None:
            newer = embeddings(connection, len(query), after)
        else:
            newer = embeddings(connection, len(query), among=among[among > after])
            in_file += count_after(connection, after)
        for ids, vectors in newer:
            looked_at += len(ids)
            near += best(ids, vectors, query, k)
        present = looked_at if among is None else in_file
        if present != self.passage_count:
            raise IndexDamaged(
                f"the index should hold {self.passage_count} passages, but {present} were found. "
                "Mend it with: seewhy repair"
            )
        if among is not None and looked_at != len(among):
            raise IndexDamaged(
                f"{len(among)} passages pass the filter, but the embeddings of {looked_at} were found. "
                "Mend the index with: seewhy repair"
            )
        return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:k]

    def _file(self, dimension: int, among: Ids | None) -> tuple[Ann | None, Any]:
        """The FAISS file, where it can be trusted and is worth loading; or None."""
        ann, loaded = read_ann(self.connection), self._store.vectors
        if ann is None or (among is not None and len(among) <= _READ_DIRECTLY and not loaded.holds(ann)):
            return ann, None
        return ann, loaded.get(ann, dimension)

    def cosines(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        if not len(passages):
            return np.empty(0)
        cosine_of = dict(self.nearest(query, len(passages), np.sort(passages)))
        return np.array([cosine_of[id_] for id_ in passages.tolist()])

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
        return self._store.lexicon.stemmer.terms(query, phrases=phrases)

    def words(self, text: str) -> list[Term]:
        return self._store.lexicon.stemmer.words(text)

    def counts(self, terms: Sequence[Term]) -> list[int]:
        return self._store.lexicon.counts(self.connection, terms)

    def telling(self, terms: Sequence[Term]) -> list[Term]:
        return self._store.lexicon.telling(self.connection, terms)

    def matches(self, terms: Sequence[Term]) -> Matches:
        return Matches(self._store.lexicon.postings(self.connection, terms), self.passage_count)

    def ids(self) -> Ids:
        rows = self.connection.execute("SELECT id FROM passages ORDER BY id").fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)

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

    def stored(self, passages: Sequence[int]) -> dict[int, StoredPassage]:
        return stored_passages(self.connection, passages)

    def passage(self, id_: int) -> StoredPassage:
        stored = self.stored([id_])
        if id_ not in stored:
            raise InputError(
                f"the index has no passage {id_}. Passages get new ids when their document changes; query again."
            )
        return stored[id_]

    def documents(self, passages: Sequence[int]) -> dict[int, int]:
        rows = self.connection.execute(
            "SELECT id, document FROM passages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(passages)),),
        )
        return dict(rows.fetchall())

    def siblings(self, passages: Sequence[int]) -> dict[int, int]:
        rows = self.connection.execute(
            """SELECT id, document FROM passages WHERE document IN (
                   SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?)))
               ORDER BY id""",
            (json.dumps(list(passages)),),
        )
        return dict(rows.fetchall())

    def document_metadata(self) -> Iterator[dict[str, Any]]:
        rows = self.connection.execute("SELECT metadata FROM documents ORDER BY id")
        return (metadata_of(metadata) for (metadata,) in rows)

    def copies(self, passages: Sequence[int]) -> dict[int, Copied]:
        return copies_of(self.connection, passages)

    def file_of(self, passage: int) -> StoredFile | None:
        row = self.connection.execute(
            """SELECT kind, size, mtime_ns, inode, files.sha256 FROM passages
               JOIN documents ON documents.id = document JOIN files ON files.id = file WHERE passages.id = ?""",
            (passage,),
        ).fetchone()
        return None if row is None else StoredFile(*row)

    def place(self, what: str | Path) -> Place:
        return place_of(self.connection, what)

    def annotators(self) -> list[Annotator]:
        return annotators(self.connection)

    def annotations(self, passages: Sequence[int]) -> dict[int, list[Annotation]]:
        return annotations_of(self.connection, passages)

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        return each_annotation(self.connection, annotator)

    def random_pairs(self) -> Baseline | None:
        baseline, self._store.baseline_problem = trusted_baseline(self.connection)
        return baseline

    @property
    def _dimension(self) -> int:
        return int(self.fingerprint.dimension)
