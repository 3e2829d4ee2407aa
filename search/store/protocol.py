"""What ranking, explaining, filters, evaluation and the task heads ask an index for: the seam for other engines.

A *store* is one index that is open in a process, and holds what a process keeps (open files). Everything is read
through a *snapshot*, one state of the index:

    with store.reading() as snapshot:
        nearest = snapshot.nearest(query, k=10)
        passages = snapshot.stored([id_ for id_, _ in nearest])

Here that is a read transaction of SQLite, and files of codes and words that belong to it. To put another engine
behind it (a server of vectors, a shared database), write two classes that have these methods. What must hold:

- **One state.** All that a snapshot says belongs together: no id without its passage, no half of an update. An engine
  without transactions marks rows with the generation in which they came and went, and a snapshot pins one.
- **Exact.** `nearest` misses no passage, and `cosines` are inner products of the stored float32 embeddings with the
  query, added up in float64 and rounded to float32, so that equal embeddings have equal cosines. Ids settle ties: of
  equal scores the lower id comes first. An engine that can only approximate says so in `problems`.
- **Sums.** A passage's BM25 is the sum of its terms' addends, added up in the order of the terms; the highest one is
  over all passages, whatever the filter. Ranking needs no engine's own fusion: it takes the two ranked routes and
  scores by id (`search.ranking.fusion`), so an engine need not even know that there are hybrid scores.
- **Ids** are whole numbers above 0 and never used twice. Arrays of them increase. Where `among` is asked for, only
  these passages are chosen from, with the scores that they have without it.
- **Damage is an error.** A row that is used for an answer is what was written, or IndexDamaged is raised.
- **Short.** No model runs while a snapshot is open; a snapshot is used in the thread that opened it.

Scores are higher where better, never distances.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.encoding.fingerprint import Fingerprint
    from search.records.contents import Facet, StoredFile, StoredPassage
    from search.records.documents import Annotation, Annotator, NamedDocument
    from search.records.reports import Status
    from search.store.calibration import Baseline
    from search.store.conditions import Where
    from search.store.folders import Folders
    from search.store.settings import Source
    from search.store.terms import Term

    Ids: TypeAlias = NDArray[np.int64]


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


@dataclass(frozen=True)
class Place:
    """What a path means in an index.

    Attributes:
        name: relative to the indexed folder, with forward slashes; None for what lies outside it.
        record: number of a record of the file, None for the whole file.
        line: 1-based line of the file, None for all of it.
        location: where the file is, or would be.
        passages: ids of the passages that are stored for it.
        near: names of indexed files that may have been meant, where nothing is stored or found under this one.
    """

    name: str | None
    record: int | None
    line: int | None
    location: Path
    passages: tuple[int, ...] = ()
    near: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The document's name, as a `Hit` gives it; the path of what lies outside."""
        return (self.name or str(self.location)) + (f"#{self.record}" if self.record else "")


class Store(Protocol):
    """An index that is open for reading. Safe between threads."""

    @property
    def path(self) -> Path:
        """The folder of what the index keeps on this machine; nothing in it is indexed."""

    @property
    def name(self) -> str:
        """What opens it again: a path, or the address of an index on a server."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What the embeddings were made with, of the newest state.

        Raises:
            IndexNotFound: it was begun and never filled.
        """

    @property
    def folders(self) -> Folders:
        """What was indexed."""

    @property
    def state(self) -> Hashable:
        """What differs where the fingerprint may be another one than before; quicker than to read that."""

    def reading(self) -> AbstractContextManager[Snapshot]:
        """One state of the index, the newest there is.

        Raises:
            IndexNotFound, IndexOutdated, IndexDamaged: it cannot be read.
        """

    def remove(self) -> None:
        """Delete the index, also on its server."""

    @property
    def problems(self) -> Sequence[str]:
        """What is wrong though the index answers, and what the thread's last filter could not know.

        Sentences, each of which ends with the command that helps.
        """


