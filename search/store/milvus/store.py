"""Read an index on Milvus; search/store/snapshot.py describes the interface.

A snapshot contains the data that the server sent for one query: all candidates, and the number of passages with each
term. They are ranked and explained like those of an index in a folder. Milvus has no transactions: while indexing runs,
a snapshot may contain some of the new passages but the counts of the last run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import numpy as np

from search.errors import ChangedMeanwhile, IdMissing, IndexNotFound, InputError
from search.files import home
from search.records.contents import Facet, StoredPassage
from search.records.documents import Annotation, Annotator, NamedDocument
from search.records.memory_document import Document
from search.records.reports import SkippedGroup, Status
from search.store.bm25 import KeywordScores, norms, saturations, scale, weight
from search.store.files import remove_index
from search.store.milvus.client import Client
from search.store.milvus.collections import ABOUT, OF_PASSAGE, MilvusRow, drop_others, key_of, terms_of
from search.store.milvus.filters import expression, path_is
from search.store.passages import document_of
from search.store.places import resolve_path
from search.store.settings import IndexMeta
from search.store.snapshot import Snapshot, Store
from search.store.vectors import exact_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.conditions import Where
    from search.store.links import LinkTable
    from search.store.milvus.client import Address
    from search.store.passages import Copied, StoredDocument
    from search.store.places import ResolvedPath
    from search.store.snapshot import Ids, Terms
    from search.store.terms import IndexTerm

# Passages of a search by embedding or by terms: first, and if these do not suffice.
_CANDIDATES, _MAX_CANDIDATES = 300, 1_000
# With more than three terms, the best of so many passages sets the scale of keyword scores.
_SCALE_CANDIDATES = 10


class MilvusStore(Store):
    """An index on a Milvus server that is open for reading."""

    local = False
    problems = (
        "this list is approximate: the server ranked only its candidates. For details, run: seewhy status",
    )

    def __init__(self, address: Address, index_path: Path | None = None) -> None:
        """
        Args:
            index_path: folder with the data of the index that is on this machine, if there is one.
        """
        server = quote(address.uri.partition("://")[2], safe="")
        super().__init__(index_path or home() / "servers" / server / address.name)
        self.address, self.index_path, self.client = address, index_path, Client(address)

    @property
    def name(self) -> str:
        return str(self.index_path or self.address)

    @property
    def facts(self) -> IndexMeta:
        if self.latest_facts is None:
            with self.reading() as snapshot:
                self.latest_facts = snapshot.facts
        return self.latest_facts

    def newest(self) -> str:
        """Name of the active collection.

        Raises:
            IndexNotFound: the server has no such index.
        """
        if (collection := self.client.target(self.address.name)) is None:
            raise IndexNotFound(
                f"no index at {self.address}, or its first run has not finished. Create or resume "
                f"it with: seewhy index FOLDER --store {self.address}"
            )
        return collection

    @contextmanager
    def reading(self) -> Iterator[MilvusSnapshot]:
        yield MilvusSnapshot(self, self.newest())

    def remove(self) -> None:
        if self.client.target(self.address.name):
            self.client.call("drop_alias", self.address.name)
        drop_others(self.client, "")
        if self.index_path:
            remove_index(self.index_path)


class Filter(str):
    """Milvus expression for the passages that pass a filter; `passing` returns it instead of IDs."""


class MilvusSnapshot(Snapshot):
    """Data that the server sent for one query.

    A server stores no copies, annotations, token vectors, facets or random pairs, so methods that return them return
    nothing. Methods that list all passages raise InputError.
    """

    approximate = True

    def __init__(self, store: MilvusStore, collection: str) -> None:
        self.pending = np.empty(0, dtype=np.int64)  # a server has only passages that are encoded
        self._store: MilvusStore = store
        self._client, self._collection = store.client, collection
        self._rows: dict[int, MilvusRow] = {}
        self._counts: dict[str, int] = {}
        self._about: dict[str, Any] = {}
        self._searches: dict[tuple[str, str], tuple[int, list[int]]] = {}

    @property
    def about(self) -> dict[str, Any]:
        """Status, settings and counts that the last run stored on the server."""
        if not self._about:
            self._fetch_counts([])
        return self._about

    @property
    def languages(self) -> frozenset[str]:
        """None: a server stores the words of all texts as those of English ones."""
        return frozenset()

    @cached_property
    def facts(self) -> IndexMeta:
        return _facts(self.about)

    @property
    def _status(self) -> dict[str, Any]:
        status = self.about["status"]
        return {name: value for name, value in status.items() if name in Status.__annotations__}

    def status(self) -> Status:
        groups = tuple(SkippedGroup(**group) for group in self._status["skipped"])
        lists = {name: tuple(self._status.get(name, ())) for name in ("folders", "notes")}
        return Status(**self._status | lists | {"skipped": groups})

    # Meaning

    def nearest(
        self, query: NDArray[np.float32], k: int, among: Ids | None = None, terms: Terms = ()
    ) -> list[tuple[int, float]]:
        """Return the candidates that the server finds by embedding and by terms, ranked by their exact cosines."""
        ids = self.candidates(query, k, among)
        if terms:
            ids = list(dict.fromkeys([*ids, *self.candidates(terms, k, among)]))
        pairs = zip(ids, self.cosines(query, np.array(ids, dtype=np.int64)).tolist(), strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]

    def cosines(
        self, query: NDArray[np.float32], passages: Ids, least: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        return exact_cosines(self.embeddings(passages.tolist()), query).astype(np.float64)

    def embeddings(self, passages: Sequence[int]) -> NDArray[np.float32]:
        vectors = [row.embedding for row in self.ordered_rows(passages)]
        dimension = self._status["dimension"]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), dimension)

    def candidates(self, query: Any, n: int, among: Ids | None) -> list[int]:
        """Return the passage IDs that the server finds by an embedding or by terms; the same search is sent only once.

        Args:
            query: a (d,) embedding, or terms.
            n: number of passages; 0 for the few that determine the scale of keyword scores.
        """
        if among is not None and not isinstance(among, Filter):
            return sorted(self.rows(among.tolist()))
        where, text = among or "", ""
        limit = _MAX_CANDIDATES if n > _CANDIDATES else _CANDIDATES if n else _SCALE_CANDIDATES
        if not isinstance(query, np.ndarray):
            text = " ".join(key_of(stem) for term in query for stem in term.stems)
            if not text:
                return []
        searched, ids = self._searches.get((text, where), (0, []))
        if searched < limit:
            field, vector = ("sparse", text) if text else ("embedding", query.tolist())
            ids = self._put(
                self._client.search(self._collection, field, vector, limit, where, OF_PASSAGE)
            )
            self._searches[text, where] = limit, ids
        return ids

    # Words

    def counts(self, terms: Terms) -> list[int]:
        """Return the number of passages with each term; for a phrase, the number with its rarest word."""
        keys = [[key_of(stem) for stem in term.stems] for term in terms]
        self._fetch_counts([key for keys_of_term in keys for key in keys_of_term])
        return [min(self._counts[key] for key in keys_of_term) for keys_of_term in keys]

    def keyword_scores(self, terms: Terms, without: Collection[IndexTerm] = ()) -> KeywordScores:
        return MilvusKeywordScores(self, terms, without)

    def _fetch_counts(self, keys: Sequence[str]) -> None:
        """Fetch the facts about the index and the counts of stems that are not cached."""
        unknown = [key for key in dict.fromkeys([ABOUT, *keys]) if key not in self._counts]
        if not unknown:
            return
        where = f"key in {json.dumps(unknown)}"
        rows = self._client.query(terms_of(self._collection), where, ("key", "count", "facts"))
        self._counts |= dict.fromkeys(unknown, 0) | {row["key"]: row["count"] for row in rows}
        for about in (json.loads(row["facts"]) for row in rows if row["key"] == ABOUT):
            before = self._store.latest_facts
            self._about, self._store.latest_facts = about, _facts(about)
            if before and before.fingerprint != self._store.latest_facts.fingerprint:
                raise ChangedMeanwhile(
                    f"{self._store.address} was rebuilt with other settings. Run the query again."
                )

    # Passages and documents

    def passing(
        self, where: Where | None, among: Ids | None = None, without: Collection[int] = ()
    ) -> Ids | None:
        conditions = [expression(where)] if where else []
        if without:
            conditions.append(f"(not (passage in {list(without)}))")
        if among is not None and not conditions:
            return np.unique(among)
        if among is not None:
            conditions.append(f"passage in {among.tolist()}")
            rows = self._client.query(self._collection, " and ".join(conditions), ("passage",))
            return np.array(sorted(row["passage"] for row in rows), dtype=np.int64)
        return cast("Ids", Filter(" and ".join(conditions))) if conditions else None

    def rows(self, passages: Iterable[int]) -> dict[int, MilvusRow]:
        """Return the passages that exist; fetch those that are not cached."""
        if missing := [id_ for id_ in dict.fromkeys(passages) if id_ not in self._rows]:
            self._fetch(f"passage in {missing}")
        return {id_: self._rows[id_] for id_ in passages if id_ in self._rows}

    def _put(self, fetched: list[dict[str, Any]]) -> list[int]:
        """Cache fetched rows; return their ids."""
        root, rows = self._status["folder"], self._rows
        rows |= {row["passage"]: MilvusRow.of(row, root) for row in fetched if row["passage"] not in rows}
        return [row["passage"] for row in fetched]

    def _fetch(self, where: str) -> list[int]:
        """Fetch the passages that pass an expression."""
        return sorted(self._put(self._client.query(self._collection, where, OF_PASSAGE)))

    def stored(self, passages: Iterable[int]) -> dict[int, StoredPassage]:
        return {id_: row.passage for id_, row in self.rows(passages).items()}

    def passage(self, id_: int) -> StoredPassage:
        return self.ordered_rows([id_])[0].passage

    def ordered_rows(self, passages: Sequence[int]) -> list[MilvusRow]:
        """Return passages by ID, in the order of the IDs.

        Raises:
            IdMissing: a passage does not exist.
        """
        rows = self.rows(passages)
        for id_ in passages:
            if id_ not in rows:
                raise IdMissing(
                    f"no passage {id_} in the index. Passages get new IDs when their document changes; query again."
                )
        return [rows[id_] for id_ in passages]

    def documents(self, passages: Iterable[int]) -> dict[int, int]:
        return {id_: passage.document_id for id_, passage in self.stored(passages).items()}

    def passages_of(self, documents: Collection[int]) -> set[int]:
        raise self._cannot_list()

    def links(self) -> LinkTable:
        raise self._cannot_list()

    def document_names(
        self, passages: NDArray[np.int64] | None = None, limit: int | None = None, offset: int = 0
    ) -> list[str]:
        raise self._cannot_list()

    def first_passages_of_documents(self, passages: NDArray[np.int64] | None = None) -> list[int]:
        raise self._cannot_list()

    def has_document(self, name: str) -> bool:
        raise self._cannot_list()

    def count_files(self, passages: Iterable[int]) -> int:
        return len({passage.path for passage in self.stored(passages).values()})

    def files_with(self, phrase: str, among: Ids | None = None) -> int:
        raise self._cannot_list()

    def document(self, id_: int) -> StoredDocument:
        return document_of(id_, self.stored(self._fetch(f"document == {id_}")).values())

    def siblings(self, passages: Iterable[int]) -> dict[int, int]:
        numbers = sorted(set(self.documents(passages).values()))
        rows = self._client.query(self._collection, f"document in {numbers}", ("passage", "document"))
        return dict(sorted((row["passage"], row["document"]) for row in rows))

    def resolve(self, path: str | Path) -> ResolvedPath:
        def rows(resolved: ResolvedPath) -> list[tuple[int, int, int]]:
            passages = self.stored(self._fetch(path_is(resolved.name or ""))).values()
            return sorted(
                (passage.passage_id, passage.line_start, passage.line_end)
                for passage in passages
                if resolved.record is None or passage.document == resolved.document
            )

        return resolve_path(self.facts.root, path, rows)

    # A server does not store these

    def random_pairs(self) -> None:
        """Return None: scores of random pairs are not measured on Milvus."""

    def copies(self, passages: Collection[int]) -> dict[int, Copied]:
        return {}

    def near_copies(self, texts: Iterable[Copied]) -> Ids:
        return np.empty(0, dtype=np.int64)

    def token_vectors(self, passages: Sequence[int], dimension: int) -> dict[int, NDArray[np.float32]]:
        return {}

    def annotators(self) -> list[Annotator]:
        return []

    def annotations(self, passages: Iterable[int]) -> dict[int, list[Annotation]]:
        return {}

    def facets(self, where: Where | None, among: Ids | None = None) -> tuple[Facet, ...]:
        return ()

    def documents_named(self, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
        return []

    # A server cannot list all passages

    def ids(self) -> Ids:
        raise self._cannot_list()

    def embedding_blocks(self, among: Ids | None = None) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
        raise self._cannot_list()

    def some_documents(self, step: int) -> list[tuple[int, str, str, str]]:
        raise self._cannot_list()

    def first_passages(self, documents: list[int], most: int) -> dict[int, list[int]]:
        raise self._cannot_list()

    def memory_documents(self, ids: Iterable[str]) -> list[Document]:
        raise self._cannot_list()

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        raise self._cannot_list()

    def lacking(self, annotator: str) -> list[int]:
        raise self._cannot_list()

    def _cannot_list(self) -> InputError:
        return InputError(
            f"{self._store.address} is on a server, which cannot list all passages. Use a local index."
        )


def _facts(about: dict[str, Any]) -> IndexMeta:
    status = about["status"]
    return IndexMeta.of(
        about | {"root": status["folder"], **{key: status[key] for key in ("passages", "fingerprint")}}
    )


class MilvusKeywordScores(KeywordScores):
    """Keyword scores of the candidates that contain any of the query's terms."""

    def __init__(self, snapshot: MilvusSnapshot, terms: Terms, without: Collection[IndexTerm]) -> None:
        self._snapshot, self._all_terms = snapshot, list(terms)
        self._counted = [term for term in terms if term not in without]
        self._weights = {
            term: weight(count, snapshot.facts.passages)
            for term, count in zip(terms, snapshot.counts(terms), strict=True)
        }

    @cached_property
    def scale(self) -> float:  # type: ignore[override]
        """BM25 score that counts as a keyword score of 1; see `search.store.bm25.scale`.

        With more than three terms, the best BM25 is that of the server's first candidates.
        """
        if not self._all_terms:
            return 1.0
        best = 0.0
        if len(self._all_terms) > 3:
            first = self._snapshot.candidates(self._all_terms, 0, None)[:_SCALE_CANDIDATES]
            best = float(self._sums(first, self._all_terms).sum(axis=1).max(initial=0.0))
        return scale(best, self._weights.values())

    def best(self, n: int, among: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        ids, scores = self.at_least(0.0, among, n)
        first = np.lexsort((ids, -scores))[:n]
        return ids[first], scores[first]

    def at_least(
        self, score: float, among: Ids | None = None, n: int = 1
    ) -> tuple[Ids, NDArray[np.float64]]:
        ids = np.array(sorted(self._snapshot.candidates(self._counted, n, among)), dtype=np.int64)
        scores = self.of(ids)
        enough = (scores >= score) & (scores > 0)
        return ids[enough], scores[enough]

    def of(self, passages: Ids) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = self.addends(passages).sum(axis=1) / self.scale
        return scores

    def addends(self, passages: Ids) -> NDArray[np.float64]:
        return self._sums(passages.tolist(), self._counted)

    def _sums(self, passages: Sequence[int], terms: Terms) -> NDArray[np.float64]:
        """Return the (n, terms) addends of terms to the BM25 of n passages."""
        rows, about = self._snapshot.ordered_rows(passages), self._snapshot.about
        texts = ["".join(f"|{stem}|" for stem in row.stems) for row in rows]
        mean = about["words"] / max(1, self._snapshot.facts.passages)
        lengths = norms(np.array([float(len(row.stems)) for row in rows]), mean)
        addends = np.zeros((len(passages), len(terms)))
        for column, term in enumerate(terms):
            pattern = "".join(f"|{key_of(stem)}|" for stem in term.stems)
            frequencies = np.array([text.count(pattern) for text in texts], dtype=float)
            addends[:, column] = self._weights[term] * saturations(frequencies, lengths)
        return addends
