"""An index that is open for reading, and snapshots of it.

A `Store` is an open index, with a cache of its files and its last state. Everything is read through a
`Snapshot`, one state of the index:

    with store.reading() as snapshot:
        nearest = snapshot.nearest(query, k=10)
        passages = snapshot.stored([id_ for id_, _ in nearest])

In this module a snapshot is a read transaction of SQLite, with the files of codes and postings that belong to it;
`search.store.milvus` implements the same interface for a server. Invariants:

- **One state.** A snapshot is consistent: every id has its passage, and an update is visible as a whole or not at all.
- **Exact.** `nearest` misses no passage. `cosines` are inner products of the stored float32 embeddings with the query,
  added up in float64 and rounded to float32, so equal embeddings have equal cosines. Of equal scores the lower id comes
  first. A store that can only approximate sets `approximate`.
- **Sums.** A passage's BM25 is the sum of its terms' addends, added up in the order of the terms. The scale of keyword
  scores depends on all passages, whatever the filter. `search.ranking.fusion` merges cosines and keyword scores.
- **Ids** are whole numbers above 0 and never used twice; arrays of ids are increasing. `among` limits the passages to
  choose from and leaves their scores unchanged.
- **Pending.** An index may have passages that are not encoded yet (pending.py). `nearest` leaves them out; whoever asks
  for their cosines or embeddings gets `NotEncoded`. Everything else includes them.
- **Short.** No model runs while a snapshot is open; a snapshot is used in the thread that opened it.

Higher scores are better; there are no distances.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search import files
from search.errors import IndexDamaged
from search.store.bm25 import KeywordIndex, KeywordScores, TermHits
from search.store.codes import Codes, FlatVectors, PartView, RoughQuery, nearest_of
from search.store.database import as_search_error, connect_to_read, decoded, require_readable, unfilled
from search.store.document_languages import language_of_passage, main_language, stemmed_languages
from search.store.files import DATABASE, remove_index
from search.store.home import index_command
from search.store.null_distribution import Baseline, read_baseline
from search.store.passages import SnapshotReader
from search.store.pending import NotEncoded, OnDemand, lacking, pending_passages
from search.store.postings import Postings, PostingsBlock, build_block
from search.store.query_terms import spans_of_forms, terms_in
from search.store.segments import SELECT_SEGMENTS, Segment, blocks_of_tail, texts_of, tombstones
from search.store.settings import IndexMeta
from search.store.status import status_of
from search.store.terms import IndexTerm, Stemmer, indexable, word_spans
from search.store.token_vectors import token_vectors_of
from search.store.vectors import MAX_ID, cosines_of, embeddings, exact_cosines

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from search.records.contents import Facet, StoredPassage
    from search.records.reports import Status
    from search.store.analyzer import Analyzer
    from search.store.conditions import Where
    from search.store.links import LinkTable

    Ids: TypeAlias = NDArray[np.int64]
    Terms: TypeAlias = Sequence[IndexTerm]

# With more passages, upper bounds of their cosines are computed first.
_MAX_EXACT = 100
_MAX_CACHED = 32  # results of filters, and facets

# The values of facts; they also identify a state.
_FACTS = """SELECT key, value FROM meta WHERE key IN ('schema_version', 'passages', 'last_passage', 'generation',
            'root', 'source', 'fingerprint', 'server', 'foreign', 'on_demand', 'unread')"""


class Store:
    """An index that is open for reading. Thread-safe.

    Files of segments never change, so they stay open as long as the index lists them. Everything else in
    the cache belongs to the state of the last snapshot.

    Each thread keeps its connection open. A new connection is opened after a rebuild has replaced the
    file, in a forked process, and when a killed writer's journal must be rolled back. On Windows every
    snapshot has its own connection, because an open file cannot be replaced there.

    Attributes:
        path: folder of the index on this machine; files in it are never indexed.
        searches: number of searches by embedding.
        problem: warning about a damaged file that does not stop queries; "" without one.
        latest_facts: facts about the newest state that was read; None before the first read.
        local: True if the passages are on this machine.
        on_demand: embeddings of pending passages that this process has computed; None if there are none.
        incomplete: True if the last state that was read had passages to encode, or files to read.
        analyzer: analyser of the program that opened it; None for none.
    """

    local = True

    def __init__(self, path: Path, analyzer: Analyzer | None = None) -> None:
        self.path, self.searches, self.problem = path, 0, ""
        self.analyzer = analyzer
        self.stemmer, self.lock = Stemmer(), threading.RLock()
        self.state: State | None = None
        self._codes: dict[str, Codes] = {}
        self._blocks: dict[str, PostingsBlock] = {}
        self._thread_local = threading.local()
        self._seen: tuple[int, ...] = ()
        self.latest_facts: IndexMeta | None = None
        self.on_demand: OnDemand | None = None
        self.incomplete = False

    @property
    def name(self) -> str:
        """Name by which the index can be opened again: its path, or its address on a server."""
        return str(self.path)

    @property
    def files(self) -> Path:
        """Folder of the files to read: the index."""
        return self.path

    @property
    def facts(self) -> IndexMeta:
        """Facts about the newest state; read only if the file has changed.

        Raises:
            IndexNotFound: there is no such index, or its first run stored nothing.
            IndexOutdated, IndexDamaged: the index cannot be read.
        """
        try:
            stat = (self.files / DATABASE).stat()
            seen: tuple[int, ...] = stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size
        except OSError:
            seen = ()
        if self.latest_facts is None or seen != self._seen:
            with self.reading() as snapshot:
                self.latest_facts, self._seen = snapshot.facts, seen
        return self.latest_facts

    @property
    def problems(self) -> tuple[str, ...]:
        """Warnings about the index: sentences that end with the command to run, without the option `--index`."""
        return (self.problem,) if self.problem else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Complete sentences about the way in which the index is read."""
        return ()

    def close(self) -> None:
        """Close the connection of this thread; the next read opens another."""
        if getattr(self._thread_local, "process", None) == os.getpid():
            self._thread_local.connection.close()
            self._thread_local.database = None

    def remove(self) -> None:
        """Delete the index, also on its server."""
        remove_index(self.path)

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Open the newest state of the index: one read transaction.

        Raises:
            IndexNotFound, IndexOutdated, IndexDamaged: the index cannot be read.
        """
        connection = None
        try:
            connection = self._begin()
            yield Snapshot(self, connection)
        except (sqlite3.DatabaseError, OSError, IndexDamaged) as error:
            if (translation := as_search_error(error, self.path / DATABASE)) is error:
                raise
            raise translation from error
        finally:
            if connection is not None and connection.in_transaction:  # an I/O error may have ended it
                connection.execute("ROLLBACK")  # nothing was written; this only ends the snapshot
            if connection is not None and files.WINDOWS:
                connection.close()

    def _begin(self) -> sqlite3.Connection:
        """Return this thread's connection, inside an open read transaction."""
        local, database = self._thread_local, self.files / DATABASE
        try:
            status = database.stat()
            now = (status.st_dev, status.st_ino, os.getpid())
        except OSError:
            now = None
        if not files.WINDOWS and now is not None and getattr(local, "database", None) == now:
            with suppress(sqlite3.OperationalError):
                local.connection.execute("BEGIN")
                local.connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
                return local.connection
        if getattr(local, "process", None) == os.getpid():
            # Python closes it only at the next garbage collection; until then, it could keep a writer waiting.
            local.connection.close()
        local.database = None
        local.connection, local.process = connect_to_read(database), os.getpid()
        local.connection.execute("BEGIN")
        if local.connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
            local.connection.close()  # in a transaction it would keep the writer from committing
            raise unfilled(database)
        local.database = now
        return local.connection

    def codes(self, segment: Segment, dimension: int) -> Codes | None:
        """Open the FAISS file of a segment; None if it is not written yet. If it is damaged, also set `problem`."""
        with self.lock:
            if segment.file not in self._codes:
                if not segment.has_codes:
                    return None
                try:
                    self._codes[segment.file] = segment.open_codes(self.files, dimension)
                except IndexDamaged:
                    self.problem = (
                        f"the file '{segment.codes_path}' is damaged or missing, so queries are slower "
                        f"but still exact. {IndexDamaged.REPAIR}"
                    )
                    return None
            return self._codes[segment.file]

    def block(self, segment: Segment) -> PostingsBlock:
        """Open the postings of a segment."""
        if segment.file not in self._blocks:
            self._blocks[segment.file] = segment.open_postings(self.files)
        return self._blocks[segment.file]

    def add_on_demand(self, passages: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Keep the (n, d) embeddings of pending passages in memory; later snapshots of this store find them."""
        with self.lock:
            on_demand = self.on_demand or OnDemand.none(vectors.shape[1])
            self.on_demand = on_demand.with_more(np.array(passages, dtype=np.int64), vectors)

    def forget_on_demand(self, stored: OnDemand) -> None:
        """Drop embeddings from memory that are stored now."""
        with self.lock:
            if self.on_demand is not None:
                self.on_demand = self.on_demand.without(stored.ids)

    def keep(self, state: State) -> None:
        """Replace the cached state; close the files that the new state does not name."""
        if self.state and self.state.facts.fingerprint != state.facts.fingerprint:
            self.on_demand = None  # of another model
        files = {segment.file for segment in state.segments}
        for opened in (self._codes, self._blocks):
            for name in opened.keys() - files:
                del opened[name]
        self.state, self.problem = state, ""


class State:
    """Cache of one state of an index, filled on demand.

    Attributes:
        key: identifier of the state.
        after: highest ID in a segment; passages with higher IDs are in the write buffer.
    """

    def __init__(self, database: Path, key: Hashable, meta: dict[str, str], segments: list[Any]) -> None:
        self.key = key
        self.segments = [Segment(*row) for row in segments]
        self.after = self.segments[-1].last if self.segments else 0
        self.facts = IndexMeta.of(require_readable(decoded(meta.items()), database))
        self.dead: Ids | None = None
        self.pending: Ids | None = None
        self.flat: dict[int, FlatVectors] = {}  # by their first ID
        self.keyword_index: KeywordIndex | None = None
        self.baseline: Sequence[Baseline | None] = ()
        self.passing: dict[Where, Ids] = {}
        self.facets: dict[Where | None, tuple[Facet, ...]] = {}
        self.languages: frozenset[str] | None = None
        self.links: LinkTable | None = None
        self.main_language: str | None = None


class Snapshot(SnapshotReader):
    """One state of an index; see the docstring of the module for its invariants.

    Attributes:
        approximate: True if `nearest` can miss passages.
        pending: increasing IDs of the passages that are not encoded yet.
    """

    approximate = False

    def __init__(self, store: Store, connection: sqlite3.Connection) -> None:
        self.connection, self._store = connection, store
        meta, segments = dict(connection.execute(_FACTS)), connection.execute(SELECT_SEGMENTS).fetchall()
        key = (*meta.items(), *segments)
        with store.lock:
            if store.state is None or store.state.key != key:
                store.keep(State(store.files / DATABASE, key, meta, segments))
            assert store.state is not None
            self._state = store.state
        self.facts = self._state.facts
        self._dimension = int(self.facts.fingerprint.dimension)
        if self._state.pending is None:
            self._state.pending = pending_passages(connection)
        self.pending, self._on_demand = self._state.pending, store.on_demand
        self._is_incomplete = len(self.pending) > 0
        store.incomplete = self._is_incomplete or self.facts.unread > 0
        if not self._is_incomplete:
            self._on_demand = None
        elif self._on_demand is not None:
            self._on_demand = self._on_demand.among(self.pending)
            self.pending = np.setdiff1d(self.pending, self._on_demand.ids, assume_unique=True)

    @property
    def encoded(self) -> int:
        """Number of passages that are encoded."""
        return self.facts.passages - len(self.pending)

    def require_complete(self, work: str) -> None:
        """Raise InputError if passages are pending; `work` names what would leave them out."""
        if len(self.pending):
            raise lacking(len(self.pending), work, index_command(self._store.path, self.facts.folders))

    def status(self) -> Status:
        """Status of the index, for `Index.status`."""
        return status_of(self.connection, self._store.path)

    # Meaning

    def nearest(
        self, query: NDArray[np.float32], k: int, among: Ids | None = None, terms: Terms = ()
    ) -> list[tuple[int, float]]:
        """Return the k encoded passages with the highest cosine, best first, as (passage id, cosine).

        FAISS searches the files of the segments, and the embeddings in the write buffer. If a file is damaged, it
        searches the segment's embeddings instead, which are read from index.db.

        Args:
            query: (d,) vector of unit length.
            k: number of passages, at least 1; fewer are returned only if there are fewer passages.
            among: ids of the passages to choose from; None for all.
            terms: terms of the query. Ignored here; a server also considers passages with these terms.
        """
        self._store.searches += 1
        if among is not None and self._is_incomplete:
            among = self.without_pending(among)
        cosines = partial(cosines_of, self.connection, query)
        if self._on_demand is not None:
            cosines = partial(self._exact_cosines, query)
        return nearest_of(cosines, self._views(among), query, k)

    def without_pending(self, passages: Ids) -> Ids:
        """Return the passages that are encoded, in their order."""
        return passages[~np.isin(passages, self.pending)] if len(self.pending) else passages

    def _require_encoded(self, passages: Ids) -> None:
        """Raise NotEncoded if one of the passages is pending."""
        if len(pending := np.intersect1d(passages, self.pending)):
            raise NotEncoded(pending)

    def _exact_cosines(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float32]:
        """Return the (n,) exact cosines of passages with increasing IDs."""
        if self._on_demand is None:
            return cosines_of(self.connection, query, passages)
        rows, is_here = self._on_demand.rows(passages)
        cosines = np.empty(len(passages), dtype=np.float32)
        cosines[is_here] = exact_cosines(self._on_demand.vectors[rows[is_here]], query)
        cosines[~is_here] = cosines_of(self.connection, query, passages[~is_here])
        return cosines

    def cosines(
        self, query: NDArray[np.float32], passages: Ids, least: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the (n,) exact cosines of existing passages, in the order of `passages`; equal to those of `nearest`.

        Args:
            least: (n,) lowest cosine of interest for each passage; passages must then be in the order of IDs. To save
                time, a passage with a lower cosine may get minus infinity.

        Raises:
            NotEncoded: some of the passages are pending.
        """
        ids, positions = np.unique(passages, return_inverse=True)
        if self._is_incomplete:
            self._require_encoded(ids)
        is_needed = np.ones(len(ids), dtype=bool)
        if least is not None and len(ids) > _MAX_EXACT:
            rough_query = RoughQuery(query)
            for view in self._views(ids):
                rows = np.searchsorted(ids, view.passages)
                is_needed[rows] = view.part.highest(rough_query, ids[rows]) >= least[rows]
        cosines = np.full(len(ids), -np.inf)
        cosines[is_needed] = self._exact_cosines(query, ids[is_needed])
        return cosines[positions]

    def embeddings(self, passages: Sequence[int]) -> NDArray[np.float32]:
        """Return the (n, d) embeddings of existing passages, in their order; each has unit length.

        Raises:
            NotEncoded: some of the passages are pending.
        """
        targets = np.array(passages, dtype=np.int64)
        ids = np.unique(targets)
        if self._is_incomplete:
            self._require_encoded(ids)
        vectors = np.empty((len(ids), self._dimension), dtype=np.float32)
        is_here = np.zeros(len(ids), dtype=bool)
        if self._on_demand is not None:
            rows, is_here = self._on_demand.rows(ids)
            vectors[is_here] = self._on_demand.vectors[rows[is_here]]
        blocks = [block for _, block in self.embedding_blocks(ids[~is_here])]
        if blocks:
            vectors[~is_here] = np.concatenate(blocks)
        return vectors[np.searchsorted(ids, targets)]

    def embedding_blocks(self, among: Ids | None = None) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
        """Yield the stored embeddings of all or some passages, as blocks of (ids, (n, d)) by increasing ids."""
        return embeddings(self.connection, self._dimension, among=among)

    def token_vectors(self, passages: Sequence[int], dimension: int) -> dict[int, NDArray[np.float32]]:
        """Return passage ID -> (tokens, d) vectors of unit length, for the passages with stored token vectors.

        Args:
            dimension: d; embeddings may have fewer dimensions than token vectors.
        """
        return token_vectors_of(self.connection, passages, dimension)

    def _views(self, among: Ids | None = None) -> list[PartView]:
        """Return a view of each segment, of the write buffer, and of what was encoded on demand.

        Args:
            among: IDs of the encoded passages to choose from, increasing; None for all that are not deleted.

        Raises:
            IndexDamaged: a file lacks a passage.
        """
        views = []
        for segment in self._state.segments:
            codes = self._store.codes(segment, self._dimension)
            part = codes or self._flat(segment.first, segment.last)
            if isinstance(part, Codes):
                part.stays_mapped = self._store.searches > 1
            views.append(self._view(part, among))
        views.append(self._view(self._flat(self._state.after + 1), among))
        if self._on_demand is not None:
            part = FlatVectors([(self._on_demand.ids, self._on_demand.vectors)], self._dimension)
            views.append(self._view(part, among))
        return views

    def _view(self, part: Codes | FlatVectors, among: Ids | None = None) -> PartView:
        if among is None:  # in memory there are no deleted passages
            return PartView(part, self._living(part.ids) if isinstance(part, Codes) else None)
        if self._is_incomplete and isinstance(part, FlatVectors):
            return PartView(part, np.isin(part.ids, among))  # others between them are elsewhere
        chosen = np.zeros(len(part.ids), dtype=bool)
        chosen[_positions(part.ids, among)] = True
        return PartView(part, chosen)

    def _flat(self, first: int, last: int = MAX_ID) -> FlatVectors:
        """Read the stored embeddings of the passages between two IDs into memory, once for a state."""
        if first not in self._state.flat:
            blocks = embeddings(self.connection, self._dimension, first - 1, last)
            self._state.flat[first] = FlatVectors(blocks, self._dimension)
        return self._state.flat[first]

    def _living(self, ids: Ids) -> NDArray[np.bool_] | None:
        """Return an (n,) mask for increasing IDs, True for passages that are not deleted; None if none is deleted."""
        state = self._state
        if state.dead is None:
            state.dead = tombstones(self.connection)
        if not len(state.dead) or not len(dead := _positions(ids, state.dead)):
            return None
        living = np.ones(len(ids), dtype=bool)
        living[dead] = False
        return living

    # Words

    def terms(self, query: str) -> list[IndexTerm]:
        """Return the words and phrases of a query, without duplicates, with their forms in the index's languages."""
        stemmer, analyzer = self._store.stemmer, self._store.analyzer
        terms = stemmer.terms(query)
        if self.languages:
            terms = terms_in(query, self.languages, stemmer, self._keyword_index())
        if analyzer:
            terms = analyzer.with_forms(terms, query, stemmer, self._keyword_index())
        return terms

    @property
    def languages(self) -> frozenset[str]:
        """Languages of documents, other than English, of which words have forms."""
        if self._state.languages is None:
            self._state.languages = stemmed_languages(self.connection)
        return self._state.languages

    @property
    def main_language(self) -> str:
        """Language of more than half of the documents; "" if there is none."""
        if self._state.main_language is None:
            self._state.main_language = main_language(self.connection)
        return self._state.main_language

    def forms_in(
        self, terms: Terms, passage: int, text: str, words: Terms
    ) -> list[list[tuple[int, int]]]:
        """Return the spans of the forms of each term in a passage, or in its context, in the passage's language.

        Args:
            words: all words of the text.
        """
        stemmer, analyzer = self._store.stemmer, self._store.analyzer
        spans: list[list[tuple[int, int]]] = [[] for _ in terms]
        if self.languages:
            language = language_of_passage(self.connection, passage)
            spans = spans_of_forms(terms, language, text, words, stemmer)
        if analyzer:
            further = analyzer.spans(terms, words, stemmer)
            spans = [own + more for own, more in zip(spans, further, strict=True)]
        return spans

    def tokenize(self, text: str) -> list[IndexTerm]:
        """Return all words of a text, in order; a word that cannot be searched has no stems."""
        return self._store.stemmer.at(text, word_spans(text))

    def counts(self, terms: Terms) -> list[int]:
        """Return the number of passages with each term."""
        return [hits.count for hits in self._hits(terms)]

    def keyword_scores(self, terms: Terms, without: Collection[IndexTerm] = ()) -> KeywordScores:
        """Score by BM25 the passages that contain any of the terms.

        Args:
            terms: terms of the query; all of them determine the scale of keyword scores.
            without: terms that add nothing to a score.
        """
        all_terms = self._hits(terms)
        counted = [hits for term, hits in zip(terms, all_terms, strict=True) if term not in without]
        return KeywordScores(self._keyword_index(), all_terms, counted)

    def keyword_sums_of_texts(
        self, terms: Terms, passage: StoredPassage, texts: Sequence[str]
    ) -> NDArray[np.float64]:
        """Return the (n,) BM25 scores that a passage would have with other texts.

        All else in the index stays, so the statistics are those of the stored passages.

        Args:
            terms: terms of the query, without ignored ones.
            texts: n texts without markup.
        """
        analyzer, context = self._store.analyzer, passage.context
        language = language_of_passage(self.connection, passage.passage_id)
        words = [
            indexable(
                context, text, language, analyzer.tokens_of(f"{context}\n{text}") if analyzer else ""
            )
            for text in texts
        ]
        hits = dict(zip(terms, self._hits(terms), strict=True))
        return self._keyword_index().sums_of_texts(hits, words)

    def stems_of(self, passages: Ids) -> Postings:
        """Return the stems of passages with increasing IDs; rows are positions in `passages`."""
        block = build_block(self._store.stemmer, list(texts_of(self.connection, passages)))
        return PostingsBlock(block).postings()

    def counts_of_stems(self, stems: Sequence[bytes]) -> list[int]:
        """Return the number of passages with each stem."""
        index = self._keyword_index()
        return [index.count_of(stem) for stem in stems]

    def keyword_sums(self, weights: Mapping[bytes, float], passages: Ids) -> NDArray[np.float64]:
        """Return the (n,) sums like BM25 of existing passages, with weights of one's own for some stems."""
        return self._keyword_index().weighted_sums(weights, passages)

    def _keyword_index(self) -> KeywordIndex:
        """Open the postings of this state.

        Raises:
            IndexDamaged: the postings cannot be read.
        """
        state = self._state
        if state.keyword_index is None:
            with self._store.lock:
                blocks = [*map(self._store.block, state.segments), *blocks_of_tail(self.connection)]
                alive = [self._living(block.ids) for block in blocks]
                state.keyword_index = KeywordIndex(self._store.stemmer, blocks, alive)
        return state.keyword_index

    def _hits(self, terms: Terms) -> list[TermHits]:
        """Return the passages that contain each term."""
        index = self._keyword_index()
        hits = [index.hits(term, self._texts) for term in terms]
        if not index.stays_mapped:
            index.release()
        return hits

    def _texts(self, passages: Ids) -> Iterator[str]:
        """Yield the texts of passages for keyword matching, in the order of their ids."""
        return (text for _, text in texts_of(self.connection, passages))

    # Passages

    def ids(self) -> Ids:
        """Return the ids of all passages."""
        codes = [self._store.codes(segment, self._dimension) for segment in self._state.segments]
        in_segments = [self._view(part).passages for part in codes if part is not None]
        if len(in_segments) < len(codes):
            in_segments = []
        after = self._state.after if in_segments else 0
        rows = self.connection.execute("SELECT id FROM passages WHERE id > ? ORDER BY id", (after,))
        return np.concatenate([*in_segments, np.array(rows.fetchall(), dtype=np.int64).reshape(-1)])

    def passing(
        self, where: Where | None, among: Ids | None = None, without: Collection[int] = ()
    ) -> Ids | None:
        """Return the increasing IDs of the passages that pass a filter; None if all passages do.

        A snapshot of a server may return an expression instead of an array (`search.store.milvus.store.Filter`).

        Args:
            where: the filter; None lets all passages pass.
            among: IDs of the passages to choose from; None for all.
            without: IDs of passages to exclude.

        Raises:
            InputError: the filter names an unknown field.
        """
        ids = None if where is None else self._filtered(where)
        if among is not None:
            ids = np.unique(among) if ids is None else np.intersect1d(among, ids)
        if without:
            ids = np.setdiff1d(
                self.ids() if ids is None else ids, np.array(list(without), dtype=np.int64)
            )
        return ids

    def _filtered(self, where: Where) -> Ids:
        """Return the IDs of the passages that pass a filter; cached until the index changes."""
        from search.store.filters import passing

        cache = self._state.passing
        if where not in cache:
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[where] = passing(self.connection, where, self._with_phrase, self.ids)
        return cache[where]

    def _with_phrase(self, text: str) -> Ids:
        """Return the IDs of the passages that contain a phrase."""
        (stems,) = self._store.stemmer.stems([text])
        if not stems:
            return np.empty(0, dtype=np.int64)
        (hits,) = self._hits([IndexTerm(text, 0, len(text), stems)])
        return self._keyword_index().living(hits)

    def links(self) -> LinkTable:
        """Return the names of all documents, and the links in them; cached until the index changes."""
        if self._state.links is None:
            from search.store.links import read_links

            self._state.links = read_links(self.connection, not self.facts.folders.memory)
        return self._state.links

    def files_with(self, phrase: str, among: Ids | None = None) -> int:
        """Return the number of files, or of documents from memory, with a passage that contains a phrase.

        Args:
            among: IDs of the passages to look at; None for all.
        """
        ids = self._with_phrase(phrase)
        return self.count_files((ids if among is None else np.intersect1d(ids, among)).tolist())

    def facets(self, where: Where | None, among: Ids | None = None) -> tuple[Facet, ...]:
        """Return the most frequent values of each field, counted over documents with a passage that passes a filter.

        Cached until the index changes, unless it is restricted to the passages `among`.
        """
        from search.store.facets import facets_of

        if among is not None:
            passing = self.passing(where)
            return facets_of(
                self.connection, among if passing is None else np.intersect1d(among, passing)
            )
        cache = self._state.facets
        if where not in cache:
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[where] = facets_of(self.connection, self.passing(where))
        return cache[where]

    def random_pairs(self) -> Baseline | None:
        """Return the scores of random pairs of a query and a passage; None if they were not measured."""
        if not self._state.baseline:
            self._state.baseline = [read_baseline(self.connection)]
        return self._state.baseline[0]


def _positions(ids: Ids, keys: Ids) -> NDArray[np.intp]:
    """Return the position in `ids` of each key that is between the first and the last of `ids`.

    Raises:
        IndexDamaged: `ids` lacks such a key.
    """
    if len(ids):
        keys = keys[np.searchsorted(keys, ids[0]) : np.searchsorted(keys, ids[-1], side="right")]
        positions = np.searchsorted(ids, keys)
        if (ids[positions] != keys).any():
            raise IndexDamaged(f"a segment of the index lacks passages. {IndexDamaged.REPAIR}")
        return positions
    return np.empty(0, dtype=np.intp)
