"""`Index`: the main class of the package; its methods call the other modules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload
from weakref import finalize

import numpy as np

from search.encoding import Encoder, Fingerprint
from search.errors import IndexOutdated, InputError, SearchError, quoted
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
from search.ranking.rank import rank_passages, ranked, scored
from search.ranking.selection import Selection
from search.records.hits import Cluster, Hit, Hits, Surroundings
from search.records.option_tools import Ranking, documented, split_options
from search.records.options import (
    AttributionOptions,
    BuildOptions,
    CandidateOptions,
    EncoderOptions,
    EngineName,
    ExplainOptions,
    FilterOptions,
    Gradients,
    LimitOptions,
    MatrixOptions,
    Pooling,
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SelectionOptions,
    SimilarOptions,
)
from search.store.contents import require_contents
from search.store.database import read_meta
from search.store.earlier_format import EarlierFormatStore
from search.store.freshness import with_file_status
from search.store.layout import (
    DATABASE,
    find_index,
    find_index_path,
    index_path_for,
    index_path_of,
    is_index,
    needs_local_index,
    streamed,
)
from search.store.opening import is_trusted, opened, store_at
from search.store.settings import FolderPaths, Folders, PassageSettings
from search.store.sqlite import Store
from search.store.terms import unquoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from search.bert.labelling import LinearHead
    from search.encoding.function import AnyEncoder
    from search.explaining.explainer import Explainer
    from search.indexing.quick import Pending
    from search.ranking.rerank import Reranker
    from search.ranking.words import Candidates
    from search.records.comparisons import Contrast, WhyNot
    from search.records.contents import DocumentText, Facet, StoredPassage
    from search.records.document_map import DocumentMap
    from search.records.documents import Annotation, Annotator, NamedDocument
    from search.records.explanations import Explanation, Highlight
    from search.records.memory_document import DamagedDocument, Document, Documents
    from search.records.options import AnnotateOptions, SourceOptions, TagOptions
    from search.records.predictions import Answers, LabelledIndex, TagReport
    from search.records.reports import (
        Changes,
        CheckReport,
        Progress,
        Report,
        Status,
        Upserted,
    )
    from search.records.tokens import Layer
    from search.store.conditions import Where

    AnyHit: TypeAlias = Hit | int | str | Path


class Index:
    """An index of passages, open for queries. Create one with `Index.build` or `Index.open`.

    Thread-safe. The model is loaded by the first query that needs it. Each query reads one consistent state of the
    index, and sees all updates that were committed before, also by other processes.

    Attributes:
        path: folder of the index's files on this machine.
        name: path of the index, or its address on a server; `Index.open` accepts it.
        report: report of `build`, or of `create` with `rebuild`; None for an index that was opened or created.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None,
        offline: bool,
        engine: EngineName,
        report: Report | None = None,
    ) -> None:
        self.report = report
        self._offline, self._engine = offline, engine
        self._encoder, self._encoder_of = encoder, Encoder.of
        self._map: tuple[int, DocumentMap] | None = None  # of a generation
        self._fingerprint: Fingerprint | None = None  # of the index when the encoder was loaded
        self._lock = threading.Lock()
        self._store = store
        self._conversion_notes: tuple[str, ...] = ()
        self._deleted: Callable[[], object] = lambda: None  # deletes a temporary index

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection to the files; a temporary index is deleted."""
        self._store.close()
        self._deleted()

    def __repr__(self) -> str:
        where, _, name = self.name.replace("\\", "/").rpartition("/")
        return f"<Index {name!r} in {where!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the name of the index: the unpickled copy, also in another process, opens the same index."""
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
        folder: FolderPaths | Folders,
        *,
        index: str | None = None,
        rebuild: bool = False,
        offline: bool = False,
        engine: EngineName = "auto",
        workers: int | str | None = None,
        progress: Callable[[Progress], None] | None = None,
        store: str | None = None,
        store_index: str | None = None,
        encoder: AnyEncoder | None = None,
        encoder_name: str | None = None,
        **options: Unpack[BuildOptions],
    ) -> Index:
        """Index a folder, or update its index; only new and changed passages are encoded.

        Args:
            folder: the folder to index, with all subfolders. Or several folders for one index: document names are then
                relative to their common parent. No folder may contain another one.
            index: name or path of the index; None stores it in the user's data folder.
            rebuild: encode all passages again. Options that are not given keep the index's settings, but passages are
                cut by the current defaults. The old index answers queries until the new one is complete.
            offline: never access the Hugging Face hub.
            engine: "auto", "openvino" or "torch"; see `Encoder`.
            workers: number of processes that encode; or "ray" or "ray://HOST:PORT" to encode with Ray actors (extra
                `ray`). "ray" uses the existing connection, else the cluster of RAY_ADDRESS, else this machine. None
                encodes in this process.
            progress: callback, called often with the progress.
            store: stream the passages to a server, "milvus://HOST:PORT/NAME", and store only the list of files here;
                later runs do the same. "none" stores the passages on this machine again; the server's data stay.
                With `rebuild`, data that another index streamed there are replaced.
            store_index: type of the server's vector index: "FLAT" (exact), "HNSW", "IVF_FLAT" or "DISKANN". None keeps
                the existing type; "FLAT" for a new one.
            encoder, encoder_name: an encoder to use instead of a model, as for `create`; `model` may be one, too.

        An option that is None or left out keeps the setting of an existing index. A new index uses the model's own
        configuration and "fp32", and stores no token vectors. Patterns have the syntax of .gitignore.

        Returns:
            The open index; `report` lists the changes.

        Raises:
            InputError: the folder does not exist, or nothing in it can be indexed.
            ModelError: the model cannot be found or used.
            FingerprintMismatch: the index was built with another model or other settings.
            IndexLocked: another process is writing to the index.
            OptionalDependency: Ray or Milvus is requested, but not installed.
            StoreUnavailable: the server does not respond; to resume, call `build` again.
        """
        from search.encoding.workers import parse_workers, start_workers

        # Imports everything that writing needs and a query does not.
        from search.indexing.update import build_inputs, server_for, update

        workers = parse_workers(workers)
        folders = Folders.of(folder)
        path = index_path_for(folders, index)
        server = server_for(path, {"store": store, "store_index": store_index}, rebuild=rebuild)
        rebuild = rebuild or bool(streamed(path) and not server)
        chosen, source, settings = build_inputs(
            folders,
            path,
            options,
            rebuild=rebuild,
            offline=offline,
            engine=engine,
            encoder=_encoder_from(encoder or _model_object(options), encoder_name),
        )
        with start_workers(workers, chosen, engine) as pool:
            report = update(
                folders.root,
                path,
                chosen,
                settings=settings,
                source=source,
                rebuild=rebuild,
                progress=progress,
                workers=pool,
                server=server,
            )
        return cls(store_at(path), chosen, offline, engine, report)

    @classmethod
    @documented(EncoderOptions)
    def create(
        cls,
        name: str | Path | None = None,
        *,
        encoder: AnyEncoder | None = None,
        encoder_name: str | None = None,
        rebuild: bool = False,
        offline: bool = False,
        engine: EngineName = "auto",
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[EncoderOptions],
    ) -> Index:
        """Create an empty index for documents from memory; `upsert` fills it.

        Args:
            name: name or path of the index. None creates a temporary one, which is deleted by `close`, at the end of
                a `with` block, or with the object.
            encoder: an `Encoder`, a SentenceTransformer, or a function from n texts to an (n, d) array,
                to use instead of a model. `open` needs the same encoder. The last two have no token
                vectors: cosines are then explained by a single addend, and the length of passages is
                measured in words.
            encoder_name: name that identifies a function's embeddings; None uses the function's
                `__name__`.
            rebuild: build an existing index again from the documents that it contains, whatever its format.
                Embeddings of the same model are taken over; tags and labels are not. The old index answers queries
                until the new one is complete, and is kept as `index.db.old` if a document in it is damaged.
            offline: never access the Hugging Face hub.
            engine: "auto", "openvino" or "torch"; see `Encoder`.
            progress: callback, called often with the progress of a rebuild.

        An option that is None or left out keeps the setting of an index that is rebuilt, else it uses the model's own
        configuration.

        Returns:
            The open index; after a rebuild, `report` says what was taken over.

        Raises:
            InputError: the index exists already, or its name is invalid; with `rebuild`, it belongs to a folder.
            IndexNotFound: with `rebuild`, there is no index.
            ModelError: the model cannot be found or used.
        """
        from search.indexing import memory
        from search.indexing.update import build_inputs

        place = index_path_of(str(name)) if name else Path(mkdtemp(prefix="seewhy-"))
        if rebuild:
            require_contents(place / DATABASE)
        chosen, *_ = build_inputs(
            Folders(),
            place,
            cast("BuildOptions", options),
            rebuild=True,
            offline=offline,
            engine=engine,
            encoder=_encoder_from(encoder or _model_object(options), encoder_name),
        )
        report = None
        if rebuild:
            report = memory.rebuild(place, chosen, progress)
        else:
            memory.create(place, chosen)
        index = cls(Store(place), chosen, offline, engine, report)
        if not name:
            index._deleted = finalize(index, rmtree, place, ignore_errors=True)
        return index

    @classmethod
    def open(
        cls,
        source: str | Path | None = None,
        *,
        model: str | None = None,
        pooling: Pooling | None = None,
        encoder: AnyEncoder | None = None,
        encoder_name: str | None = None,
        offline: bool = False,
        engine: EngineName = "auto",
    ) -> Index:
        """Open an index for reading.

        Args:
            source: an indexed folder, the path of an index, its name, or its address on a server. None opens
                `$SEEWHY_INDEX`, else the index of the current folder or of a parent, else the only index.
            model, pooling: the expected model and pooling, for verification only; None skips the
                verification.
            encoder, encoder_name: the encoder that the index was created with, as for `create`.
            offline: never access the Hugging Face hub.
            engine: "auto", "openvino" or "torch"; see `Encoder`.

        An index of documents from memory of an earlier format is read through a temporary copy, and converted before
        the first write.

        Raises:
            IndexNotFound: the index does not exist; the message lists existing ones.
            IndexOutdated: the index of a folder has another format, or a later version wrote the index.
            FingerprintMismatch: the index was built with another model or pooling.
        """
        chosen: Encoder | None = None
        try:
            store = opened(source)
        except IndexOutdated:
            from search.indexing.memory import opened_earlier

            store = opened_earlier(
                find_index_path(source),
                _encoder_from(encoder, encoder_name),
                offline=offline,
                engine=engine,
            )
        if encoder is not None:
            chosen = _encoder_from(encoder, encoder_name, int(store.facts.fingerprint.max_tokens))
            mine = replace(chosen.fingerprint, passages=store.facts.fingerprint.passages)
            store.facts.fingerprint.require_equal(mine)
        elif model or pooling:
            chosen = Encoder.of(
                store.facts.fingerprint,
                model=model,
                pooling=pooling,
                offline=offline,
                engine=engine,
                trusted=is_trusted(store),
            )
        return cls(store, chosen, offline, engine)

    @classmethod
    def preview(
        cls, folder: FolderPaths | Folders, *, index: str | None = None, **options: Unpack[SourceOptions]
    ) -> Changes:
        """Preview what `build` would do with each file, given the same arguments; nothing is written.

        All files that `build` would read are read, but no model is loaded and nothing is encoded.

        Raises:
            InputError: the folder does not exist.
            IndexDamaged: an index exists, but cannot be read.
        """
        from search.indexing.plan import preview
        from search.indexing.update import earlier, source_of

        folders = Folders.of(folder)
        path = index_path_for(folders, index)
        meta, _ = earlier(path, False) or (None, None)
        return preview(folders.root, path, source_of(meta, folders).changed(**options))

    def update(
        self, *, workers: int | str | None = None, progress: Callable[[Progress], None] | None = None
    ) -> Report:
        """Update the index after changes in its folder, with the settings it was built with.

        Args:
            workers, progress: as for `build`.

        Raises:
            InputError: the folder is gone, or nothing in it can be indexed; the index stays unchanged.
            IndexLocked: another process is writing to the index.
            StoreUnavailable: the server of its passages does not respond; to resume, call `update`
                again.
        """
        from search.encoding.workers import start_workers
        from search.indexing.update import server_for, source_of, update

        place = self._local_folder
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

    def upsert(
        self, documents: Documents, *, progress: Callable[[Progress], None] | None = None
    ) -> Upserted:
        """Store documents from memory, replacing those with the same IDs; only new texts are encoded.

        One call is one transaction: all documents are stored, or none. Pass thousands of documents in
        one call, not one by one. During the call all documents are in memory, with about 2 kB more for
        each passage.

        Args:
            documents: `search.Document`s, or mappings with their fields. Other keys of a mapping are metadata.
            progress: callback, called often with the progress.

        Raises:
            InputError: a document is invalid, or the index belongs to a folder.
            IndexLocked: another process has been writing to the index for a minute.
        """
        from search.indexing.memory import upsert

        return upsert(self._memory_folder, self.encoder, documents, progress=progress)

    def add(
        self, documents: Documents, *, progress: Callable[[Progress], None] | None = None
    ) -> Upserted:
        """Store new documents from memory, like `upsert`.

        Raises:
            InputError: a document with the same ID exists; or as for `upsert`.
            IndexLocked: as for `upsert`.
        """
        from search.indexing.memory import upsert

        return upsert(self._memory_folder, self.encoder, documents, new=True, progress=progress)

    def delete(self, ids: Iterable[str]) -> Upserted:
        """Delete documents from memory; IDs that do not exist are ignored.

        Raises:
            InputError: the index belongs to a folder.
            IndexLocked: as for `upsert`.
        """
        from search.indexing.memory import delete

        return delete(self._memory_folder, [ids] if isinstance(ids, str) else ids)

    def get(self, ids: Iterable[str]) -> list[Document]:
        """Return documents from memory by ID, in the order of the IDs; IDs that do not exist are left out.

        Raises:
            InputError: the index belongs to a folder.
        """
        with self._store.reading() as snapshot:
            snapshot.facts.folders.require_memory()
            return snapshot.memory_documents([ids] if isinstance(ids, str) else ids)

    @staticmethod
    def export(
        source: str | Path | None = None,
        *,
        on_damage: Callable[[DamagedDocument], object] | None = None,
    ) -> Iterator[Document]:
        """Yield the documents from memory of an index, of any format, in the order in which they were added.

        Needs no model, and reads as much of a damaged index as can be read.

        Args:
            source: the index, as for `open`.
            on_damage: called with each document that cannot be read, or is not what was stored; the latter is still
                yielded. None raises an error instead.

        Raises:
            InputError: the index belongs to a folder.
            IndexDamaged: a document is damaged, and there is no `on_damage`; or nothing can be read.
        """
        from search.indexing.memory import exported

        return exported(find_index(source), on_damage)

    def pending_update(self) -> Pending:
        """Return the size of the update that is due: "nothing", "small" (it takes less than a second) or "large".

        "nothing" for an index on a server, one outside the user's data folder, and one of more than 5,000 files.
        """
        from search.indexing.quick import pending_update

        return pending_update(self.path, self._store.facts) if is_trusted(self._store) else "nothing"

    def watch(self, stop: threading.Event | None = None) -> Iterator[Report | SearchError | OSError]:
        """Watch the folder and update the index whenever files change.

        Args:
            stop: event that ends the watch; set it from another thread.

        Yields:
            A report of each update that changed something. If an update fails (another process is writing, or the
            disk is full, say), the error; the watch continues.
        """
        from search.indexing.update import changes

        for _ in changes(self.folders, self._local_folder, stop):
            try:
                report = self.update()
            except (SearchError, OSError) as error:
                yield error
            else:
                if not report.nothing_changed:
                    yield report

    @property
    def folders(self) -> Folders:
        """The indexed folders."""
        return self._store.facts.folders

    @property
    def _local_folder(self) -> Path:
        """Folder of the index's files on this machine; an update needs them.

        Raises:
            InputError: these files are on another machine.
        """
        if not self._store.local and not is_index(self.path):
            raise needs_local_index(self.name)
        return self.path

    @property
    def _passages_folder(self) -> Path:
        """Folder of the index on this machine, which contains its passages.

        Raises:
            InputError: the passages are on a server.
        """
        if not self._store.local:
            raise needs_local_index(self.name)
        return self.path

    @property
    def _memory_folder(self) -> Path:
        """Folder of the index, to change its documents from memory; an index of an earlier format is converted first.

        Raises:
            InputError: the passages are on a server.
        """
        if isinstance(self._store, EarlierFormatStore):
            if self._store.is_current:
                from search.indexing.memory import rebuild

                self._conversion_notes = rebuild(self.path, self.encoder).notes
            self._store = Store(self.path)
        return self._passages_folder

    @property
    def fingerprint(self) -> Fingerprint:
        """Model, tokenizer and settings of the embeddings."""
        return self._store.facts.fingerprint

    @property
    def generation(self) -> int:
        """Version number of the index; it increases with every change that can affect query results.

        Document IDs are valid for one generation only, because another document may get the same ID
        later.
        """
        with self._store.reading() as snapshot:
            return snapshot.facts.generation

    @property
    def encoder(self) -> Encoder:
        """Encoder of the index, loaded on first use, and again after a rebuild."""
        mine = self._store.facts.fingerprint
        with self._lock:
            if self._encoder is None or self._fingerprint not in (None, mine):
                self._encoder = self._encoder_of(
                    mine, offline=self._offline, engine=self._engine, trusted=is_trusted(self._store)
                )
            self._fingerprint = mine
            return self._encoder

    def find_encoders_by(self, find: Callable[..., Encoder]) -> None:
        """Load encoders with the function `find`, which takes the same arguments as `Encoder.of`."""
        self._encoder_of = find

    def share(self, encoder: Encoder) -> None:
        """Use the encoder of another index with the same fingerprint, unless this index has loaded its own."""
        with self._lock:
            self._encoder = self._encoder or encoder

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about problems that do not prevent queries."""
        problems = (f"{problem} --index {quoted(self.name)}" for problem in self._store.problems)
        remarks = self._encoder.remarks if self._encoder else ()
        return (*self._store.notes, *self._conversion_notes, *problems, *remarks)

    def status(self) -> Status:
        """Return the status of the index: model, contents and last run."""
        with self._store.reading() as snapshot:
            return snapshot.status()

    @documented(QueryOptions)
    def query(
        self,
        text: Query = "",
        k: int = 10,
        *,
        vector: ArrayLike | None = None,
        **options: Unpack[QueryOptions],
    ) -> Hits:
        """Return the k passages with the highest scores for a query, best first; the search is exact.

        Args:
            text: a question or description in natural language, at most the model's `max_tokens` long.
                Or several texts with weights, [("keys", 1), ("rotation", 0.5)]; or a `Question`, which
                can also name passages that hits should resemble or not. A single text may contain
                "phrases", -words to exclude, and field=value filters; `Question.of(text)` takes the text
                literally. See `search.ranking.question`.
            k: maximum number of hits, at least 1. You get fewer only if fewer passages pass the filters or, with mode
                "lexical", contain a word of the query.
            vector: (d,) embedding to use instead of the text's; it is scaled to length 1. Keywords are
                still taken from the text; without a text, the mode is "dense". `explain` and `rerank`
                need tokens, so they are not possible with a vector.

        `without` ignores all forms of a word; hits then have no percentile and no verdict, as both are calibrated with
        all words. If many documents contain the same text, only its best copy is listed. See also
        `search.ranking.selection`, `search.ranking.where` and `search.ranking.rerank`.

        Returns:
            `Hits`, a list of `Hit`. With `explain=True` each hit has its `explanation`.

        Raises:
            InputError: an empty or too long text, k < 1, an unknown mode, an invalid filter, or a word of `without`
                that is not a keyword of the query.
            FingerprintMismatch: the model's weights have changed since the index was built.
        """
        ranking_options, selection_options, filter_options, matrix_options = split_options(
            options, RerankOptions, SelectionOptions, FilterOptions, MatrixOptions
        )
        question: str | Question = ""
        if vector is not None and not text:
            where = self._filter(**filter_options)
            ranking_options.setdefault("mode", "dense")
        else:
            question, where = self._parsed(text, **filter_options)
        selection, ranking = Selection.of(k, **selection_options), Ranking.of(**ranking_options)
        explained = matrix_options.pop("explain", False)
        if vector is not None and (explained or ranking.rerank or isinstance(question, Question)):
            raise InputError("with 'vector', pass a single text and neither 'explain' nor 'rerank'.")
        if matrix_options.get("layer") is not None and not explained:
            raise InputError("'layer' requires explain=True.")
        explainer = self._explainer(question, ranking, **matrix_options) if explained else None
        query = explainer.query if explainer else self._encoded(question, ranking, vector)
        reranker = self._reranker(query, ranking) if ranking.rerank else None
        hits = selection.ordered(ranked(self._store, query, ranking, selection, where, reranker))
        if explainer:
            whys = explainer.explain(hits)
            hits = [replace(hit, explanation=why) for hit, why in zip(hits, whys, strict=True)]
        return Hits(hits)

    @documented(QueryOptions)
    def query_many(
        self, texts: Sequence[str], k: int = 10, **options: Unpack[QueryOptions]
    ) -> list[Hits]:
        """Return a list of hits for each of several queries; the texts are encoded in one batch.

        With `explain` or `rerank`, which need the token vectors of a query, the texts are encoded one by one.

        Raises:
            InputError: as for `query`.
        """
        if options.get("explain") or options.get("rerank"):
            return [self.query(text, k, **options) for text in texts]
        questions = [unquoted(str(self._parsed(text)[0])) for text in texts]
        with query_fits():
            vectors = self.encoder.encode(questions, role="query")
        pairs = zip(texts, vectors, strict=True)
        return [self.query(text, k, vector=vector, **options) for text, vector in pairs]

    def embeddings(
        self, passages: Sequence[int] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return passage IDs, and the (n, d) embeddings of these passages, each of unit length.

        Args:
            passages: passage IDs, as in `Hit.passage_id`; None for all passages, by increasing IDs.

        Raises:
            IdMissing: the index has no passage with one of the IDs.
        """
        with self._store.reading() as snapshot:
            stored = snapshot.ids()
            ids = stored if passages is None else np.array(passages, dtype=np.int64)
            for id_ in np.setdiff1d(ids, stored):
                snapshot.passage(int(id_))  # raises IdMissing
            return ids, snapshot.embeddings(ids.tolist())

    @documented(CandidateOptions)
    def candidates(self, text: Query, n: int = 100, **options: Unpack[CandidateOptions]) -> Candidates:
        """Return passages with the parts of their scores.

        From these parts, a web page can compute other rankings without a server: by another weight, or
            with some
        words ignored. See `search.ranking.words`.

        Args:
            text: as for `query`.
            n: number of best passages by cosine, and by keyword score. With a larger n, more rankings by
                other weights and words are exact.

        Raises:
            InputError: as for `query`; or n < 1.
        """
        from search.ranking.words import candidates

        ranking_options, filter_options = split_options(options, RankingOptions, FilterOptions)
        question, where = self._parsed(text, **filter_options)
        ranking = Ranking.of(**ranking_options)
        # Even at weight 0: the page may choose a weight at which embeddings count.
        compared = replace(ranking, weight=1.0) if ranking.mode == "hybrid" else ranking
        query = self._encoded(question, compared)
        with self._store.reading() as snapshot:
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

        return counted(self._store, self._words_of(text), Ranking.of(**options))

    def hit(self, query: Query, passage: int | str | Path, **options: Unpack[RerankOptions]) -> Hit:
        """Score any passage for a query. The hit has rank 0, because other passages are not ranked.

        Args:
            query: as for `query`.
            passage: a passage ID; or the path of a document, whose best passage is scored.

        Raises:
            InputError: as for `why_not`.
        """
        question, _ = self._parsed(query)
        ranking = Ranking.of(**options)
        passage_id = (
            passage if isinstance(passage, int) else self._explainer(question, ranking).hit(passage)
        )
        encoded_query = self._encoded(question, ranking)
        reranker = self._reranker(encoded_query, ranking)
        return scored(self._store, encoded_query, ranking, passage_id, reranker)

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        """Return the spans of query words in the text of each hit, with their contributions to the score.

        The contribution of a word is divided equally among its occurrences. Stop words are left out,
        unless the query has no other words. For contributions of tokens see `explain`.
        """
        from search.ranking.words import highlights

        return highlights(self._store, self._words_of(query), hits)

    def explain(
        self,
        query: Query,
        hit: Hit | int,
        *,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[ExplainOptions],
    ) -> Explanation:
        """Explain the score of a passage for a query, token by token.

        Args:
            query: the query, as passed to `query`.
            hit: a hit, whose score is explained exactly; or a passage ID.
            layer: layer of the token vectors in the matrix `similarity`: 0 is the embedding layer, "last" the last
                hidden state, "middle" the default.
            gradients: "tokens", "pairs" or "off", for embeddings whose addends are not exact.
            progress: callback for "pairs", which are slow.
            mode, weight, without: as for `query`, if `hit` is a passage ID; a `Hit` stores its own.

        With the poolings `mean`, `mean_sqrt_len` and `max` the addends are exact. With `cls`, `pooler` and models
        that have a Dense module with an activation they are integrated gradients, which load the model in PyTorch;
        `residual` is their error. "tokens" computes the addends of the tokens of each text in a few seconds; "off"
        leaves the cosine whole.

        Raises:
            InputError: an empty query, an unknown passage ID, or an unknown layer.
        """
        return self.explain_all(query, [hit], progress=progress, **options)[0]

    def explain_all(
        self,
        query: Query,
        hits: Sequence[Hit | int],
        *,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[ExplainOptions],
    ) -> list[Explanation]:
        """Explain several hits of one query, in their order; their tokens are encoded in one batch."""
        ranking_options, how = split_options(options, RankingOptions, AttributionOptions)
        question, _ = self._parsed(query)
        explainer = self._explainer(question, Ranking.of(**ranking_options), progress=progress, **how)
        return explainer.explain(hits)

    def contrast(self, query: Query, a: AnyHit, b: AnyHit, **options: Unpack[RankingOptions]) -> Contrast:
        """Compare the scores of two passages for a query, for each word of the query.

        Args:
            a, b: hits, passage IDs, or paths as for `why_not`, whose best passages are taken.
            mode, weight, without: as for `query`; for hits, the same as in the query that returned them.

        Raises:
            InputError: an empty query, an unknown passage ID, a path that is not in the index, or hits of
                different rankings.
        """
        return self._explainer(self._parsed(query)[0], Ranking.of(**options)).contrast(a, b)

    @documented(RankOptions)
    def why_not(
        self, query: Query, document: str | Path | int, k: int = 10, **options: Unpack[RankOptions]
    ) -> WhyNot:
        """Return the rank of a document for a query, and the reason why it is not among the hits.

        Args:
            document: a path, absolute or relative to the current or the indexed folder, optionally with a record or
                line ("table.csv#12", "keys.md:31"); or a passage ID. Of several passages the best one counts.
            k: number of hits of the query.

        Raises:
            InputError: an empty query, a folder instead of a file, or an unknown ID or line.
        """
        ranking_options, limit_options, filter_options = split_options(
            options, RankingOptions, LimitOptions, FilterOptions
        )
        question, where = self._parsed(query, **filter_options)
        explainer = self._explainer(question, Ranking.of(**ranking_options))
        return explainer.why_not(document, Selection.of(k, **limit_options), where)

    def documents_named(self, part: str, most: int = 20, *, offset: int = 0) -> list[NamedDocument]:
        """List the documents whose name or title contains all words of `part`, sorted by name.

        Args:
            most: maximum number of documents.
            offset: number of matching documents to skip.
        """
        with self._store.reading() as snapshot:
            return snapshot.documents_named(part, most, offset)

    def location(self, document: int) -> str | Path:
        """Return the path of a document, or the ID of a document from memory; `why_not` accepts both.

        Args:
            document: the `document_id` of a hit.

        Raises:
            IdMissing: the index has no document with this ID.
        """
        with self._store.reading() as snapshot:
            name = snapshot.document(document).name
            return name if snapshot.facts.folders.memory else snapshot.facts.root / name

    @documented(SimilarOptions)
    def similar(
        self,
        example: Example,
        k: int = 10,
        *,
        same_document: bool = False,
        **options: Unpack[SimilarOptions],
    ) -> Hits:
        """Return the k passages with the highest cosine to a passage or document, best first; the search is exact.

        Args:
            example: a passage ID, or a path as for `why_not`. For several passages, the mean of their embeddings is
                used, scaled to unit length.
            k: maximum number of hits, at least 1.
            same_document: include other passages of the same document. The example itself is never a
                hit.

        Raises:
            InputError: `example` is not in the index, or another argument is invalid.
        """
        from search.ranking.question import similar_to

        selection_options, filter_options = split_options(options, SelectionOptions, FilterOptions)
        where, selection = self._filter(**filter_options), Selection.of(k, **selection_options)
        with self._store.reading() as snapshot:
            query, ids = similar_to(snapshot, example)
            among = snapshot.passing(where, without=ids if same_document else snapshot.siblings(ids))
            hits = rank_passages(snapshot, query, Ranking.of(mode="dense"), selection, among)
        hits = with_file_status(selection.ordered(hits))
        # Percentiles are calibrated with pairs of query and passage; they do not apply to two passages.
        return Hits(replace(hit, percentile=None, random_pairs=0) for hit in hits)

    def explain_similar(self, example: Example, hit: Hit | int) -> Explanation:
        """Explain the similarity of a passage to another passage or document, by pairs of tokens.

        If `example` is a document with several passages, the passage with the largest contribution is explained token
        by token; each other passage is one addend.

        Args:
            example: as for `similar`.
            hit: a hit of `similar`, or a passage ID.

        Raises:
            InputError: the example or the hit is not in the index.
        """
        from search.ranking.question import most_similar_part, query_fits, similar_to

        with self._store.reading() as snapshot:
            query, _ = similar_to(snapshot, example)
            query = most_similar_part(snapshot, query, hit if isinstance(hit, int) else hit.passage_id)
        with query_fits("passage"):
            return self._explainer(query, Ranking.of(mode="dense")).explain([hit])[0]

    def duplicates(self, threshold: float = 0.95, *, where: str | None = None) -> list[Cluster]:
        """Return clusters of near-duplicate passages: all pairs with a cosine of at least `threshold` are joined.

        The search is exact. With d = 384, 100,000 passages took 32 s and 0.8 GB (2 cores, shared with other work).

        Args:
            threshold: minimum cosine, in (0, 1].
            where: a filter, as for `query`; only passages that pass it are compared.

        Returns:
            Clusters, the largest first.
        """
        from search.ranking.duplicates import near_copies

        return near_copies(self._store, threshold, self._filter(where=where))

    def facets(self, where: str | None = None, among: Sequence[Hit] | None = None) -> tuple[Facet, ...]:
        """Return the fields that can narrow a search, with their most frequent values and a filter for each value.

        Fields are kind, folder, language, years of dates, annotations, and other metadata with values that many
        documents share. All documents are read, and the result is cached until the index changes: 200,000 documents
        took 5 s of processor time, 13 s with 600,000 annotated passages.

        Args:
            where: a filter, as for `query`; only documents with a passage that passes it are counted.
            among: hits; only their documents are counted.

        Raises:
            InputError: an invalid filter.
        """
        ids = None if among is None else np.array([hit.passage_id for hit in among], dtype=np.int64)
        with self._store.reading() as snapshot:
            return snapshot.facets(self._filter(where=where), ids)

    def map(self) -> DocumentMap:
        """Return the documents as points in two dimensions, by their mean embeddings.

        The result is cached until the index changes.
        """
        from search.ranking.document_map import document_map

        generation, cached = self.generation, self._map
        if cached is None or cached[0] != generation:
            with self._store.reading() as snapshot:
                cached = self._map = generation, document_map(snapshot)
        return cached[1]

    def document(self, id_: int) -> DocumentText:
        """Return the stored text of a document with its passages; the file is not read.

        Args:
            id_: the `document_id` of a hit, of the same `generation`.

        Raises:
            IdMissing: the index has no document with this ID.
        """
        from search.store.document_text import document_text

        return document_text(self._store, id_)

    def file_text(self, document: int) -> str | None:
        """Read a document's text from its file, with parts that are in no passage, such as front matter and fences.

        Returns:
            The text; None if the file has changed or is gone, or if its format is converted (HTML, CSV, PDF). Only
            notebooks are converted again.

        Raises:
            IdMissing: the index has no document with this ID.
        """
        from search.store.document_text import file_text

        return file_text(self._store, document)

    def passage(self, id_: int) -> StoredPassage:
        """Return a passage by its ID, as the index stores it.

        Raises:
            IdMissing: the index has no passage with this ID.
        """
        from search.store.document_text import passage_text

        return passage_text(self._store, id_)

    def surroundings(self, hit: Hit, *, lines: int) -> Surroundings:
        """Read the lines of the source file around a hit.

        Args:
            lines: number of lines before the hit and after it, at least 0.

        Returns:
            The lines; or none and a note with the reason, if the file has changed or its format has no lines (PDF).

        Raises:
            InputError: `lines` is below 0.
        """
        from search.store.document_text import surroundings

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
        """Answer a question with spans of the k best passages, best first; see `search.bert.answering`.

        Args:
            question: the question; it must leave room for a passage in the reader's input.
            model: the reader, a checkpoint with a head for answer spans, for instance deepset/roberta-base-squad2.
            k: number of passages to read, at least 1.
            answers: maximum number of answers, at least 1.
            progress: callback, called after each passage.
            mode, weight, without, where, rerank, per_document, ...: as for `query`; the index's own encoder
                retrieves the passages.

        Raises:
            InputError: as for `query`; a question that is too long for the reader, or an invalid number.
            ModelError: the reader cannot be found or loaded, or has no head for answer spans.
        """
        from search.bert.answering import answer_from, required
        from search.bert.checkpoint import load_head
        from search.store.document_text import span_lines

        reader = load_head("answer", required(model), self._offline)
        hits = self.query(question, k, **options)
        return answer_from(question, hits, reader, answers, span_lines, progress)

    def tag(self, model: str, **options: Unpack[TagOptions]) -> TagReport:
        """Tag entities, or parts of speech, in all passages, for filters like "person='Ada Lovelace'".

        Passages already tagged by the same checkpoint are skipped: an interrupted run is resumed, and after an update
        only new passages are read.

        Args:
            model: a checkpoint with a token classification head, for instance dslim/bert-base-NER.
            task: "ner" or "pos".
            replace: replace annotations of this task by another model.
            progress: callback, called after each batch of passages with the stage "tagging".

        Raises:
            InputError: the checkpoint's classes do not fit the task, a field's name is in use, or there are
                annotations of this task by another model.
            ModelError: the model cannot be found or loaded, or has no token classification head.
            IndexLocked: another process is writing to the index.
        """
        from search.annotating.passages import tag_index

        return tag_index(self._passages_folder, model, offline=self._offline, **options)

    def label(
        self,
        model: str | None = None,
        *,
        head: LinearHead | str | Path | None = None,
        name: str | None = None,
        **options: Unpack[AnnotateOptions],
    ) -> LabelledIndex:
        """Label all passages that have no label yet, for filters like "sentiment=positive".

        Args:
            model: a checkpoint with a text classification head.
            head: instead of `model`, a head trained with `search.bert.train_labels`, or its folder.
            name, replace, progress: as for `search.annotating.passages.label_index`.

        Raises:
            FingerprintMismatch: the head was trained on embeddings of another model or other settings.
            InputError: there are labels of that name by another model or head, or the name is in use.
            IndexLocked: another process is writing to the index.
        """
        from search.annotating.passages import label_index

        return label_index(
            self._passages_folder, model=model, head=head, name=name, offline=self._offline, **options
        )

    def annotations(self, passages: Sequence[int]) -> dict[int, list[Annotation]]:
        """Return passage ID -> annotations, with the spans of entities in the documents' texts.

        Passages without annotations are left out.
        """
        with self._store.reading() as snapshot:
            return {id_: list(group) for id_, group in snapshot.annotations(passages).items()}

    def remove_annotations(self, name: str) -> Annotator:
        """Delete all annotations with a name; `status()` lists the names.

        Returns:
            The deleted annotator.

        Raises:
            InputError: the index has no annotations of that name.
            IndexLocked: another process is writing to the index.
        """
        from search.store.annotating import remove_annotator

        return remove_annotator(self._passages_folder, name)

    def check(
        self, *, repair: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> CheckReport:
        """Check that the index is intact and up to date; see `search.indexing.check`.

        Args:
            repair: rebuild damaged derived files, and delete stray files.
            progress: callback, called often with the progress.

        Raises:
            InputError: the passages are on a server.
            IndexLocked: with `repair`, if another process is writing to the index.
        """
        from search.indexing.check import check

        report = check(self._passages_folder, repair=repair, progress=progress)
        if repair:
            self._store = Store(self.path)  # opens the new files
        return report

    def move(self, folder: FolderPaths) -> None:
        """Point the index to the new path of its folder after a rename or move; see `search.indexing.update`.

        Raises:
            InputError: the folder contains less than half of the indexed files.
            IndexLocked: another process is writing to the index.
        """
        from search.indexing.update import move

        self._store, self.report = opened(move(self._local_folder, folder)), None

    def remove(self) -> None:
        """Delete the index, also on its server; the indexed folder stays unchanged.

        Raises:
            IndexLocked: another process is writing to the index.
            IndexDamaged: a file of the index is a link.
        """
        self._store.remove()

    def passes(self, where: str) -> bool:
        """Return True if a filter is valid and some passage passes it; always False for an index on a server."""
        with suppress(SearchError), self._store.reading() as snapshot:
            ids = snapshot.passing(self._filter(where=where))
            return not snapshot.approximate and ids is not None and len(ids) > 0
        return False

    def _parsed(
        self, query: Query, **filters: Unpack[FilterOptions]
    ) -> tuple[str | Question, Where | None]:
        """Split a query into its question and its filter; see `search.ranking.question`."""
        question = as_question(query)
        if isinstance(query, str):
            question, filters["where"] = parse_query(query, filters.get("where"), self.passes)
        return question, self._filter(**filters)

    def _words_of(self, query: Query) -> str:
        """Return the part of a query that keywords are taken from."""
        question, _ = self._parsed(query)
        return question if isinstance(question, str) else question.words_of

    def _filter(self, **filters: Unpack[FilterOptions]) -> Where | None:
        """Combine the filters of a query into one; None if there are none."""
        if not any(value is not None for value in filters.values()):
            return None
        from search.ranking.where import combined

        return combined(**filters)

    def _encoded(
        self, question: str | Question, ranking: Ranking, vector: ArrayLike | None = None
    ) -> EncodedQuery:
        """Encode a query; no model is loaded for a vector, or if the score uses keywords only."""
        if vector is not None:
            embedding = as_embedding(vector, int(self.fingerprint.dimension))
            return EncodedQuery(str(question), embedding)
        if isinstance(question, str) and not ranking.weight and not ranking.rerank:
            return EncodedQuery(question, None)
        return encoded(question, ranking, self.encoder, self._store)

    def _reranker(self, query: EncodedQuery, ranking: Ranking) -> Reranker | None:
        """Return the reranker of a ranking; None without reranking."""
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
        progress: Callable[[Progress], None] | None = None,
        gradients: Gradients = "tokens",
    ) -> Explainer:
        from search.explaining.explainer import Explainer
        from search.explaining.explanation import GradientMethod

        method = GradientMethod(gradients, progress)
        return Explainer(self._store, self.encoder, query, ranking, method, layer)


def _model_object(options: Any) -> AnyEncoder | None:
    """Take an encoder that was passed as `model` out of the options; None if it is the name of a model."""
    model = options.get("model")
    return None if model is None or isinstance(model, str | Path) else options.pop("model")


@overload
def _encoder_from(
    source: AnyEncoder, name: str | None = None, max_tokens: int | None = None
) -> Encoder: ...
@overload
def _encoder_from(source: None, name: str | None = None) -> None: ...
def _encoder_from(
    source: AnyEncoder | None, name: str | None = None, max_tokens: int | None = None
) -> Encoder | None:
    """Convert the encoder that a caller passes; without one, the module for this is not imported."""
    if source is None or isinstance(source, Encoder):
        return source
    from search.encoding.function import encoder_from

    return encoder_from(source, name, max_tokens)
