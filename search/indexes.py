"""`Indexes`: several indexes that are searched together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from search.encoding import Encoder
from search.errors import (
    NO_INDEX,
    FieldMissing,
    FingerprintMismatch,
    IndexDamaged,
    IndexNotFound,
    InputError,
    SearchError,
    WordMissing,
)
from search.index import Index, searcher_of
from search.ranking.identifiers import with_identifiers
from search.ranking.question import Question, as_question, parse_query
from search.ranking.selection import Selection
from search.records.filter_text import filter_text
from search.records.hits import Absence, Coverage, Hit, Hits, Verdict
from search.records.option_tools import select_options
from search.records.options import EngineName, SelectionOptions
from search.searcher import is_list
from search.store.home import is_own, typed_name
from search.store.layout import all_indexes
from search.store.namespaces import outer_index

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.ranking.question import Query
    from search.records.explanations import Explanation, Highlight
    from search.records.options import ExplainOptions, QueryOptions

Result = TypeVar("Result")


class Indexes:
    """Several indexes that are searched together; their hits are merged into one ranking by score.

    All indexes must have the same model and settings of embeddings, so that their scores can be
    compared. Keywords are weighted by their rarity in each index. `Hit.index` names the index of a hit.

    Attributes:
        all: the indexes.
        skip_damaged: True if the user did not name the indexes, so that a damaged index is skipped with a note.
    """

    def __init__(
        self, indexes: Sequence[Index], notes: Sequence[str] = (), skip_damaged: bool = False
    ) -> None:
        self.skip_damaged = skip_damaged
        self.all = tuple({index.name: index for index in indexes}.values())
        self._of_opening = tuple(notes)
        self._of_query: list[str] = []
        if not self.all:
            raise IndexNotFound(NO_INDEX)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.all, self._of_opening, self.skip_damaged)

    @classmethod
    def open(
        cls,
        sources: Sequence[str | Path] | None = None,
        *,
        offline: bool = False,
        engine: EngineName = "auto",
    ) -> Indexes:
        """Open indexes for reading.

        Args:
            sources: each as for `Index.open`; None opens all indexes in the user's data folder, and skips unreadable
                ones with a note.
            offline, engine: as for `Index.open`.

        Raises:
            IndexNotFound: one of the indexes does not exist, or there are none.
        """
        opened, notes = [], []
        for name in sources or all_indexes():
            try:
                index = Index.open(name, offline=offline, engine=engine)
                opened.append(index)
            except SearchError as error:
                if sources:
                    raise
                notes.append(f"skipped one index: {error}")
        return cls(opened, notes, not sources)

    @property
    def encoder(self) -> Encoder:
        """Encoder of the first index; it fits all indexes, because they have the same model."""
        return self.all[0].encoder

    @property
    def generation(self) -> int:
        """Sum of the generations of all indexes: it changes whenever one of them changes."""
        return sum(index.generation for index in self.all)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the indexes, and about the last query."""
        return (
            *self._of_opening,
            *self._of_query,
            *(note for index in self.all for note in index.notes),
        )

    def of(self, hit: Hit) -> Index:
        """Return the index of a hit."""
        return next(index for index in self.all if name_of(index) == hit.index)

    def query(self, text: Query, k: int = 10, **options: Unpack[QueryOptions]) -> Hits:
        """Return the k best passages of all indexes; for the options see `Index.query`.

        Each index is searched with the same options, and all hits are ranked by score. An index that lacks a field of
        the filter is skipped with a note; if all lack it, FieldMissing is raised. The verdict is the one with the
        highest probability, or None if the index of the best hit has none. `rank_before` is None: ranks of different
        indexes are not comparable. A word of `without` is ignored where it is a keyword; WordMissing is raised for a
        word that is a keyword in no index.

        Raises:
            FingerprintMismatch: two of the indexes have different models or settings.
            InputError: as for `Index.query`.
        """
        self._require_alike()
        if options.get("mode") != "lexical":
            for index in self.all[1:]:
                searcher_of(index).share(self.encoder)
        selection = Selection.of(k, **select_options(options, SelectionOptions))
        if is_list(text) and any(options.get(name) for name in ("where", "since", "until")):
            return self._listed(selection, options)
        if isinstance(text, str):
            where = filter_text(options.get("where"))
            rest, options["where"] = parse_query(str(as_question(text)), where, self._passes)
            rest, _ = with_identifiers(rest, lambda word: self._passes(f'text:"{word}"'))
            text = Question.of(rest)
        if options.get("weight") is None and options.get("mode") in (None, "hybrid"):
            options["weight"] = self._weight(text, options)
        if options.get("diversity"):
            raise InputError("'diversity' works with a single index only. Name one index.")
        options |= {"offset": 0, "sort": "score"}
        explain = options.pop("explain", False)
        layer = options.pop("layer", None) if explain else None
        lists, coverages = list[list[Hit]](), list[Coverage]()
        for hits, coverage in self._hits(text, selection.last, options):
            lists.append(hits)
            coverages.append(coverage)
        if selection.group:
            groups = _by_score([list(group) for hits in lists for _, group in groupby(hits, _document)])
        else:
            groups = _merged(lists, selection.per_document)
        first = sum(map(len, groups[: selection.offset])) + 1
        best = groups[0][0] if groups else None
        verdict = Verdict.of_several(
            [
                hits[0].verdict
                for hits in sorted(filter(None, lists), key=lambda hits: hits[0] is not best)
            ]
        )
        selected = [hit for group in groups[selection.offset : selection.last] for hit in group]
        hits = [replace(hit, rank=rank, verdict=verdict) for rank, hit in enumerate(selected, first)]
        covered = reduce(add, coverages) if coverages else None
        if explain:
            whys = self.explain(text, hits, layer=layer)
            hits = [replace(hit, explanation=why) for hit, why in zip(hits, whys, strict=True)]
        merged = Hits(selection.ordered(hits))
        return merged if covered is None or covered.complete else merged.covered(covered)

    def _listed(self, selection: Selection, options: QueryOptions) -> Hits:
        """List documents of all indexes without a query, in the order of a field; see `Index.query`."""
        of_each: QueryOptions = {**options, "offset": 0}
        lists = [hits for hits, _ in self._hits("", selection.last, of_each)]
        ordered = selection.ordered([hit for hits in lists for hit in hits])
        part = ordered[selection.offset : selection.last]
        return Hits(replace(hit, rank=rank) for rank, hit in enumerate(part, selection.offset + 1))

    def _weight(self, text: Query, options: QueryOptions) -> float:
        """Return one weight of the meaning for all indexes, so that scores can be compared: the lowest of theirs."""
        question = as_question(text)
        return min(searcher_of(index).ranking(question, options).weight for index in self.all)

    def _passes(self, where: str) -> bool:
        return any(searcher_of(index).passes(where) for index in self.all)

    @overload
    def explain(self, query: Query, hit: Hit, **options: Unpack[ExplainOptions]) -> Explanation: ...
    @overload
    def explain(
        self, query: Query, hit: Sequence[Hit], **options: Unpack[ExplainOptions]
    ) -> list[Explanation]: ...
    def explain(
        self, query: Query, hit: Hit | Sequence[Hit], **options: Unpack[ExplainOptions]
    ) -> Explanation | list[Explanation]:
        """Explain the score of a hit, or of several hits of one query; see `Index.explain`."""
        if isinstance(hit, Hit):
            return self.of(hit).explain(query, hit, **options)
        return self._of_each(hit, lambda index, hits: index.explain(query, hits, **options))

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        """Return the spans of query words in the text of each hit; see `Searcher.highlights`."""
        return self._of_each(hits, lambda index, hits: searcher_of(index).highlights(query, hits))

    def _of_each(
        self, hits: Sequence[Hit], call: Callable[[Index, list[Hit]], Sequence[Result]]
    ) -> list[Result]:
        """Call a function once per index, with the hits from that index; return the results in the order of `hits`."""
        of = [self.of(hit) for hit in hits]
        results = {
            index: iter(call(index, [hit for hit, owner in zip(hits, of, strict=True) if owner is index]))
            for index in set(of)
        }
        return [next(results[index]) for index in of]

    def _hits(self, text: Query, k: int, options: QueryOptions) -> Iterator[tuple[list[Hit], Coverage]]:
        """Yield the hits of each index that has the fields of the filter, and what was looked at."""
        notes: list[str] = []
        lacking: SearchError | None = None
        misses: list[WordMissing] = []
        for index in self.all:
            name = name_of(index)
            try:
                hits = _query_index(index, text, k, options, misses)
            except (FieldMissing, IndexDamaged) as error:
                if isinstance(error, IndexDamaged) and not self.skip_damaged:
                    raise
                lacking = error
                notes.append(f"skipped index '{name}': {str(error).partition(chr(10))[0]}")
            else:
                hits_of_index = [replace(hit, index=name, rank_before=None) for hit in hits]
                yield hits_of_index, searcher_of(index).coverage(hits)
        if lacking and len(notes) == len(self.all):
            raise lacking
        for word in options.get("without") or ():
            nowhere = [error for error in misses if error.word == word]
            if len(nowhere) == len(self.all) - len(notes):
                raise nowhere[0]
        self._of_query = notes  # in one assignment, as threads may query at the same time

    def _require_alike(self) -> None:
        """Raise FingerprintMismatch if two indexes have different models or settings of embeddings.

        Settings of passages may differ.
        """
        (first, fingerprint), *others = ((name_of(index), index.fingerprint) for index in self.all)
        for name, theirs in others:
            if different := fingerprint.differences(replace(theirs, passages=fingerprint.passages)):
                problem = f"indexes '{first}' and '{name}' have different settings"
                remedy = (
                    "Query one of them with --index, or rebuild one with the settings of the other: "
                    "seewhy index FOLDER --rebuild"
                )
                raise FingerprintMismatch(different, first, name, problem, remedy)


