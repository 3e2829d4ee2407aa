"""What readers ask an index on Milvus; see `search.store.protocol`."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import numpy as np

from search.encoding.fingerprint import Fingerprint
from search.errors import ChangedMeanwhile, IdMissing
from search.store.checksums import content_key
from search.store.copies import FEWEST_DOCUMENTS
from search.store.documents import document_of
from search.store.folders import Folders
from search.store.layout import home
from search.store.milvus import catalogue, facts, filters, nearest
from search.store.milvus.chosen import Chosen
from search.store.milvus.client import Client
from search.store.milvus.generation import Generation, View, load, missing, published
from search.store.milvus.layout import CONTENT, COPY, DOCUMENT, MOST_HITS, PASSAGE, ROW
from search.store.milvus.places import place_of
from search.store.milvus.ranges import both
from search.store.milvus.rows import OF_EMBEDDING, OF_PASSAGE, embedding_in, said_of, stored_passage
from search.store.milvus.words import Matches, Words
from search.store.protocol import Copied, Place, StoredDocument, StoredFile, StoredPassage
from search.store.settings import Source
from search.store.terms import Stemmer, Term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.contents import Facet
    from search.records.documents import Annotation, Annotator, NamedDocument
    from search.records.reports import Status
    from search.store.calibration import Baseline
    from search.store.conditions import Where
    from search.store.milvus.address import Address
    from search.store.protocol import Ids

_IDS_AT_ONCE = 1000  # in one expression
_ROWS_AT_ONCE = 250  # of passages: one may be as long as a text


class MilvusStore:
    """An index on a Milvus server that is open for reading; see `search.store.protocol.Store`.

    The server is asked for the newest state whenever one is read; what a state says of itself, its ids and the counts
    of copies are kept until there is another.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.client = Client(address)
        self._lock = threading.Lock()
        self._kept: _Kept | None = None
        self._remarks = threading.local()

    @property
    def path(self) -> Path:
        server = quote(self.address.uri.partition("://")[2], safe="")
        return home() / "servers" / server / self.address.name

    @property
    def name(self) -> str:
        return str(self.address)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._newest().generation.made

    @property
    def folders(self) -> Folders:
        generation = self._newest().generation
        return Folders.from_meta({"root": generation.root, "source": generation.source})

    @property
    def state(self) -> Hashable:
        return self._newest().of

    @property
    def problems(self) -> tuple[str, ...]:
        remarks = getattr(self._remarks, "of_filter", ())
        with self._lock:
            kept = self._kept
        return (*(kept.problems if kept else ()), *remarks)

    @cached_property
    def stemmer(self) -> Stemmer:
        return Stemmer()

    def remark(self, remarks: Sequence[str]) -> None:
        """What is to be known of the answer to this thread's query; each ends with the command that helps."""
        self._remarks.of_filter = remarks

    @contextmanager
    def reading(self) -> Iterator[MilvusSnapshot]:
        """One state of the index, the newest there is.

        Raises:
            IndexNotFound, IndexOutdated, IndexDamaged: it cannot be read.
            ChangedMeanwhile: two newer ones were published while it was read, so that it was deleted.
        """
        kept = self._newest()
        try:
            yield MilvusSnapshot(self, kept)
        except Exception:  # rows that are gone are missed in many ways
            if kept.of not in published(self.client).items():
                raise self._changed() from None
            raise
        if kept.of not in published(self.client).items():
            raise self._changed()

    def _changed(self) -> ChangedMeanwhile:
        return ChangedMeanwhile(f"{self.name} was published anew twice while it was read. Ask again.")

    def _newest(self) -> _Kept:
        while there := published(self.client):
            number, checksum = max(there.items())
            with self._lock:
                if self._kept is not None and self._kept.of == (number, checksum):
                    return self._kept
            if found := load(self.client, number):
                with self._lock:
                    self._kept = _Kept(View(self.client, found), self.stemmer, (number, checksum))
                    return self._kept
        raise missing(self.client)


class _Kept:
    """What is kept of a state while it is the newest. Safe between threads, which may find the same twice."""

    def __init__(self, view: View, stemmer: Stemmer, of: tuple[int, int]) -> None:
        self.view, self.of = view, of
        self.words = Words(view, stemmer)
        self.copied: dict[int, int] = {}  # key of a text -> in how many documents it is

    @property
    def generation(self) -> Generation:
        return self.view.generation

    @property
    def problems(self) -> tuple[str, ...]:
        """That some of what is near can be missed, if that is so."""
        if self.generation.exact:
            return ()
        dense = self.generation.dense
        recall = dense.get("recall@10")
        measured = (
            ""
            if recall is None
            else f": it found {100 * recall:.1f} % of the ten nearest when that was measured"
        )
        return (
            f"the server looks for what is near by an approximate index ({dense['kind']}){measured}. Search exactly "
            "with: seewhy index FOLDER --store-index FLAT",
        )

    @cached_property
    def ids(self) -> Ids:
        view = self.view
        rows = view.client.each(view.collection("passages"), view.there(), [PASSAGE], PASSAGE)
        found = np.array([row[PASSAGE] for row in rows], dtype=np.int64)
        found.flags.writeable = False  # shared by all who ask
        return found


