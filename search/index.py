"""`Index`: what a program imports first, built of all stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from search.encoding import Encoder, Fingerprint
from search.errors import InputError, SearchError, quoted
from search.ranking.freshness import with_file_status
from search.ranking.question import EncodedQuery, Example, Query, Question, as_question, encoded
from search.ranking.rank import listed, ranked, scored
from search.ranking.selection import Selection
from search.records.hits import Cluster, Hit, Hits, Surroundings
from search.records.options import (
    BuildOptions,
    CandidateOptions,
    ExplainOptions,
    FilterOptions,
    LayerOptions,
    LimitOptions,
    MatrixOptions,
    QueryOptions,
    Ranking,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SelectionOptions,
    SimilarOptions,
    documented,
    parts_of,
)
from search.store.database import read_meta
from search.store.layout import DATABASE, is_index, only_read, place_for, streamed
from search.store.opening import is_trusted, opened, store_at
from search.store.settings import Folders, Named, PassageSettings
from search.store.sqlite import Store

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.bert.labelling import LinearHead
    from search.explaining.explainer import Explainer
    from search.ranking.rerank import Reranker
    from search.ranking.words import Candidates
    from search.records.comparisons import Contrast, WhyNot
    from search.records.contents import DocumentText, Facet, StoredPassage
    from search.records.documents import Annotation, Annotator, NamedDocument
    from search.records.explanations import Explanation, Highlight
    from search.records.options import (
        AnnotateOptions,
        SourceOptions,
        TagOptions,
    )
    from search.records.predictions import Answers, LabelledIndex, TagReport
    from search.records.reports import Changes, CheckReport, Progress, Report, Status
    from search.records.tokens import Layer
    from search.store.conditions import Where

    AnyHit: TypeAlias = Hit | int | str | Path


class Index:
    """An index that is open for reading. Make one with `Index.build` or `Index.open`.

    Safe to share between threads. Nothing is loaded until the first query; every query reads one
    consistent state of the index, so an update by another process is seen by the next query.

    Attributes:
        path: the folder of what the index keeps on this machine.
        name: what opens it again: its path, or its address on a server.
        report: what `build` changed; None for an index that was opened.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None,
        offline: bool,
        engine: str,
        report: Report | None = None,
    ) -> None:
        self.report = report
        self._offline, self._engine = offline, engine
        self._encoder, self._encoder_of = encoder, Encoder.of
        self._made: Fingerprint | None = None  # what the encoder is right for
        self._lock = threading.Lock()
        self._store = store

    def __repr__(self) -> str:
        where, _, name = self.name.replace("\\", "/").rpartition("/")
        return f"<Index {name!r} in {where!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, also in another process, opens the same index."""
        return partial(Index.open, offline=self._offline, engine=self._engine), (self.name,)

    @property
    def path(self) -> Path:
        return self._store.path

    @property
    def name(self) -> str:
        return self._store.name

    @classmethod
    @documented(BuildOptions)
    def build(
        cls,
        folder: Named | Folders,
        *,
        index: str | None = None,
        rebuild: bool = False,
        offline: bool = False,
        engine: str = "auto",
        workers: int | str | None = None,
        progress: Callable[[Progress], None] | None = None,
        store: str | None = None,
        store_index: str | None = None,
        **options: Unpack[BuildOptions],
    ) -> Index:
        """Index a folder, or bring its index up to date; only what changed is encoded.

        Args:
            folder: what to index; its subfolders are included. Or several, which make one index: names of documents
                then begin with what the folders have in common. None of them may lie within another.
            index: a name or path for the index; None keeps it under the user's data folder.
            rebuild: encode everything anew, with what the index was made with where nothing else is said, cut
                as is the default now. The old index answers until the new one is whole.
            offline: never call out to the Hugging Face hub.
            engine: "auto", "openvino" or "torch"; see `Encoder`.
            workers: encode in so many processes; or by actors of Ray (extra `ray`): "ray" for what this program is
                connected to, the cluster of RAY_ADDRESS, or else this machine, "ray://HOST:PORT" for a cluster.
                None encodes in this process.
            progress: called often with how far the work is.
            store: stream the passages to a server, "milvus://HOST:PORT/NAME", and keep here only which files there are;
                later runs do so, too. "none" ends that: all is indexed on this machine, and the server keeps what it
                has. With `rebuild` also in the place of what another index streamed there.
            store_index: the kind of the server's index of embeddings: "FLAT", which misses nothing, "HNSW", "IVF_FLAT"
                or "DISKANN". None takes what was there, at first "FLAT".

        An option that is None or left out is as the index was made; for a new index the model's own configuration,
        and "fp32", count, and no vectors of tokens are kept. Patterns are in the manner of .gitignore.

        Raises:
            InputError: no such folder, or nothing in it can be indexed.
            ModelError: the model cannot be found or used.
            FingerprintMismatch: the index was made with another model or other settings.
            IndexLocked: another process is writing to the index.
            OptionalDependency: Ray or Milvus is asked for and not installed.
            StoreUnavailable: the server does not answer; the next run goes on.
        """
        from search.encoding.workers import parse_workers, start_workers

        # With all that writing needs, which a query does not.
        from search.indexing.update import build_inputs, server_for, update

        workers = parse_workers(workers)
        folders = Folders.of(folder)
        path = place_for(folders, index)
        server = server_for(path, {"store": store, "store_index": store_index}, rebuild=rebuild)
        rebuild = rebuild or bool(streamed(path) and not server)
        encoder, source, settings = build_inputs(
            folders, path, options, rebuild=rebuild, offline=offline, engine=engine
        )
        with start_workers(workers, encoder, engine) as pool:
            report = update(
                folders.root,
                path,
                encoder,
                settings=settings,
                source=source,
                rebuild=rebuild,
                progress=progress,
                workers=pool,
                server=server,
            )
        return cls(store_at(path), encoder, offline, engine, report)

    @classmethod
    def open(
        cls,
        what: str | Path | None = None,
        *,
        model: str | None = None,
        pooling: str | None = None,
        offline: bool = False,
        engine: str = "auto",
    ) -> Index:
        """Open an index for reading.

        Args:
            what: an indexed folder, the path of an index, or its name. None means `$SEEWHY_INDEX`, the
                index whose folder contains the current one, or the only index there is.
            model, pooling: only to make sure; None takes what the index was made with.

        Raises:
            IndexNotFound: there is no such index; the message says what there is.
            FingerprintMismatch: `model` or `pooling` is not what the index was made with.
        """
        store, encoder = opened(what), None
        if model or pooling:
            made = store.facts.fingerprint
            encoder = Encoder.of(
                made,
                model=model,
                pooling=pooling,
                offline=offline,
                engine=engine,
                trusted=is_trusted(store),
            )
        return cls(store, encoder, offline, engine)

    @classmethod
    def preview(
        cls,
        folder: Named | Folders,
        *,
        index: str | None = None,
        **options: Unpack[SourceOptions],
    ) -> Changes:
        """What `build`, called with the same arguments, would do with each file; nothing is written.

        Every file that would be read is read, but no model is loaded and nothing is encoded.

        Raises:
            InputError: no such folder.
            IndexDamaged: there is an index, and it cannot be read.
        """
        from search.indexing.plan import preview
        from search.indexing.update import earlier, source_of

        folders = Folders.of(folder)
        path = place_for(folders, index)
        meta, _ = earlier(path, False) or (None, None)
        return preview(folders.root, path, source_of(meta, folders).changed(**options))

    def update(
        self,
        *,
        workers: int | str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        """Bring the index up to date with its folder, with the settings that it was made with.

        Args:
            workers, progress: as for `build`.

        Raises:
            InputError: the folder is gone, or nothing in it can be indexed; the index is left as it was.
            IndexLocked: another process is writing to the index.
            StoreUnavailable: the server that its passages are on does not answer; the next run goes on.
        """
        from search.encoding.workers import start_workers
        from search.indexing.update import server_for, source_of, update

        place = self._kept
        meta = read_meta(place / DATABASE)
        folders = Folders.of(Folders.from_meta(meta))
        with start_workers(workers, self.encoder, self._engine) as pool:
            return update(
                folders.root,
                place,
                self.encoder,
                settings=PassageSettings.from_json(meta["fingerprint"]["passages"]),
                source=source_of(meta, folders),
                progress=progress,
                workers=pool,
                server=server_for(place, {"store": streamed(place).get("address")}),
            )

    def watch(self, stop: threading.Event | None = None) -> Iterator[Report | SearchError | OSError]:
        """Keep the index up to date with its folder, as files change.

        Yields:
            A report of every update that changed something; an error where an update could not be made
            (another process is writing, or the disk is full, say), after which the watch goes on.

        Args:
            stop: set it from another thread to end the watch.
        """
        from search.indexing.update import changes

        for _ in changes(self.folders, self._kept, stop):
            try:
                report = self.update()
            except (SearchError, OSError) as error:
                yield error
            else:
                if not report.nothing_changed:
                    yield report

    @property
    def folders(self) -> Folders:
        """What was indexed."""
        return self._store.facts.folders

    @property
    def _kept(self) -> Path:
        """The folder of what this machine keeps of the index, by which it can be brought up to date.

        Raises:
            InputError: another machine keeps it.
        """
        if not self._store.local and not is_index(self.path):
            raise only_read(self.name)
        return self.path

    @property
    def _place(self) -> Path:
        """The folder of the index, where it can be changed.

        Raises:
            InputError: its passages are on a server.
        """
        if not self._store.local:
            raise only_read(self.name)
        return self.path

    @property
    def fingerprint(self) -> Fingerprint:
        """How its embeddings were made."""
        return self._store.facts.fingerprint

    @property
    def generation(self) -> int:
        """A number that is another one after every change of what answers are made of: of passages, annotations, the
        weight that was chosen. Numbers of documents are of one generation: they may be given again."""
        with self._store.reading() as snapshot:
            return snapshot.facts.generation

    @property
    def encoder(self) -> Encoder:
        """The encoder that the index was made with, found at first use, and anew when the index was rebuilt."""
        made = self._store.facts.fingerprint
        with self._lock:
            if self._encoder is None or self._made not in (None, made):
                self._encoder = self._encoder_of(
                    made, offline=self._offline, engine=self._engine, trusted=is_trusted(self._store)
                )
            self._made = made
            return self._encoder

    def find_encoders_by(self, find: Callable[..., Encoder]) -> None:
        """Have encoders found otherwise than by `Encoder.of`, which takes the same arguments."""
        self._encoder_of = find

    def share(self, encoder: Encoder) -> None:
        """Use an encoder that another index, which was made in the same way, has found already."""
        with self._lock:
            self._encoder = self._encoder or encoder

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with the index though it answers; empty when all is well."""
        problems = (f"{problem} --index {quoted(self.name)}" for problem in self._store.problems)
        return (*problems, *(self._encoder.remarks if self._encoder else ()))

    def status(self) -> Status:
        """What the index is and holds."""
        with self._store.reading() as snapshot:
            return snapshot.status()

    @documented(QueryOptions)
    def query(self, text: Query, k: int = 10, **options: Unpack[QueryOptions]) -> Hits:
        """The k passages that answer a text best, best first; exact.

        Args:
            text: a question or description in natural language, at most the model's `max_tokens`. Or several with
                weights, [("keys", 1), ("rotation", 0.5)]; or a `Question` that also says what hits shall be like
                or unlike. See `search.ranking.question`.
            k: how many hits, at least 1; fewer come back only if the index holds fewer passages, or fewer with
                a word of the text where only words count.

        The options change which hits come back and how they are ranked, never the score of a passage by the same
        ranking. Words of `without` are left out in any of their forms; no percentile or verdict is told then, as these
        were measured with all words. Of a text that stands in many documents the best copy is listed. See also
        `search.ranking.selection`, `search.ranking.where` and `search.ranking.rerank`.

        Raises:
            InputError: an empty text, k < 1, a text that is too long for the model, no such mode, a filter that
                cannot be understood, or a word that does not count and so cannot be left out.
            FingerprintMismatch: the model found under the index's name has other weights now.
        """
        ranking_options, selection_options, filter_options, matrix_options = parts_of(
            options, RerankOptions, SelectionOptions, FilterOptions, MatrixOptions
        )
        where, question = self._filter(**filter_options) if filter_options else None, as_question(text)
        selection, ranking = Selection.of(k, **selection_options), Ranking.of(**ranking_options)
        explained = matrix_options.pop("explain", False)
        if matrix_options.get("layer") is not None and not explained:
            raise InputError("layer is of the matrices that explain=True makes: give both.")
        explainer = self._explainer(question, ranking, **matrix_options) if explained else None
        query = explainer.query if explainer else self._encoded(question, ranking)
        reranker = self._reranker(query, ranking) if ranking.rerank else None
        hits = ranked(self._store, query, ranking, selection, where, reranker)
        if explainer:
            whys = explainer.explain(hits)
            hits = [replace(hit, explanation=why) for hit, why in zip(hits, whys, strict=True)]
        return Hits(hits)

    @documented(CandidateOptions)
    def candidates(self, text: Query, n: int = 100, **options: Unpack[CandidateOptions]) -> Candidates:
        """The passages that can be the best ones by another weight, or without some of the words, with the parts of
        their scores: what a page needs to rank again by itself; see `search.ranking.words`.

        Args:
            text: as for `query`.
            n: how many passages to take by each part of the score; the more, the more changes can be worked out.

        Raises:
            InputError: as for `query`; or n < 1.
        """
        from search.ranking.words import candidates

        ranking_options, filter_options = parts_of(options, RankingOptions, FilterOptions)
        question, ranking = as_question(text), Ranking.of(**ranking_options)
        # Also where the meaning counts nothing by the weight that is asked for: it can by another one.
        compared = replace(ranking, weight=1.0) if ranking.mode == "hybrid" else ranking
        query = self._encoded(question, compared)
        where = self._filter(**filter_options)
        with self._store.reading() as snapshot:
            return candidates(snapshot, query, ranking, n, snapshot.passing(where))

    @documented(RankingOptions)
    def counted_words(
        self, text: Query, **options: Unpack[RankingOptions]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of a query that tell passages apart, and those of them that `without` names.

        Args:
            text: as for `query`. Whatever the weight, the words are the same.

        Raises:
            InputError: no such mode, or a word of `without` is none that counts.
        """
        from search.ranking.words import counted

        question = as_question(text)
        words = question if isinstance(question, str) else question.words_of
        return counted(self._store, words, Ranking.of(**options))

    def hit(self, query: Query, what: int | str | Path, **options: Unpack[RerankOptions]) -> Hit:
        """A passage of the index, or the best one of a path, as a hit of a query, wherever it ranks; its rank is 0."""
        question = as_question(query)
        ranking = Ranking.of(**options)
        passage_id = what if isinstance(what, int) else self._explainer(question, ranking).hit(what)
        encoded_query = self._encoded(question, ranking)
        reranker = self._reranker(encoded_query, ranking)
        return scored(self._store, encoded_query, ranking, passage_id, reranker)

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        """Where the words of a query stand in the texts of its hits, each with what it added to the score.

        What a word adds is dealt out to the places where it stands, in equal parts. For the tokens, see `explain`.
        """
        from search.ranking.words import highlights

        question = as_question(query)
        return highlights(self._store, question if isinstance(question, str) else question.words_of, hits)

    def explain(self, query: Query, hit: Hit | int, **options: Unpack[ExplainOptions]) -> Explanation:
        """Why a passage has its score for a query.

        Args:
            query: as it was given to `query`.
            hit: one of the hits, whose score is then explained exactly, or a passage id.
            layer: of the matrix of cosines: 0 is the embedding layer, "last" the last hidden state, "middle" the
                default.
            mode, weight, phrases, without: as for `query`, for a passage id; a hit knows its own.

        With the poolings `mean`, `mean_sqrt_len` and `max` the addends are exact. With `cls`, `pooler` and models
        that have a Dense module with an activation they are integrated gradients, which takes seconds and
        loads the model in PyTorch; `residual` says what they miss.

        Raises:
            InputError: an empty query, an id that is none, or no such layer.
        """
        return self.explain_all(query, [hit], **options)[0]

    def explain_all(
        self, query: Query, hits: Sequence[Hit | int], **options: Unpack[ExplainOptions]
    ) -> list[Explanation]:
        """As `explain`, for many hits of one query: they go through the encoder together."""
        ranking_options, layer = parts_of(options, RankingOptions, LayerOptions)
        return self._explainer(as_question(query), Ranking.of(**ranking_options), **layer).explain(hits)

    def contrast(self, query: Query, a: AnyHit, b: AnyHit, **options: Unpack[RankingOptions]) -> Contrast:
        """Why one passage stands above another for a query, word by word of the query.

        Args:
            a, b: hits, passage ids, or paths as for `why_not`, of which the best passage is taken.
            mode, weight, phrases, without: as for `query`; of hits they must be those that they were ranked by.

        Raises:
            InputError: an empty query, an id that is none, a path that is not in the index, or hits of
                different rankings.
        """
        return self._explainer(as_question(query), Ranking.of(**options)).contrast(a, b)

    @documented(RankOptions)
    def why_not(
        self, query: Query, what: str | Path | int, k: int = 10, **options: Unpack[RankOptions]
    ) -> WhyNot:
        """Where a document stands for a query, and why it is not among the hits.

        Args:
            what: a path: absolute, from the current folder or from the indexed one; also with a record
                or a line, as hits are listed ("table.csv#12", "keys.md:31"). Or a passage id. Of what has
                several passages the best is looked at.

        Raises:
            InputError: an empty query, a folder instead of a file, an id or line that there is not.
        """
        ranking_options, limit_options, filter_options = parts_of(
            options, RankingOptions, LimitOptions, FilterOptions
        )
        explainer = self._explainer(as_question(query), Ranking.of(**ranking_options))
        return explainer.why_not(what, Selection.of(k, **limit_options), self._filter(**filter_options))

    def documents_named(self, part: str, most: int = 20, offset: int = 0) -> list[NamedDocument]:
        """Documents that have all words of `part` in their name or title, in any case of letters, by name: at most
        `most` behind the first `offset`."""
        with self._store.reading() as snapshot:
            return snapshot.documents_named(part, most, offset)

    def location(self, document: int) -> Path:
        """Where a document is, given its id: a path as `why_not` takes it.

        Raises:
            IdMissing: there is no such document.
        """
        with self._store.reading() as snapshot:
            return snapshot.facts.root / snapshot.document(document).name

    @documented(SimilarOptions)
    def similar(
        self,
        what: Example,
        k: int = 10,
        *,
        same_document: bool = False,
        **options: Unpack[SimilarOptions],
    ) -> Hits:
        """The k passages whose embeddings are nearest to that of a passage or document, best first; exact.

        Args:
            what: a passage id, or a path as for `why_not`. Of several passages the mean of their embeddings counts,
                scaled to length 1.
            same_document: also other passages of the same document; never the passages themselves.

        Raises:
            InputError: it is not in the index, or another argument cannot be worked with.
        """
        from search.ranking.question import similar_to

        selection_options, filter_options = parts_of(options, SelectionOptions, FilterOptions)
        where, selection = self._filter(**filter_options), Selection.of(k, **selection_options)
        with self._store.reading() as snapshot:
            query, ids = similar_to(snapshot, what)
            among = snapshot.passing(where, without=ids if same_document else snapshot.siblings(ids))
            hits = listed(snapshot, query, Ranking.of(mode="dense"), selection, among)
        hits = with_file_status(hits)
        # The random pairs are of a query and a passage, so they say nothing of two passages.
        return Hits(replace(hit, percentile=None, random_pairs=0) for hit in hits)

    def explain_similar(self, what: Example, hit: Hit | int) -> Explanation:
        """Why a passage is similar to a passage or document, by pairs of tokens of the two.

        Of a document with several passages the one that adds most is taken apart; each other is one addend.

        Args:
            what: as for `similar`.
            hit: one of its hits, or a passage id.

        Raises:
            InputError: one of them is not in the index.
        """
        from search.ranking.question import most_similar_part, query_fits, similar_to

        with self._store.reading() as snapshot:
            query, _ = similar_to(snapshot, what)
            query = most_similar_part(snapshot, query, hit if isinstance(hit, int) else hit.passage_id)
        with query_fits("passage"):
            return self._explainer(query, Ranking.of(mode="dense")).explain([hit])[0]

    def duplicates(self, threshold: float = 0.95, *, where: str | None = None) -> list[Cluster]:
        """Passages that say the same: all pairs with a cosine of at least `threshold`, joined to clusters.

        Exact. With d = 384, 100,000 passages took 32 s and 0.8 GB (2 cores that other work shared).

        Args:
            threshold: in (0, 1].
            where: a filter, as for `query`; only passages that pass it are compared.

        Returns:
            The largest cluster first.
        """
        from search.ranking.duplicates import near_copies

        return near_copies(self._store, threshold, self._filter(where))

    def facets(self, where: str | None = None) -> tuple[Facet, ...]:
        """By which fields documents can be told apart: the most frequent values of each, with their filters.

        Kinds, folders, languages, years of dates, what annotators say, other metadata of which many documents share
        values. All documents are looked at, and what was found is kept until the index changes: of 200,000 documents
        that took 5 s of processor time, and 13 s with 600,000 passages that annotators had looked at.

        Args:
            where: a filter, as for `query`; then of the documents that have a passage that passes it.

        Raises:
            InputError: a filter that cannot be understood.
        """
        with self._store.reading() as snapshot:
            return snapshot.facets(self._filter(where))

    def document(self, id_: int) -> DocumentText:
        """A whole document with its passages, as far as the index holds it; its file is not read for it.

        Args:
            id_: the `document_id` of a hit, of the same `generation`.

        Raises:
            IdMissing: there is no document of that number.
        """
        from search.ranking.reading import document_text

        return document_text(self._store, id_)

    def file_text(self, document: int) -> str | None:
        """The text of a document's file: with what no passage holds (front matter, blank space, marks), read now.

        Returns:
            None where the file has changed, is gone, or is of a format that is converted (HTML, CSV, PDF).

        Raises:
            IdMissing: there is no document of that number.
        """
        from search.ranking.reading import file_text

        return file_text(self._store, document)

    def passage(self, id_: int) -> StoredPassage:
        """A passage as the index holds it.

        Raises:
            IdMissing: there is no passage of that id.
        """
        from search.ranking.reading import passage_text

        return passage_text(self._store, id_)

    def surroundings(self, hit: Hit, *, lines: int) -> Surroundings:
        """The lines of the source file around a hit, read now.

        Args:
            lines: how many before it and behind it; a note says why there are none where the file is not as it was
                indexed, or its lines are not those of the text.

        Raises:
            InputError: a number below 0.
        """
        from search.ranking.reading import surroundings

        return surroundings(hit, lines)

    def ask(
        self,
        question: str,
        *,
        model: str,
        k: int = 10,
        answers: int = 3,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QueryOptions],
    ) -> Answers:
        """The spans of the k best passages that answer a question, best first; see `search.bert.answering`.

        Args:
            question: at most so long that the reader has room for a passage beside it.
            model: the reader, a checkpoint with a head for answer spans, such as deepset/roberta-base-squad2.
            k: how many passages are read.
            answers: most answers that come back, at least 1.
            progress: called after every passage that was read.
            mode, weight, phrases, without, where, rerank, per_document, ...: as for `query`; the index's own encoder
                retrieves.

        Raises:
            InputError: as for `query`; a question that is too long for the reader, or a number that cannot be worked
                with.
            ModelError: the reader cannot be found or loaded, or has no head for answer spans.
        """
        from search.bert.answering import answer_from, required
        from search.bert.checkpoint import load_head
        from search.ranking.reading import span_lines

        reader = load_head("answer", required(model), self._offline)
        hits = self.query(question, k, **options)
        return answer_from(question, hits, reader, answers, span_lines, progress)

    def tag(self, model: str, **options: Unpack[TagOptions]) -> TagReport:
        """Find entities, or parts of speech, in all passages; filters such as "person='Ada Lovelace'" then find them.

        Passages that were tagged before by the same checkpoint are left alone, so a run that was stopped is gone on
        with, and after an update only new passages are read.

        Args:
            model: a checkpoint with a head for classes of tokens, such as dslim/bert-base-NER.
            task: "ner" or "pos".
            replace: put these in place of annotations of this task that something else made.
            progress: called after every batch of passages, with the stage "tagging".

        Raises:
            InputError: the checkpoint's classes are not those of the task, a field's name is taken, or there are
                annotations of this name that something else made.
            ModelError: the model cannot be found or loaded, or has no head for classes of tokens.
            IndexLocked: another process is writing to the index.
        """
        from search.annotating.passages import tag_index

        return tag_index(self._place, model, offline=self._offline, **options)

    def label(
        self,
        model: str | None = None,
        *,
        head: LinearHead | str | Path | None = None,
        name: str | None = None,
        **options: Unpack[AnnotateOptions],
    ) -> LabelledIndex:
        """Label all passages that have no label yet; filters such as "sentiment=positive" then find them.

        Args:
            model: a checkpoint that was trained to classify texts.
            head: instead, a head that was trained with `search.bert.train_labels`, or its folder.
            name, replace, progress: as for `search.annotating.passages`, which says more.

        Raises:
            FingerprintMismatch: the head was trained on other embeddings.
            InputError: labels of that name were given by another model or head, or the name is taken.
            IndexLocked: another process is writing to the index.
        """
        from search.annotating.passages import label_index

        return label_index(
            self._place, model=model, head=head, name=name, offline=self._offline, **options
        )

    def annotations(self, passages: Sequence[int]) -> dict[int, list[Annotation]]:
        """What annotators say of passages, by their ids, with the spans of entities in the documents' texts.

        A passage that nothing was said of is left out.
        """
        with self._store.reading() as snapshot:
            return {id_: list(said) for id_, said in snapshot.annotations(passages).items()}

    def remove_annotations(self, name: str) -> Annotator:
        """Forget all annotations of a name. Returns what there was of them; what there is, is in `status()`.

        Raises:
            InputError: the index has none of that name.
            IndexLocked: another process is writing to the index.
        """
        from search.store.annotating import remove_annotator

        return remove_annotator(self._place, name)

    def check(
        self,
        *,
        repair: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> CheckReport:
        """Whether the index is intact and up to date; see `search.indexing.check`.

        Args:
            repair: make damaged derived files again, and delete stray files.
            progress: called often with how far the work is.

        Raises:
            IndexLocked: `repair`, and another process is writing to the index.
        """
        from search.indexing.check import check

        report = check(self._place, repair=repair, progress=progress)
        if repair:
            self._store = Store(self.path)  # opens the new files
        return report

    def move(self, folder: Named) -> None:
        """Let the index be of a folder that was renamed or moved; see `search.indexing.update`.

        Raises:
            InputError: less than half of the files are there.
            IndexLocked: another process is writing to the index.
        """
        from search.indexing.update import move

        self._store, self.report = opened(move(self._kept, folder)), None

    def remove(self) -> None:
        """Delete the index, also on its server; the folder that was indexed stays as it is.

        Raises:
            IndexLocked: another process is writing to it.
            IndexDamaged: a name in it is a link.
        """
        self._store.remove()

    def _filter(self, where: str | None = None, since: str | None = None) -> Where | None:
        """Which passages pass; None for all."""
        if where is None and since is None:
            return None
        from search.ranking.where import both

        return both(where, since)

    def _encoded(self, question: str | Question, ranking: Ranking) -> EncodedQuery:
        """A query as it is searched for; no model is looked for where only words count."""
        if isinstance(question, str) and not ranking.weight and not ranking.rerank:
            return EncodedQuery(question, None)
        return encoded(question, ranking, self.encoder, self._store)

    def _reranker(self, query: EncodedQuery, ranking: Ranking) -> Reranker | None:
        """What looks at the best passages again; None for nothing."""
        if not ranking.rerank:
            return None
        from search.ranking.rerank import CrossEncoderReranker, LateInteraction, cross_encoder

        if ranking.rerank == "late" and query.tokens is not None:
            return LateInteraction(self.encoder, query.tokens)
        return CrossEncoderReranker(cross_encoder(ranking.rerank, self._offline), query.text)

    def _explainer(
        self,
        query: str | Question | EncodedQuery,
        ranking: Ranking,
        layer: Layer | None = None,
    ) -> Explainer:
        from search.explaining.explainer import Explainer

        return Explainer(self._store, self.encoder, query, ranking, self._offline, layer)
