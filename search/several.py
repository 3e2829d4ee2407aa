"""`Indexes`: several indexes that are asked as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from search.encoding import Encoder
from search.errors import (
    FieldMissing,
    FingerprintMismatch,
    IndexDamaged,
    IndexNotFound,
    SearchError,
    WordMissing,
)
from search.index import Index
from search.ranking.selection import Selection
from search.records.hits import Hit, Hits, Surroundings
from search.records.options import SelectionOptions, part_of
from search.store.layout import all_indexes, is_own

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.ranking.question import Query
    from search.records.explanations import Explanation, Highlight
    from search.records.options import ExplainOptions, QueryOptions

Said = TypeVar("Said")


class Indexes:
    """Indexes that answer as one: what each finds, in one ranking by score.

    All have to be made in the same way, as else their scores cannot be compared. Words count by how rare they are in
    their own index. `Hit.index` names the index of a hit.

    Attributes:
        all: each of them.
        whatever_there_is: none of them was named, so that one that is damaged is left out, with a note.
    """

    def __init__(
        self, indexes: Sequence[Index], notes: Sequence[str] = (), whatever_there_is: bool = False
    ) -> None:
        self.whatever_there_is = whatever_there_is
        self.all = tuple({index.name: index for index in indexes}.values())
        self._of_opening = tuple(notes)
        self._of_query: list[str] = []
        if not self.all:
            raise IndexNotFound("there is no index to ask. Make one with: seewhy index FOLDER")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.all, self._of_opening, self.whatever_there_is)

    @classmethod
    def open(
        cls,
        what: Sequence[str | Path] | None = None,
        *,
        offline: bool = False,
        engine: str = "auto",
    ) -> Indexes:
        """Open indexes for reading.

        Args:
            what: each as for `Index.open`; None means all in the user's data folder, of which those that cannot be
                read are left out, with a note.
            offline, engine: as for `Index.open`.

        Raises:
            IndexNotFound: there is no such index, or none at all.
        """
        opened, notes = [], []
        for one in what or all_indexes():
            try:
                index = Index.open(one, offline=offline, engine=engine)
                opened.append(index)
            except SearchError as error:
                if what:
                    raise
                notes.append(f"an index is left out: {error}")
        return cls(opened, notes, not what)

    @property
    def encoder(self) -> Encoder:
        """The encoder that all were made with."""
        return self.all[0].encoder

    @property
    def generation(self) -> int:
        """The sum of the generations of all: another number after every change of one."""
        return sum(index.generation for index in self.all)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of the indexes, and of the last query."""
        return (*self._of_opening, *self._of_query, *(note for index in self.all for note in index.notes))

    def of(self, hit: Hit) -> Index:
        """The index that a hit is of."""
        return next(index for index in self.all if name_of(index) == hit.index)

    def query(self, text: Query, k: int = 10, **options: Unpack[QueryOptions]) -> Hits:
        """The k best passages of all indexes; as `Index.query`, which says what the options mean.

        Each index is asked with the same options, and what it finds ranks by score among what the others find. An index
        that has not the fields of a filter is left out, with a note, unless all lack them. The verdict is that of the
        index with the best hit; `rank_before`, which is a rank in one index, is not told. A word of `without` is
        left out where it counts; it has to count in one of the indexes, and `Hit.ranking` says which were left out.

        Raises:
            FingerprintMismatch: two of the indexes were made in different ways.
            InputError: as for `Index.query`.
        """
        self._require_alike()
        if options.get("mode") != "lexical":
            for index in self.all[1:]:
                index.share(self.encoder)
        wanted = Selection.of(k, **part_of(options, SelectionOptions))
        options["offset"] = 0
        explain = options.pop("explain", False)
        layer = options.pop("layer", None) if explain else None
        found = list(self._asked(text, wanted.last, options))
        if wanted.group:
            groups = _by_score([list(group) for hits in found for _, group in groupby(hits, _document)])
        else:
            groups = _merged(found, wanted.per_document)
        first = sum(map(len, groups[: wanted.offset])) + 1
        said = groups[0][0].verdict if groups else None
        shown = [hit for group in groups[wanted.offset : wanted.last] for hit in group]
        hits = [replace(hit, rank=rank, verdict=said) for rank, hit in enumerate(shown, first)]
        if explain:
            whys = self.explain_all(text, hits, layer=layer)
            hits = [replace(hit, explanation=why) for hit, why in zip(hits, whys, strict=True)]
        return Hits(hits)

    def explain(self, query: Query, hit: Hit, **options: Unpack[ExplainOptions]) -> Explanation:
        """Why a hit has its score for a query; as `Index.explain`."""
        return self.of(hit).explain(query, hit, **options)

    def explain_all(
        self, query: Query, hits: Sequence[Hit], **options: Unpack[ExplainOptions]
    ) -> list[Explanation]:
        """As `explain`, for many hits of one query."""
        return self._of_each(hits, lambda index, its: index.explain_all(query, its, **options))

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        """What counts in the text of each hit; as `Index.highlights`."""
        return self._of_each(hits, lambda index, its: index.highlights(query, its))

    def _of_each(
        self, hits: Sequence[Hit], asked: Callable[[Index, list[Hit]], Sequence[Said]]
    ) -> list[Said]:
        """What each index says of its own hits, in the order of all."""
        of = [self.of(hit) for hit in hits]
        found = {
            index: iter(asked(index, [hit for hit, its in zip(hits, of, strict=True) if its is index]))
            for index in set(of)
        }
        return [next(found[index]) for index in of]

    def surroundings(self, hit: Hit, *, lines: int) -> Surroundings:
        """The lines of the source file around a hit; as `Index.surroundings`."""
        return self.of(hit).surroundings(hit, lines=lines)

    def _asked(self, text: Query, k: int, options: QueryOptions) -> Iterator[list[Hit]]:
        """The hits of each index that has the fields of the filter."""
        said: list[str] = []
        lacking: SearchError | None = None
        uncounted: list[WordMissing] = []
        for index in self.all:
            name = name_of(index)
            try:
                hits = _where_they_count(index, text, k, options, uncounted)
            except (FieldMissing, IndexDamaged) as error:
                if isinstance(error, IndexDamaged) and not self.whatever_there_is:
                    raise
                lacking = error
                said.append(f"the index '{name}' is left out: {str(error).partition(chr(10))[0]}")
            else:
                yield [replace(hit, index=name, rank_before=None) for hit in hits]
        if lacking and len(said) == len(self.all):
            raise lacking
        for word in options.get("without") or ():
            nowhere = [error for error in uncounted if error.word == word]
            if len(nowhere) == len(self.all) - len(said):
                raise nowhere[0]
        self._of_query = said  # at once, as threads may ask at the same time

    def _require_alike(self) -> None:
        """Raise FingerprintMismatch if one was made otherwise than the first. They may be cut otherwise."""
        (first, one), *others = ((name_of(index), index.fingerprint) for index in self.all)
        for name, made in others:
            if different := one.differences(replace(made, passages=one.passages)):
                problem = f"the indexes '{first}' and '{name}' were made in different ways"
                remedy = "Ask one with --index, or build one anew as the other is: seewhy index FOLDER --rebuild"
                raise FingerprintMismatch(different, first, name, problem, remedy)