def _query_index(
    index: Index, text: Query, k: int, options: QueryOptions, misses: list[WordMissing]
) -> Hits:
    """Query an index; a word of `without` that it lacks is left out, and the error added to `misses`."""
    try:
        return index.query(text, k, **options)
    except WordMissing as missing:
        misses.append(missing)
        rest = [word for word in options["without"] or () if word != missing.word]
        return _query_index(index, text, k, {**options, "without": rest}, misses)


def highlights(index: Index | Indexes, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
    """Return the spans of query words in the text of each hit of one index or of several."""
    searcher = index if isinstance(index, Indexes) else searcher_of(index)
    return searcher.highlights(query, hits)


def absences(opened: Index | Indexes, query: Query) -> list[Absence]:
    """Return the words of a query that no passage of an index, or of any of several, has; see `Searcher.absences`.

    An index that cannot be read is left out, as the query has left it out.
    """
    of_each = []
    for index in opened.all if isinstance(opened, Indexes) else (opened,):
        with suppress(SearchError):
            of_each.append(searcher_of(index).absences(query))
    words = [{absence.word for absence in absent} for absent in of_each]
    nowhere = set.intersection(*words) if words else set()
    return [absence for absence in (of_each[0] if of_each else ()) if absence.word in nowhere]


def name_of(index: Index) -> str:
    """Return the name of an index as in `seewhy list`; its path if it is outside of the user's data folder.

    A namespace has the name of its index and its own: "tickets@acme".
    """
    is_named = is_own(index.path) or outer_index(index.path) != index.path
    return typed_name(index.path) if is_named else index.name


def _document(hit: Hit) -> tuple[str, str]:
    return hit.index, hit.document


def _by_score(groups: list[list[Hit]]) -> list[list[Hit]]:
    return sorted(groups, key=lambda group: -group[0].score)


def _merged(lists: Sequence[Sequence[Hit]], per_document: int) -> list[list[Hit]]:
    """Merge lists of hits into one list by score, each hit in its own group; hits beyond `per_document` come last."""
    within: list[list[Hit]] = []
    beyond: list[list[Hit]] = []
    seen: Counter[tuple[str, str]] = Counter()
    for hit in (hit for hits in lists for hit in hits):
        seen[_document(hit)] += 1
        (beyond if 0 < per_document < seen[_document(hit)] else within).append([hit])
    return _by_score(within) + _by_score(beyond)