class Snapshot(Protocol):
    """One state of an index; see the module's docstring for what must hold."""

    # Facts

    @property
    def passage_count(self) -> int:
        """How many passages there are."""

    @property
    def generation(self) -> int:
        """A number that is another one after every change of what answers are made of."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What the embeddings were made with; among others their dimension."""

    @property
    def approximate(self) -> bool:
        """Whether `nearest` can miss passages."""

    @property
    def root(self) -> Path:
        """The folder that was indexed."""

    @property
    def source(self) -> Source:
        """Which of its files are indexed, and how records are read."""

    @property
    def choice(self) -> Mapping[str, Any]:
        """The weight and rerank ("late" or None) to rank with where nothing else is said; empty if none was chosen."""

    def status(self, weight: float) -> Status:
        """What the index is and holds, as `Index.status` says it.

        Args:
            weight: what the cosine counts in the scores of random pairs.
        """

    # Meaning

    def nearest(
        self, query: NDArray[np.float32], k: int, among: Ids | None = None, terms: Sequence[Term] = ()
    ) -> list[tuple[int, float]]:
        """The k passages with the highest cosine, best first, as (passage id, cosine).

        Args:
            query: (d,) unit length.
            k: at least 1; fewer come back only if there are fewer passages.
            among: ids of the passages to choose from; None for all.
            terms: of the query; a server that misses passages also looks among those that have them.
        """

    def cosines(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        """(n,) the cosines of passages that are there, in their order: the same numbers as in `nearest`."""

    def highest(self, query: NDArray[np.float32], passages: Ids) -> NDArray[np.float64]:
        """(n,) what the cosines of passages, given by increasing ids, are at most: without much work, infinity if need
        be."""

    def embeddings(self, passages: Sequence[int]) -> NDArray[np.float32]:
        """(n, d) of passages that are there, in their order; unit length."""

    def embedding_blocks(self, among: Ids | None = None) -> Iterator[tuple[Ids, NDArray[np.float32]]]:
        """All embeddings, or those of some passages, as blocks of (ids, (n, d)) by increasing ids."""

    def embedding_of(self, context: str, text: str) -> NDArray[np.float32] | None:
        """(d,) of a passage with exactly this context and text; None where there is none."""
        return None

    def token_vectors(self, passages: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """(tokens, d) rows of length 1, of those of the passages that have them."""
        return {}

    # Words

    def terms(self, query: str, *, phrases: bool = False) -> list[Term]:
        """The words of a query, each once, in order; with `phrases` what stands in double quotes is one term."""

    def words(self, text: str, among: Collection[tuple[str, ...]] = ()) -> list[Term]:
        """All words of a text, in order; one that is never looked for has no stems.

        Args:
            among: words that have none of these stems, each of which is one, may be left out, if any are named.
        """

    def counts(self, terms: Sequence[Term]) -> list[int]:
        """In how many passages each term is."""

    def telling(self, terms: Sequence[Term]) -> list[Term]:
        """Those that tell passages apart: in some, and in no more than half of them; else all that are in any."""

    def matches(self, terms: Sequence[Term], without: Collection[Term] = ()) -> Matches:
        """The passages that have any of the terms but those that are left out, by BM25; on the scale of all."""

    # Passages and documents

    def ids(self) -> Ids:
        """Of all passages."""

    def passing(self, where: Where | None) -> Ids | None:
        """Of the passages that pass a filter; None for no filter.

        A server's may be given as what becomes an array only if need be: it has a length, and `numpy.asarray` of it is
        the ids.

        Raises:
            InputError: it names a field that nothing has, or orders one by what none of its values is.
        """

    def within(self, passages: Ids, among: Ids | None) -> Ids:
        """Those of some passages that are among others, increasing."""

    def without(self, among: Ids | None, excluded: Sequence[int]) -> Ids:
        """The passages to choose from, all for None, but for some; as `passing` gives them."""

    def stored(self, passages: Sequence[int]) -> dict[int, StoredPassage]:
        """Those of the passages that are there, by id."""

    def passage(self, id_: int) -> StoredPassage:
        """
        Raises:
            IdMissing: there is no passage of that id.
        """

    def documents(self, passages: Sequence[int]) -> dict[int, int]:
        """Passage id -> a number of its document, of those of the passages that are there."""

    def document(self, id_: int) -> StoredDocument:
        """
        Raises:
            IdMissing: there is no document of that number.
        """

    def siblings(self, passages: Sequence[int]) -> dict[int, int]:
        """As `documents`, of all passages of the same documents, by increasing ids."""

    def place(self, what: str | Path) -> Place:
        """What a path means: a document, a record or a line, with the ids of its passages.

        Raises:
            InputError: it is a folder, or no passage is at that line.
        """

    def documents_named(self, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
        """Documents with all words of `part` in their name or title, by name."""
        return []

    def document_metadata(self) -> Iterator[dict[str, Any]]:
        """What each document says of itself."""

    def facets(self, where: Where | None) -> tuple[Facet, ...]:
        """The most frequent values of fields of all documents, or of those with a passage that passes a filter."""
        return ()

    def copies(self, passages: Sequence[int]) -> dict[int, Copied]:
        """Those of the passages whose text, or nearly that, stands in many documents."""
        return {}

    # What is known besides

    def annotators(self) -> Sequence[Annotator]:
        """Who gave annotations to passages, by name."""
        return ()

    def annotations(self, passages: Sequence[int]) -> Mapping[int, Sequence[Annotation]]:
        """What annotators say of those of the passages that they have said something of."""
        return {}

    def annotations_by(self, annotator: str) -> Iterator[Annotation]:
        """All that one annotator says, by increasing ids of passages."""
        return iter(())

    def random_pairs(self) -> Baseline | None:
        """What random pairs of a query and a passage score; None where nobody measured it."""
        return None


class Matches(Protocol):
    """The passages that have any of some terms: the ranked route of words.

    A *part* is a passage's BM25 by `scale`, in [0, 1]; what the word part of a score is made of. An engine that
    searches by sparse vectors can store each passage's term saturations, and ask with the terms' weights; the score of
    its first hit without a filter is the highest.
    """

    @property
    def scale(self) -> float:
        """The BM25 that is a part of 1: what the three most telling terms could reach, (k1 + 1) times the sum of their
        weights; or the highest of all passages, with or without a filter, if that is more. Of all terms, also those
        that are left out. 1 without a term."""

    def best(self, n: int, among: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        """Ids and parts of the n best, best first; equal ones in the order of ids."""

    def at_least(self, part: float, among: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        """Ids, increasing, and parts of all that have at least this part."""

    def parts(self, passages: Ids) -> NDArray[np.float64]:
        """(n,) of passages, in their order; 0 for those that have no term."""

    def addends(self, passages: Ids) -> NDArray[np.float64]:
        """(n, terms) what each term that is not left out adds to the BM25 of a passage; a row's sum by `scale` is the
        part."""