def _where_they_count(
    index: Index, text: Query, k: int, options: QueryOptions, uncounted: list[WordMissing]
) -> Hits:
    """The hits of an index without those of the words that count there; the others are noted."""
    try:
        return index.query(text, k, **options)
    except WordMissing as missing:
        uncounted.append(missing)
        rest = [word for word in options["without"] or () if word != missing.word]
        return _where_they_count(index, text, k, {**options, "without": rest}, uncounted)


def name_of(index: Index) -> str:
    """As `seewhy list` has it; of an index that is kept elsewhere, its path."""
    return index.path.name if is_own(index.path) else index.name


def _document(hit: Hit) -> tuple[str, str]:
    return hit.index, hit.document


def _by_score(groups: list[list[Hit]]) -> list[list[Hit]]:
    return sorted(groups, key=lambda group: -group[0].score)


def _merged(found: Sequence[Sequence[Hit]], per_document: int) -> list[list[Hit]]:
    """All hits by score, each by itself; those beyond the most of a document stand behind the others."""
    within: list[list[Hit]] = []
    beyond: list[list[Hit]] = []
    seen: Counter[tuple[str, str]] = Counter()
    for hit in (hit for hits in found for hit in hits):
        seen[_document(hit)] += 1
        (beyond if 0 < per_document < seen[_document(hit)] else within).append([hit])
    return _by_score(within) + _by_score(beyond)