class MilvusSnapshot:
    """One generation; see `search.store.protocol.Snapshot`."""

    def __init__(self, store: MilvusStore, kept: _Kept) -> None:
        self._store, self._kept, self._view = store, kept, kept.view
        self._generation = kept.generation

    @property
    def passage_count(self) -> int:
        return self._generation.passages

    @property
    def generation(self) -> int:
        return self._generation.number

    @property
    def fingerprint(self) -> Fingerprint:
        return self._generation.made

    @property
    def approximate(self) -> bool:
        return not self._generation.exact

    @property
    def root(self) -> Path:
        return Path(self._generation.root)

    @property
    def source(self) -> Source:
        return Source.from_dict(self._generation.source)

    @property
    def choice(self) -> Mapping[str, Any]:
        return self._generation.choice

    def status(self, weight: float) -> Status:
        return facts.status_of(self._view, weight)

    def nearest(
        self, query: NDArray[np.float32], k: int, among: Ids | None = None
    ) -> list[tuple[int, float]]:
        """By the server's index; or by all embeddings, where these are few or most are wanted."""
        if among is None:
            return nearest.nearest(self._view, query, k, "", self.passage_count)
        if isinstance(among, Chosen):
            return nearest.nearest(self._view, query, k, among.expression, len(among))
        cosines = self.cosines(query, among)
        first = np.lexsort((among, -cosines))[:k]
        return list(zip(among[first].tolist(), cosines[first].tolist(), strict=True))

    def cosines(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        return nearest.cosines(self._view, query, passages)

    def highest(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        return nearest.highest(self._view, query, passages)

    def embeddings(self, passages: Sequence[int]) -> NDArray[np.float32]:
        ids, places = np.unique(np.array(passages, dtype=np.int64), return_inverse=True)
        none = np.empty((0, int(self.fingerprint.dimension)), dtype=np.float32)
        rows = [vectors for _, vectors in nearest.blocks_of(self._view, ids)]
        return np.concatenate([none, *rows])[places]

    def embedding_blocks(self, among: Ids | None = None) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
        if among is None:
            return nearest.blocks(self._view, "", self.passage_count)
        if isinstance(among, Chosen):
            return nearest.blocks(self._view, among.expression, len(among))
        return nearest.blocks_of(self._view, among)

    def embedding_of(self, context: str, text: str) -> NDArray[np.float32] | None:
        same = self._view.there(f'{CONTENT} == "{content_key(context, text).hex()}"')
        rows = self._view.client.query(self._view.collection("passages"), same, OF_EMBEDDING, 1)
        return embedding_in(rows[0], int(self.fingerprint.dimension)) if rows else None

    def token_vectors(self, passages: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """None: a server is given none, so whoever needs them makes them of the texts."""
        return {}

    def terms(self, query: str, *, phrases: bool = False) -> list[Term]:
        return self._store.stemmer.terms(query, phrases=phrases)

    def words(self, text: str, among: Collection[tuple[str, ...]] = ()) -> list[Term]:
        return self._store.stemmer.words(text, among)

    def counts(self, terms: Sequence[Term]) -> list[int]:
        return self._kept.words.counts(terms) if terms else []

    def telling(self, terms: Sequence[Term]) -> list[Term]:
        return self._kept.words.telling(terms) if terms else []

    def matches(self, terms: Sequence[Term], without: Collection[Term] = ()) -> Matches:
        return self._kept.words.matches(terms, without)

    def ids(self) -> Ids:
        return self._kept.ids

    def passing(self, where: Where | None) -> Ids | None:
        chosen, remarks = (None, ()) if where is None else filters.passing(self._view, where)
        self._store.remark(remarks)
        return cast("Ids | None", chosen)

    def within(self, passages: Ids, among: Ids | None) -> Ids:
        if isinstance(among, Chosen):
            rows = self._of_passages(passages.tolist(), [PASSAGE], among.expression)
            return np.sort(np.array([row[PASSAGE] for row in rows], dtype=np.int64))
        return np.unique(passages) if among is None else np.intersect1d(passages, among)

    def without(self, among: Ids | None, excluded: Sequence[int]) -> Ids:
        if among is not None and not isinstance(among, Chosen):
            return among[~np.isin(among, np.array(excluded, dtype=np.int64))]
        others = f"{PASSAGE} not in {sorted(map(int, excluded))}" if excluded else ""
        there = "" if among is None else among.expression
        return cast("Ids", Chosen(self._view, both(there, others)))

    def stored(self, passages: Sequence[int]) -> dict[int, StoredPassage]:
        rows = self._of_passages(passages, OF_PASSAGE)
        return {int(row[PASSAGE]): stored_passage(row, self._generation.root) for row in rows}

    def passage(self, id_: int) -> StoredPassage:
        stored = self.stored([id_])
        if id_ not in stored:
            raise IdMissing(
                f"the index has no passage {id_}. Passages get new ids when their document changes; query again."
            )
        return stored[id_]

    def documents(self, passages: Sequence[int]) -> dict[int, int]:
        rows = self._of_passages(passages, [PASSAGE, DOCUMENT])
        return {int(row[PASSAGE]): int(row[DOCUMENT]) for row in rows}

    def document(self, id_: int) -> StoredDocument:
        asked = f"{DOCUMENT} in {[int(id_)] if _can_be(id_) else []}"
        rows = self._each(asked, OF_PASSAGE, _ROWS_AT_ONCE)
        return document_of(id_, [stored_passage(row, self._generation.root) for row in rows])

    def siblings(self, passages: Sequence[int]) -> dict[int, int]:
        documents = sorted(set(self.documents(passages).values()))
        found = {
            int(row[PASSAGE]): int(row[DOCUMENT])
            for chunk in _chunks(documents)
            for row in self._each(f"{DOCUMENT} in {chunk}", [PASSAGE, DOCUMENT])
        }
        return dict(sorted(found.items()))

    def documents_named(self, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
        return catalogue.documents_named(self._view, part, most, offset)

    def document_metadata(self) -> Iterator[dict[str, Any]]:
        return catalogue.document_metadata(self._view)

    def facets(self, where: Where | None) -> tuple[Facet, ...]:
        return catalogue.facets(self._view, where)

    def copies(self, passages: Sequence[int]) -> dict[int, Copied]:
        rows = self._of_passages(passages, [PASSAGE, COPY])
        texts = {int(row[PASSAGE]): int(row[COPY]) for row in rows if row[COPY]}
        known = self._kept.copied
        for chunk in _chunks(sorted(set(texts.values()) - known.keys())):
            documents: dict[int, set[int]] = {text: set() for text in chunk}
            for row in self._each(f"{COPY} in {chunk}", [PASSAGE, COPY, DOCUMENT]):
                documents[int(row[COPY])].add(int(row[DOCUMENT]))
            known.update((text, len(having)) for text, having in documents.items())
        return {
            passage: Copied(text, known[text])
            for passage, text in texts.items()
            if known[text] >= FEWEST_DOCUMENTS
        }

    def file_of(self, passage: int) -> StoredFile | None:
        stored = self.stored([passage])
        return stored[passage].file if stored else None

    def place(self, what: str | Path) -> Place:
        return place_of(self._view, what)

    def annotators(self) -> list[Annotator]:
        return facts.annotators(self._generation.annotators)

    def annotations(self, passages: Sequence[int]) -> dict[int, list[Annotation]]:
        if not self._generation.annotators:
            return {}
        said = {int(row[PASSAGE]): said_of(row) for row in self._of_passages(passages, OF_PASSAGE)}
        return {id_: list(by_name.values()) for id_, by_name in sorted(said.items()) if by_name}

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        for row in self._each("", OF_PASSAGE, _ROWS_AT_ONCE):
            if found := said_of(row).get(annotator):
                yield found

    def random_pairs(self) -> Baseline | None:
        return facts.random_pairs(self._generation)

    def _each(self, where: str, fields: Sequence[str], most: int = MOST_HITS) -> Iterator[dict[str, Any]]:
        """The rows of all passages that pass an expression, by increasing ids."""
        view = self._view
        return view.client.each(view.collection("passages"), view.there(where), fields, PASSAGE, most)

    def _of_passages(
        self, passages: Sequence[int], fields: Sequence[str], where: str = ""
    ) -> Iterator[dict[str, Any]]:
        """The rows of those of some passages that are there, and pass an expression."""
        most = _ROWS_AT_ONCE if ROW in fields else _IDS_AT_ONCE
        for chunk in _chunks(sorted(filter(_can_be, set(map(int, passages)))), most):
            yield from self._each(both(f"{PASSAGE} in {chunk}", where), fields)


def _can_be(id_: int) -> bool:
    """Whether a row can have that number."""
    return -(2**63) <= id_ < 2**63


def _chunks(numbers: Sequence[int], most: int = _IDS_AT_ONCE) -> Iterator[list[int]]:
    return (list(numbers[start : start + most]) for start in range(0, len(numbers), most))
