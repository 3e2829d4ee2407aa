"""`Searcher`: an open index, and all that answers questions about it.

`Index` is the public face. The command, the server and `Indexes` need more of an open index than its users do: the
parts of a score, the words that count, the place of a document. They take it from `searcher_of(index)`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, overload

import numpy as np

from search.encoding import Encoder, Fingerprint
from search.encoding.models import DEFAULT_WEIGHTS
from search.errors import IndexOutdated, InputError, SearchError, quoted
from search.languages import ENGLISH, language_of_query
from search.ranking.fusion import Scored
from search.ranking.identifiers import weight_for, with_identifiers
from search.ranking.question import (
    EncodedQuery,
    Example,
    Query,
    Question,
    as_embedding,
    as_question,
    encoded,
    parse_query,
    query_fits,
)
from search.ranking.rank import ScoreScale, rank_passages, ranked, require_same_passage, scored
from search.ranking.selection import Selection
from search.ranking.verdict import FIRST_HITS
from search.records.filter_text import filter_text
from search.records.hits import Absence, Coverage, Hit, Hits
from search.records.memory_document import document_id
from search.records.option_tools import Ranking, complete, documented, select_options, split_options
from search.records.options import (
    FOREIGN_WEIGHT,
    CandidateOptions,
    EngineName,
    ExplainOptions,
    FilterOptions,
    LayerOptions,
    LimitOptions,
    LinkOptions,
    MatrixOptions,
    OccurrenceOptions,
    Pooling,
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SelectionOptions,
    SimilarOptions,
)
from search.store.analyzer import require_analyzer
from search.store.database import one_meta, reading
from search.store.earlier_format import EarlierFormatStore
from search.store.files import DATABASE
from search.store.freshness import with_file_status
from search.store.layout import find_index_path, is_index, needs_local_index
from search.store.namespaces import namespace_path
from search.store.opening import is_trusted, opened
from search.store.pending import NotEncoded
from search.store.snapshot import Store
from search.store.terms import unquoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from search.encoding.function import AnyEncoder
    from search.explaining.explainer import Explainer
    from search.indexing.update_check import Pending
    from search.ranking.rerank import Reranker
    from search.ranking.sentences import AnsweringSentences
    from search.ranking.words import Candidates
    from search.records.comparisons import Contrast, WhyNot
    from search.records.contents import Facet
    from search.records.counterfactuals import Counterfactual
    from search.records.document_map import DocumentMap
    from search.records.documents import NamedDocument
    from search.records.explanations import Explanation, Highlight
    from search.records.filter_text import Filter
    from search.records.memory_document import Document
    from search.records.occurrences import WordOccurrence
    from search.records.shares import Share
    from search.records.suggestions import Suggestion
    from search.records.tokens import Layer
    from search.store.analyzer import Analyzer
    from search.store.conditions import Where
    from search.store.snapshot import Ids, Snapshot

    AnyHit: TypeAlias = Hit | int | str | Path

Answer = TypeVar("Answer")

_MOST_COUNTERFACTUALS = 256  # that are cached
_MOST_RANKINGS = 3  # of one query, while a writer stores passages
_FEWEST_ENCODINGS = 10  # for a counterfactual
_MOST_NAMESPACES = 16  # that stay open: each thread that asks has a connection to each
Method = TypeVar("Method", bound=Callable[..., Any])


def encodes_pending(method: Method) -> Method:
    """Decorator of a method of `Searcher`: pending passages whose embeddings it needs are encoded."""

    @wraps(method)
    def repeated(self: Searcher, *args: Any, **options: Any) -> Any:
        return self.encoding_what_lacks(partial(method, self, *args, **options))

    return cast("Method", repeated)


class Searcher:
    """An open index with its encoder. Thread-safe.

    Attributes:
        store: the files of the index; replaced after a repair, a move, or the conversion of an earlier format.
        offline: never access the Hugging Face hub.
        engine: "auto", "openvino" or "torch"; see `Encoder`.
        loaded_encoder: the encoder, if it has been loaded.
        conversion_notes: warnings of opening it, and of the conversion of an earlier format.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None = None,
        offline: bool = False,
        engine: EngineName = "auto",
    ) -> None:
        self.store = store
        self.offline, self.engine = offline, engine
        self.loaded_encoder = encoder
        self.conversion_notes: tuple[str, ...] = ()
        self._load_encoder = Encoder.of
        self._fingerprint: Fingerprint | None = None  # of the index when the encoder was loaded
        self._map: tuple[int, DocumentMap] | None = None  # of a generation
        self._suggestions: tuple[int, tuple[Suggestion, ...]] | None = None  # of a generation
        self._suggesting = threading.Lock()
        self._counterfactuals: dict[Hashable, Counterfactual] = {}
        self._namespaces: dict[str, Searcher] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        source: str | Path | None,
        encoder: AnyEncoder | None,
        encoder_name: str | None,
        offline: bool,
        engine: EngineName,
        *,
        model: str | None,
        pooling: Pooling | None,
        analyzer: Analyzer | None = None,
    ) -> Searcher:
        """Open an index for reading; see `Index.open`."""
        chosen: Encoder | None = None
        try:
            store = opened(source)
        except IndexOutdated:
            from search.indexing.memory import opened_earlier

            store = opened_earlier(
                find_index_path(source),
                encoder_from(encoder, encoder_name),
                offline=offline,
                engine=engine,
            )
        if encoder is not None:
            chosen = encoder_from(encoder, encoder_name, int(store.facts.fingerprint.max_tokens))
            actual = replace(chosen.fingerprint, passages=store.facts.fingerprint.passages)
            store.facts.fingerprint.require_equal(actual)
        elif model or pooling:
            chosen = Encoder.of(
                store.facts.fingerprint,
                model=model,
                pooling=pooling,
                offline=offline,
                engine=engine,
                trusted=is_trusted(store),
            )
        searcher = cls(store, chosen, offline, engine)
        stored = searcher._stored_analyzer()
        if analyzer is not None:
            require_analyzer(stored, analyzer)
            store.analyzer = analyzer
        elif stored:
            searcher.conversion_notes = (
                f"words of a query find only themselves: the analyser '{stored}' is missing "
                f"(Index.open(..., analyzer={stored}))",
            )
        return searcher

    @property
    def encoder(self) -> Encoder:
        """Encoder of the index, loaded on first use, and again after a rebuild."""
        current = self.store.facts.fingerprint
        with self._lock:
            if self.loaded_encoder is None or self._fingerprint not in (None, current):
                self.loaded_encoder = self._load_encoder(
                    current, offline=self.offline, engine=self.engine, trusted=is_trusted(self.store)
                )
            self._fingerprint = current
            return self.loaded_encoder

    def load_encoders_with(self, load: Callable[..., Encoder]) -> None:
        """Load encoders with the function `load`, which takes the same arguments as `Encoder.of`."""
        self._load_encoder = load

    def share(self, encoder: Encoder) -> None:
        """Use the encoder of another index with the same fingerprint, unless this index has loaded its own."""
        with self._lock:
            self.loaded_encoder = self.loaded_encoder or encoder

    @property
    def generation(self) -> int:
        with self.store.reading() as snapshot:
            return snapshot.facts.generation

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about problems that do not prevent queries."""
        problems = (f"{problem} --index {quoted(self.store.name)}" for problem in self.store.problems)
        remarks = self.loaded_encoder.remarks if self.loaded_encoder else ()
        return (*self.store.notes, *self.conversion_notes, *problems, *remarks)

    @property
    def local_folder(self) -> Path:
        """Folder of the index's files on this machine; an update needs them.

        Raises:
            InputError: these files are on another machine.
        """
        if not self.store.local and not is_index(self.store.path):
            raise needs_local_index(self.store.name)
        return self.store.path

    @property
    def passages_folder(self) -> Path:
        """Folder of the index on this machine, which contains its passages.

        Raises:
            InputError: the passages are on a server.
        """
        if not self.store.local:
            raise needs_local_index(self.store.name)
        return self.store.path

    @property
    def memory_folder(self) -> Path:
        """Folder of the index, to change its documents from memory; an index of an earlier format is converted first.

        Raises:
            InputError: the passages are on a server.
        """
        if isinstance(self.store, EarlierFormatStore):
            if self.store.is_current:
                from search.indexing.memory import rebuild

                self.conversion_notes = rebuild(self.store.path, self.encoder).notes
            self.store = Store(self.store.path, self.store.analyzer)
        return self.passages_folder

    @overload
    def within(self, namespace: str | None, *, create: Literal[True]) -> Searcher: ...
    @overload
    def within(self, namespace: None, **options: Any) -> Searcher: ...
    @overload
    def within(self, namespace: str | None, **options: Any) -> Searcher | None: ...
    def within(self, namespace: str | None, *, create: bool = False, **options: Any) -> Searcher | None:
        """Return what answers the questions about a namespace; None if it does not exist.

        Args:
            namespace: name of the namespace; None for the index itself.
            create: create a namespace that does not exist.
            options: what it will be asked with, which is checked if it does not exist; see `require_valid`.

        Raises:
            InputError: the name or an option is invalid, or the index belongs to a folder.
        """
        if namespace is None:
            return self
        self.store.facts.folders.require_memory()
        path = namespace_path(self.store.path, namespace)
        if not is_index(path):
            if not create:
                self.require_valid(**options)
                return None
            from search.indexing.memory import create_namespace

            require_analyzer(self._stored_analyzer(), self.store.analyzer)
            create_namespace(path, self.encoder, self.store.analyzer)
            with self._lock:  # it may have been removed, and is another one now
                self._namespaces.pop(namespace, None)
        with self._lock:
            inner = self._namespaces.pop(namespace, None)
            if inner is None:
                inner = Searcher(
                    Store(path, self.store.analyzer), offline=self.offline, engine=self.engine
                )
            self._namespaces[namespace] = inner  # the one used last comes last
            if len(self._namespaces) > _MOST_NAMESPACES:
                del self._namespaces[next(iter(self._namespaces))]
        inner.load_encoders_with(self._encoder_of_namespace)
        inner.conversion_notes = self.conversion_notes
        return inner

    def _stored_analyzer(self) -> str | None:
        """Return the name of the analyser that the index was created with; None without one."""
        if not self.store.local or not self.store.facts.folders.memory:
            return None
        with reading(self.store.files / DATABASE) as connection:
            return cast("str | None", one_meta(connection, "analyzer"))

    def _encoder_of_namespace(self, fingerprint: Fingerprint, **options: Any) -> Encoder:
        """Return the encoder of a namespace: this index's, unless only one of them was rebuilt with another model."""
        if self.store.facts.fingerprint.differences(fingerprint):
            return self._load_encoder(fingerprint, **options)
        return self.encoder

    @staticmethod
    def require_valid(k: int = 1, limit: int | None = None, **options: Unpack[QueryOptions]) -> None:
        """Check options of a query or a list where there is no namespace to read.

        Raises:
            InputError: an option is invalid, as in an index.
        """
        from search.ranking.where import combined

        ranking_options, selection_options, filter_options, _ = split_options(
            options, RerankOptions, SelectionOptions, FilterOptions, MatrixOptions
        )
        Ranking.of(**ranking_options)
        Selection.of(k, **selection_options)
        combined(**filter_options)
        _require_part(limit, options.get("offset", 0))

    def query(
        self, text: Query, k: int, vector: ArrayLike | None = None, **options: Unpack[QueryOptions]
    ) -> Hits:
        """Return the k passages with the highest scores for a query; see `Index.query`."""
        hits, explainer = self._hits(text, k, vector, options)
        if not explainer:
            return hits
        whys = self.encoding_what_lacks(partial(explainer.explain, hits))
        explained = [replace(hit, explanation=why) for hit, why in zip(hits, whys, strict=True)]
        return Hits(explained).covered(hits.coverage) if hits.coverage else Hits(explained)

    def query_with_shares(
        self, text: Query, k: int, **options: Unpack[QueryOptions]
    ) -> tuple[Hits, list[tuple[Share, ...]]]:
        """Return the hits of a query, and what its words add to the score of each; see `Explainer.shares`.

        It costs a fraction of a query with explanations, because no model reads the passages.
        """
        hits, explainer = self._hits(text, k, None, {**options, "explain": True})
        if not explainer:
            return hits, [()] * len(hits)
        return hits, self.encoding_what_lacks(partial(explainer.shares, hits))

    def _hits(
        self, text: Query, k: int, vector: ArrayLike | None, options: QueryOptions
    ) -> tuple[Hits, Explainer | None]:
        """Return the hits of a query, and what explains them, if the options ask for it."""
        ranking_options, selection_options, filter_options, matrix_options = split_options(
            options, RerankOptions, SelectionOptions, FilterOptions, MatrixOptions
        )
        if vector is None and is_list(text) and any(filter_options.values()):
            return self.listed(
                self.filter_of(**filter_options), Selection.of(k, **selection_options)
            ), None
        question: str | Question = ""
        if vector is not None and not text:
            where = self.filter_of(**filter_options)
            ranking_options.setdefault("mode", "dense")
        else:
            question, where = self.parse(text, **filter_options)
        selection, ranking = Selection.of(k, **selection_options), self.ranking(question, ranking_options)
        explained = matrix_options.pop("explain", False)
        if vector is not None and (explained or ranking.rerank or isinstance(question, Question)):
            raise InputError("with 'vector', pass a single text and neither 'explain' nor 'rerank'.")
        if matrix_options.get("layer") is not None and not explained:
            raise InputError("'layer' requires explain=True.")
        explainer = self.explainer(question, ranking, **matrix_options) if explained else None
        query = explainer.query if explainer else self.encode(question, ranking, vector)
        reranker = self.reranker(query, ranking) if ranking.rerank else None
        rank = partial(ranked, self.store, query, ranking, selection, where, reranker)
        hits, coverage = rank(), None
        for _ in range(_MOST_RANKINGS):
            if not (self.store.incomplete and ranking.weight):
                break
            coverage, generation = self._look(
                query, ranking.weight, lambda now: now.passing(where), selection.pending
            )
            hits = rank()
            if generation == self.generation:  # otherwise a writer has stored passages between the two
                break
        ordered = Hits(selection.ordered(hits))
        return ordered.covered(coverage) if coverage else ordered, explainer

    def listed(self, where: Where | None, selection: Selection) -> Hits:
        """List documents without a query: the first passage of each, in the order of `selection.sort`.

        The score of these hits is 0. With the order "score", documents are in the order in which they were added; of a
        folder, by path.
        """
        ranking = Ranking.of(mode="lexical")
        with self.store.reading() as snapshot:
            firsts = snapshot.first_passages_of_documents(snapshot.passing(where))
            stored = snapshot.stored(firsts)
            scale = ScoreScale(None, ranking)
            hits = [
                scale.hit(0, stored[id_], Scored(id_, 0.0, None, 0.0)) for id_ in firsts if id_ in stored
            ]
        ordered = selection.ordered(hits)[selection.offset : selection.last]
        first = selection.offset + 1
        return Hits(
            with_file_status([replace(hit, rank=rank) for rank, hit in enumerate(ordered, first)])
        )

    def ranking(self, question: str | Question, options: Mapping[str, Any]) -> Ranking:
        """Return the definition of the scores for a query.

        Without a weight among the options, keywords weigh more for a query with identifiers
        (`search.ranking.identifiers`). The default model reads English, so its weight is lower for a query in another
        language of the index. A query without function words is in the language of most documents.
        """
        ranking = Ranking.of(**select_options(options, RerankOptions))
        if ranking.mode != "hybrid" or options.get("weight") is not None:
            return ranking
        if isinstance(question, str) and (weight := weight_for(question)) is not None:
            return replace(ranking, weight=weight)
        with self.store.reading() as snapshot:
            if not snapshot.languages or snapshot.facts.fingerprint.weights != DEFAULT_WEIGHTS:
                return ranking
            text = question if isinstance(question, str) else question.words_of
            language = language_of_query(text, snapshot.languages) or snapshot.main_language
        return ranking if language in ("", ENGLISH) else replace(ranking, weight=FOREIGN_WEIGHT)

    def _look(
        self,
        query: EncodedQuery,
        share: float,
        passing: Callable[[Snapshot], Ids | None],
        most: int,
    ) -> tuple[Coverage | None, int]:
        """Encode pending passages for a query.

        Returns:
            What it looks at then, or None if that is everything; and the generation of which this is true.
        """
        from search.ranking.on_demand import encode_for

        looked = encode_for(self.store, self.encoder, query, share, passing, most)
        with self.store.reading() as snapshot:
            facts = snapshot.facts
            if not (len(snapshot.pending) or facts.unread):
                return None, facts.generation
            files = snapshot.count_stored_files() if facts.unread else 0
            expected = round(facts.passages * (1 + facts.unread / files)) if files else 0
            coverage = Coverage(snapshot.encoded, facts.passages, looked, facts.unread, expected)
            return coverage, facts.generation

    def coverage(self, hits: Hits) -> Coverage:
        """Return what a query has looked at, also in a complete index."""
        passages = self.store.facts.passages
        return hits.coverage or Coverage(passages, passages, complete=True)

    def encoding_what_lacks(self, work: Callable[[], Answer]) -> Answer:
        """Return the result of `work`; passages that it needs and that are pending are encoded."""
        try:
            return work()
        except NotEncoded:
            from search.ranking.on_demand import encoding_what_lacks

            return encoding_what_lacks(self.store, lambda: self.encoder, work)

    def query_many(self, texts: Sequence[str], k: int, **options: Unpack[QueryOptions]) -> list[Hits]:
        """Return a list of hits for each of several queries; see `Index.query_many`."""
        ranking = Ranking.of(**select_options(options, RerankOptions))
        if options.get("explain") or ranking.rerank or not ranking.weight:
            return [self.query(text, k, **options) for text in texts]
        questions = [unquoted(str(self.parse(text)[0])) for text in texts]
        with query_fits():
            vectors = self.encoder.encode(questions, role="query")
        pairs = zip(texts, vectors, strict=True)
        return [self.query(text, k, vector, **options) for text, vector in pairs]

    @encodes_pending
    def similar(
        self, example: Example, k: int, same_document: bool = False, **options: Unpack[SimilarOptions]
    ) -> Hits:
        """Return the k passages with the highest cosine to a passage or document; see `Index.similar`."""
        selection_options, filter_options, link_options = split_options(
            options, SelectionOptions, FilterOptions, LinkOptions
        )
        where, selection = self.filter_of(**filter_options), Selection.of(k, **selection_options)
        dense, unlinked = Ranking.of(mode="dense"), bool(link_options.get("unlinked"))
        if unlinked and same_document:
            raise InputError("'unlinked' leaves the document itself out. Omit same_document or unlinked.")

        def others(snapshot: Snapshot) -> Ids | None:
            return snapshot.passing(where, without=left_out)

        with self.store.reading() as snapshot:
            query, left_out = _example_query(snapshot, example, same_document, unlinked)
            hits = rank_passages(snapshot, query, dense, selection, others(snapshot))
        coverage = None
        if self.store.incomplete:
            coverage, _ = self._look(query, 1.0, others, selection.pending)
            with self.store.reading() as snapshot:
                hits = rank_passages(snapshot, query, dense, selection, others(snapshot))
        hits = with_file_status(selection.ordered(hits))
        # Percentiles are calibrated with pairs of query and passage; they do not apply to two passages.
        return Hits(replace(hit, percentile=None, random_pairs=0) for hit in hits).covered(coverage)

    @encodes_pending
    def explain(
        self,
        query: Query,
        hits: Sequence[Hit | int],
        **options: Unpack[ExplainOptions],
    ) -> list[Explanation]:
        """Explain hits of one query, in their order; see `Index.explain`."""
        ranking_options, layer = split_options(options, RankingOptions, LayerOptions)
        question, _ = self.parse(query)
        return self.explainer(question, self.ranking(question, ranking_options), **layer).explain(hits)

    @encodes_pending
    def explain_similar(self, example: Example, hit: Hit | int, unlinked: bool = False) -> Explanation:
        """Explain the similarity of a passage to another passage or document; see `Index.explain_similar`."""
        from search.ranking.question import most_similar_part, query_fits

        with self.store.reading() as snapshot:
            query, _ = _example_query(snapshot, example, False, unlinked)
            query = most_similar_part(snapshot, query, hit if isinstance(hit, int) else hit.passage_id)
        with query_fits("passage"):
            return self.explainer(query, Ranking.of(mode="dense")).explain([hit])[0]

    def occurrences(
        self, word: str, text: str, k: int, any_word: bool, **options: Unpack[OccurrenceOptions]
    ) -> list[WordOccurrence]:
        """Return the occurrences of a word nearest to its use in a text; see `Index.occurrences`."""
        from search.ranking.occurrences import occurrences

        limits, filters = split_options(options, LimitOptions, FilterOptions)
        if not self.store.local:
            raise needs_local_index(self.store.name)
        return occurrences(
            self.store,
            self.encoder,
            word,
            text,
            k,
            any_word=any_word,
            where=self.filter_of(**filters),
            **complete(limits, LimitOptions),
        )

    @encodes_pending
    def embeddings(
        self, passages: Sequence[int] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return passage IDs and their embeddings; see `Index.embeddings`."""
        with self.store.reading() as snapshot:
            stored = snapshot.ids()
            ids = (
                snapshot.without_pending(stored)
                if passages is None
                else np.array(passages, dtype=np.int64)
            )
            for id_ in np.setdiff1d(ids, stored):
                snapshot.passage(int(id_))  # raises IdMissing
            return ids, snapshot.embeddings(ids.tolist())

    @encodes_pending
    def contrast(self, query: Query, a: AnyHit, b: AnyHit, **options: Unpack[RankingOptions]) -> Contrast:
        """Compare the scores of two passages for a query; see `Index.contrast`."""
        question, _ = self.parse(query)
        return self.explainer(question, self.ranking(question, options)).contrast(a, b)

    @encodes_pending
    def why_not(
        self, query: Query, document: str | Path | int, k: int, **options: Unpack[RankOptions]
    ) -> WhyNot:
        """Return the rank of a document and why it is not among the hits; see `Index.why_not`."""
        ranking_options, limit_options, filter_options = split_options(
            options, RankingOptions, LimitOptions, FilterOptions
        )
        question, where = self.parse(query, **filter_options)
        explainer = self.explainer(question, self.ranking(question, ranking_options))
        return explainer.why_not(document, Selection.of(k, **limit_options), where)

    def counterfactual(
        self, query: Query, target: AnyHit, k: int, most: int, **options: Unpack[RankOptions]
    ) -> Counterfactual:
        """Return the smallest changes that move a passage out of the first hits, or among them.

        The last answers are cached until the index changes; see `Index.counterfactual`.
        """
        from search.explaining.counterfactual import CounterfactualFinder, QueryVariant

        ranking_options, limit_options, filter_options = split_options(
            options, RankingOptions, LimitOptions, FilterOptions
        )
        if most < _FEWEST_ENCODINGS:
            raise InputError(f"most_encodings is {most}; the minimum is {_FEWEST_ENCODINGS}.")
        question, where = self.parse(query, **filter_options)
        if isinstance(question, Question):
            raise InputError("a counterfactual needs a query of a single text, without like and unlike.")
        if isinstance(target, Hit):
            ranking_options = self._ranking_options_of(target, question)
        typed, text = isinstance(query, str), query if isinstance(query, str) else question

        def ask(changed: str) -> QueryVariant:
            question, where = self.parse(changed if typed else Question.of(changed), **filter_options)
            assert isinstance(question, str)
            return QueryVariant(question, self.ranking(question, ranking_options), where)

        ranking, selection = ask(text).ranking, Selection.of(k, **limit_options)
        with self.store.reading() as snapshot:
            targets = _passages_of(snapshot, target)
            key = (snapshot.facts.generation, text, typed, ranking, selection, where, targets, most)
        if not targets:
            self.explainer(question, ranking).hit(
                cast("str | Path", target)
            )  # raises an error that says why
        with self._lock:
            answer = self._counterfactuals.get(key)
        if answer is None:
            finder = CounterfactualFinder(self.store, self.encoder, ask, text, selection, targets, most)
            answer = finder.find(lambda passage: self.explainer(question, ranking).explain([passage])[0])
            with self._lock:
                if len(self._counterfactuals) >= _MOST_COUNTERFACTUALS:
                    self._counterfactuals.clear()
                self._counterfactuals[key] = answer
        return answer

    def _ranking_options_of(self, hit: Hit, question: str) -> dict[str, Any]:
        """Return options that rank as a hit was ranked.

        A weight is among them only if it is not the one that the query has by default, because a changed query may have
        another default.

        Raises:
            InputError: the hit was reranked.
        """
        ranking = hit.ranking
        if ranking.rerank:
            raise InputError(
                "ranks after a rerank are not computed for changed queries. Take a hit of a query without rerank."
            )
        options: dict[str, Any] = {"mode": ranking.mode, "without": ranking.without}
        if self.ranking(question, options).weight != ranking.weight:
            options["weight"] = ranking.weight
        return options

    def ids(self, where: Filter | None, limit: int | None, offset: int) -> list[str]:
        """Return the IDs of documents; see `Index.ids`."""
        _require_part(limit, offset)
        condition = self.filter_of(where=where)
        with self.store.reading() as snapshot:
            passing = snapshot.passing(condition)
            return snapshot.document_names(passing, limit, offset)

    def chosen(
        self,
        ids: str | int | Iterable[str | int] | None,
        where: Filter | None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[str]:
        """Return the IDs of documents, in the order of `ids`, that pass a filter; see `Index.get`."""
        _require_part(limit, offset)
        if ids is None:
            return self.ids(where, limit, offset)
        several = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else ids
        names = list(map(document_id, several))
        if where is not None:
            passing = set(self.ids(where, None, 0))
            names = [id_ for id_ in names if id_ in passing]
        return names[offset : None if limit is None else offset + limit]

    def documents_from_memory(
        self,
        ids: str | int | Iterable[str | int] | None,
        where: Filter | None,
        limit: int | None,
        offset: int,
    ) -> list[Document]:
        """Return documents from memory; see `Index.get`."""
        chosen = self.chosen(ids, where, limit, offset)
        with self.store.reading() as snapshot:
            snapshot.facts.folders.require_memory()
            return snapshot.memory_documents(chosen)

    def close(self) -> None:
        """Close this thread's connections to the files, also to those of namespaces."""
        for searcher in (self, *self._namespaces.values()):
            searcher.store.close()

    def has_document(self, id_: str) -> bool:
        """Return True if the index has a document with this ID; see `Index.ids`."""
        with self.store.reading() as snapshot:
            return snapshot.has_document(id_)

    def facets(self, where: Filter | None, among: Sequence[Hit] | None) -> tuple[Facet, ...]:
        """Return the fields that can narrow a search; see `Index.facets`."""
        ids = None if among is None else np.array([hit.passage_id for hit in among], dtype=np.int64)
        condition = self.filter_of(where=where)
        with self.store.reading() as snapshot:
            if among:
                stored = snapshot.stored([hit.passage_id for hit in among])
                for hit in among:
                    if hit.passage_id in stored:  # others are gone since the query
                        require_same_passage(hit, stored[hit.passage_id])
            return snapshot.facets(condition, ids)

    @encodes_pending
    def hit(self, query: Query, passage: int | str | Path, **options: Unpack[RerankOptions]) -> Hit:
        """Score any passage for a query. The hit has rank 0, because other passages are not ranked.

        Args:
            query: as for `query`.
            passage: a passage ID; or the path of a document, whose best passage is scored.

        Raises:
            InputError: as for `why_not`.
        """
        question, _ = self.parse(query)
        ranking = self.ranking(question, options)
        passage_id = (
            passage if isinstance(passage, int) else self.explainer(question, ranking).hit(passage)
        )
        encoded_query = self.encode(question, ranking)
        reranker = self.reranker(encoded_query, ranking)
        return scored(self.store, encoded_query, ranking, passage_id, reranker)

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        """Return the spans of query words in the text of each hit, with their contributions to the score.

        The contribution of a word is divided equally among its occurrences. Stop words are left out,
        unless the query has no other words. For contributions of tokens see `explain`.
        """
        from search.ranking.words import highlights

        if is_list(query):
            return [()] * len(hits)
        return highlights(self.store, self.keywords_of(query), hits)

    def answering(self, query: Query, hits: Sequence[Hit]) -> AnsweringSentences:
        """Return the sentences of hits that answer a query; see `search.ranking.sentences`.

        Hits of keywords are read without a model: their sentences are those with most of the query's words.
        """
        from search.ranking.sentences import AnsweringSentences, by_keywords, by_meaning

        texts = [hit.text for hit in hits]
        if all(hit.cosine is None for hit in hits):
            return AnsweringSentences(texts, by_keywords(self.highlights(query, hits)))
        question, _ = self.parse(query)
        encoded = self.encode(question, self.ranking(question, {"mode": "dense"}))
        assert encoded.embedding is not None  # of a dense ranking
        return AnsweringSentences(texts, by_meaning(self.encoder, encoded.embedding, texts))

    @encodes_pending
    @documented(CandidateOptions)
    def candidates(self, text: Query, n: int = 100, **options: Unpack[CandidateOptions]) -> Candidates:
        """Return passages with the parts of their scores.

        From these parts, a web page can compute other rankings without a server, by another weight. See
        `search.ranking.words`.

        Args:
            text: as for `query`.
            n: number of best passages by cosine, and by keyword score. With a larger n, more rankings by
                other weights are exact.

        Raises:
            InputError: as for `query`; or n < 1.
        """
        from search.ranking.words import candidates

        ranking_options, filter_options = split_options(options, RankingOptions, FilterOptions)
        question, where = self.parse(text, **filter_options)
        ranking = self.ranking(question, ranking_options)
        # Even at weight 0: the page may choose a weight at which embeddings count.
        compared = replace(ranking, weight=1.0) if ranking.mode == "hybrid" else ranking
        query = self.encode(question, compared)
        with self.store.reading() as snapshot:
            return candidates(snapshot, query, ranking, n, snapshot.passing(where))

    @documented(RankingOptions)
    def counted_words(
        self, text: Query, **options: Unpack[RankingOptions]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the discriminative keywords of a query, and the keywords that `without` ignores.

        Discriminative keywords are in at most half of the passages; if there are none, all keywords
        count.

        Args:
            text: as for `query`.

        Raises:
            InputError: an unknown mode, or a word of `without` that is not a keyword of the query.
        """
        from search.ranking.words import counted

        words = self.keywords_of(text)
        return counted(self.store, words, self.ranking(words, options))

    def relevance(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score any texts for a query by late interaction, in [-1, 1]; see `search.ranking.rerank`.

        A text that is longer than the model reads is cut, and has the score of its best part.

        Raises:
            InputError: the query is empty or too long.
            ModelError: the model has no token vectors.
        """
        from search.corpus.text import file_document
        from search.indexing.read import cutter_for
        from search.ranking.question import encoded_text
        from search.ranking.rerank import LateInteraction
        from search.records.documents import Section
        from search.store.settings import PassageSettings

        with query_fits():
            encoded = encoded_text(str(as_question(query)), self.encoder, [-1])
        cutter = cutter_for(self.encoder, PassageSettings())
        pieces: list[tuple[int, str]] = []
        for number, text in enumerate(texts):
            document = file_document(str(number), "text", text, "", sections=(Section(0, len(text)),))
            pieces += [(number, passage.text) for passage in cutter.cut(document)] or [(number, text)]
        assert encoded.tokens is not None
        late = LateInteraction(self.encoder, encoded.tokens)
        with self.store.reading() as snapshot:
            scores = late.relevance(snapshot, [text for _, text in pieces])
        best = [-1.0] * len(texts)
        for (number, _), score in zip(pieces, scores, strict=True):
            best[number] = max(best[number], score)
        return best

    def documents_named(self, part: str, most: int = 20, *, offset: int = 0) -> list[NamedDocument]:
        """List the documents whose name or title contains all words of `part`, sorted by name.

        Args:
            most: maximum number of documents.
            offset: number of matching documents to skip.
        """
        with self.store.reading() as snapshot:
            return snapshot.documents_named(part, most, offset)

    def passages_at(self, path: str | Path) -> tuple[int, ...]:
        """Return the IDs of the passages of a document, by its path or its ID from memory; () if there is none.

        Raises:
            InputError: the path is a folder.
        """
        with self.store.reading() as snapshot:
            return snapshot.resolve(path).passages

    def location(self, document: int) -> str | Path:
        """Return the path of a document, or the ID of a document from memory; `why_not` accepts both.

        Args:
            document: the `document_id` of a hit.

        Raises:
            IdMissing: the index has no document with this ID.
        """
        with self.store.reading() as snapshot:
            name = snapshot.document(document).name
            return name if snapshot.facts.folders.memory else snapshot.facts.root / name

    def file_text(self, document: int) -> str | None:
        """Read a document's text from its file, with parts that are in no passage, such as front matter and fences.

        Returns:
            The text; None if the file has changed or is gone, or if its format is converted (HTML, CSV, PDF). Only
            notebooks are converted again.

        Raises:
            IdMissing: the index has no document with this ID.
        """
        from search.store.document_text import file_text

        return file_text(self.store, document)

    def map(self) -> DocumentMap:
        """Return the documents as points in two dimensions, by their mean embeddings.

        The result is cached until the index changes.
        """
        from search.ranking.document_map import document_map

        generation, cached = self.generation, self._map
        if cached is None or cached[0] != generation:
            with self.store.reading() as snapshot:
                cached = self._map = generation, document_map(snapshot)
        return cached[1]

    def filter_of(self, **filters: Unpack[FilterOptions]) -> Where | None:
        """Combine the filters of a query into one; None if there are none. Topics of the map become documents."""
        if not [value for value in filters.values() if value is not None]:
            return None
        from search.ranking.where import combined, has_topics

        where = combined(**filters)
        if where is None or not has_topics(where):
            return where
        from search.ranking.topics import with_topics

        return with_topics(where, self.map())

    @property
    def latest_suggestions(self) -> tuple[Suggestion, ...] | None:
        """Suggestions of the current generation; None if they have not been made."""
        cached = self._suggestions
        return cached[1] if cached and cached[0] == self.generation else None

    def suggestions(self) -> tuple[Suggestion, ...]:
        """Return questions that the index can answer, with their first hits; the hit of the first one is explained.

        At most 24 queries are asked, and the result is cached until the index changes. An index with pending passages,
        or one on a server, has none; the former is asked again next time.
        """
        from search.explaining.tracers import can_trace
        from search.ranking.suggestions import candidates, suggestions

        with self._suggesting:  # whoever asks meanwhile waits for the same answer
            if (latest := self.latest_suggestions) is not None:
                return latest
            generation = self.generation
            with self.store.reading() as snapshot:
                if len(snapshot.pending):
                    return ()
                proposed = candidates(snapshot)
            answered = suggestions(proposed, lambda question: self.query(question, FIRST_HITS))
            if answered and can_trace(self.encoder):
                first = answered[0]
                (why,) = self.explain(first.question, [first.hit])
                answered = (replace(first, hit=replace(first.hit, explanation=why)), *answered[1:])
            self._suggestions = generation, answered
            return answered

    def passes(self, where: str) -> bool:
        """Return True if a filter is valid and some passage passes it; always False for an index on a server."""
        with suppress(SearchError):
            condition = self.filter_of(where=where)
            with self.store.reading() as snapshot:
                ids = snapshot.passing(condition)
            return not snapshot.approximate and ids is not None and len(ids) > 0
        return False

    @property
    def to_complete(self) -> bool:
        """True if passages are pending, and the user has not left the index lazy, and it may be completed here."""
        with suppress(SearchError):
            if is_trusted(self.store) and self.store.facts and self.store.incomplete:
                with reading(self.store.path / DATABASE) as connection:
                    return not one_meta(connection, "lazy", False)
        return False

    def pending_update(self) -> Pending:
        """Return the size of the update that is due: "nothing", "small" (it takes less than a second) or "large".

        "nothing" for an index on a server, one outside the user's data folder, and one of more than 5,000 files.
        """
        from search.indexing.update_check import pending_update

        return pending_update(self.store.path, self.store.facts) if is_trusted(self.store) else "nothing"

    def parse(
        self, query: Query, **filters: Unpack[FilterOptions]
    ) -> tuple[str | Question, Where | None]:
        """Split a query into its question and its filter; see `search.ranking.question`."""
        question = as_question(query)
        if isinstance(query, str):
            where = filter_text(filters.get("where"))
            text, filters["where"] = parse_query(query, where, self.passes)
            question, _ = with_identifiers(text, lambda word: self.passes(f'text:"{word}"'))
        return question, self.filter_of(**filters)

    def absences(self, query: Query) -> list[Absence]:
        """Return the identifiers and misspelt words of a query that no passage has; see `search.ranking.spelling`."""
        from search.ranking.spelling import absences

        text = self.keywords_of(query)
        with self.store.reading() as snapshot:
            return [] if snapshot.approximate else absences(snapshot, text)

    def keywords_of(self, query: Query) -> str:
        """Return the part of a query that keywords are taken from."""
        question, _ = self.parse(query)
        return question if isinstance(question, str) else question.words_of

    def encode(
        self, question: str | Question, ranking: Ranking, vector: ArrayLike | None = None
    ) -> EncodedQuery:
        """Encode a query; no model is loaded for a vector, or if the score uses keywords only."""
        if vector is not None:
            embedding = as_embedding(vector, int(self.store.facts.fingerprint.dimension))
            return EncodedQuery(str(question), embedding)
        if isinstance(question, str) and not ranking.weight and not ranking.rerank:
            return EncodedQuery(question, None)
        if isinstance(question, Question):  # its examples may be pending
            query = self.encoding_what_lacks(lambda: encoded(question, ranking, self.encoder, self.store))
        else:
            query = encoded(question, ranking, self.encoder, self.store)
        if ranking.without and ranking.weight:
            from search.explaining.left_out import without_words

            return without_words(query, ranking.without, self.encoder, self.store)
        return query

    def reranker(self, query: EncodedQuery, ranking: Ranking) -> Reranker | None:
        """Return the reranker of a ranking; None without reranking."""
        if not ranking.rerank:
            return None
        from search.ranking.rerank import CrossEncoderReranker, LateInteraction, cross_encoder

        if ranking.rerank == "late" and query.tokens is not None:
            return LateInteraction(self.encoder, query.tokens)
        return CrossEncoderReranker(cross_encoder(ranking.rerank, self.offline), query.text)

    def explainer(
        self,
        query: str | Question | EncodedQuery,
        ranking: Ranking,
        layer: Layer | None = None,
    ) -> Explainer:
        """Return what explains hits of a query."""
        from search.explaining.explainer import Explainer

        return Explainer(self.store, self.encoder, query, ranking, layer)


def _passages_of(snapshot: Snapshot, target: AnyHit) -> tuple[int, ...]:
    """Return the passage of a hit or ID, or those of a path; () if the index has none of the path.

    Raises:
        InputError: the hit is of another index, or the ID is unknown.
    """
    if isinstance(target, Hit):
        require_same_passage(target, snapshot.passage(target.passage_id))
        return (target.passage_id,)
    if isinstance(target, int):
        return (snapshot.passage(target).passage_id,)
    return snapshot.resolve(target).passages


def _example_query(
    snapshot: Snapshot, example: Example, same_document: bool, unlinked: bool
) -> tuple[EncodedQuery, Collection[int]]:
    """Return a query made of a passage or document, and the IDs of the passages that are no hits."""
    from search.ranking.question import passages_of, query_of
    from search.ranking.unlinked import unlinked_query

    ids = passages_of(snapshot, example)
    if unlinked:
        return unlinked_query(snapshot, ids)
    return query_of(snapshot, ids), ids if same_document else snapshot.siblings(ids)


def is_list(text: Query) -> bool:
    """Return True for an empty text, which with a filter asks for a list of documents."""
    return isinstance(text, str) and not text.strip()


def _require_part(limit: int | None, offset: int) -> None:
    """Raise InputError for a negative limit or offset of a list."""
    if offset < 0 or (limit is not None and limit < 0):
        raise InputError(f"limit and offset are numbers from 0, not {limit} and {offset}.")


def take_encoder(options: Any) -> AnyEncoder | None:
    """Take an encoder that was passed as `model` out of the options; None if it is the name of a model."""
    model = options.get("model")
    return None if model is None or isinstance(model, str | Path) else options.pop("model")


@overload
def encoder_from(
    source: AnyEncoder, name: str | None = None, max_tokens: int | None = None
) -> Encoder: ...
@overload
def encoder_from(source: None, name: str | None = None) -> None: ...
def encoder_from(
    source: AnyEncoder | None, name: str | None = None, max_tokens: int | None = None
) -> Encoder | None:
    """Convert the encoder that a caller passes; without one, the module for this is not imported."""
    if source is None or isinstance(source, Encoder):
        return source
    from search.encoding import function

    return function.encoder_from(source, name, max_tokens)
