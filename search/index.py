"""`Index`: the main class of the package; its methods call the other modules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias, overload
from weakref import finalize

from search.encoding import Encoder, Fingerprint
from search.errors import IndexNotFound, InputError, SearchError
from search.ranking.question import Example, Query
from search.records.hits import Cluster, Hit, Hits
from search.records.memory_document import document_id
from search.records.option_tools import documented
from search.records.options import (
    BuildOptions,
    EncoderOptions,
    EngineName,
    ExplainOptions,
    OccurrenceOptions,
    Pooling,
    QueryOptions,
    RankingOptions,
    RankOptions,
    SimilarOptions,
)
from search.records.reports import Upserted
from search.searcher import Searcher, encoder_from, take_encoder
from search.store.analyzer import Analyze, Analyzer
from search.store.contents import require_contents
from search.store.layout import (
    DATABASE,
    find_index,
    index_path_for,
    index_path_of,
    require_no_namespace,
)
from search.store.namespaces import namespaces
from search.store.opening import opened, store_at
from search.store.settings import FolderPaths, Folders
from search.store.snapshot import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from search.encoding.function import AnyEncoder
    from search.indexing.document_changes import ChangeSubscription
    from search.indexing.memory import Chunker
    from search.records.comparisons import Contrast, WhyNot
    from search.records.contents import DocumentText, Facet, StoredPassage
    from search.records.counterfactuals import Counterfactual
    from search.records.explanations import Explanation
    from search.records.filter_text import Filter
    from search.records.memory_document import DamagedDocument, Document, Documents
    from search.records.occurrences import WordOccurrence
    from search.records.options import SourceOptions
    from search.records.reports import (
        Changes,
        CheckReport,
        DocumentChanges,
        Lazy,
        Progress,
        Report,
        Status,
    )

    AnyHit: TypeAlias = Hit | int | str | Path
    Ids: TypeAlias = str | int | Iterable[str | int]
    OnProgress: TypeAlias = Callable[[Progress], None]

_TRIES = 10  # attempts to write to a namespace that is removed at the same time


class Index:
    """An index of passages, open for queries. Create one with `Index.build` or `Index.open`.

    Thread-safe. The model is loaded by the first query that needs it. Each query reads one consistent state of the
    index, and sees all updates that were committed before, also by other processes.

    Attributes:
        path: folder of the index's files on this machine.
        name: path of the index, or its address on a server; `Index.open` accepts it.
        report: report of `build`, or of `create` with `rebuild`; None for an index that was opened or created.
    """

    def __init__(self, searcher: Searcher, report: Report | None = None) -> None:
        self.report = report
        self._searcher = searcher
        self._deleted: Callable[[], object] = lambda: None  # deletes a temporary index

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection to the files; a temporary index is deleted."""
        self._searcher.close()
        self._deleted()

    def __repr__(self) -> str:
        where, _, name = self.name.replace("\\", "/").rpartition("/")
        return f"<Index {name!r} in {where!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the name of the index: the unpickled copy, also in another process, opens the same index."""
        return partial(Index.open, offline=self._searcher.offline, engine=self._searcher.engine), (
            self.name,
        )

    @property
    def path(self) -> Path:
        return self._searcher.store.path

    @property
    def name(self) -> str:
        return self._searcher.store.name

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
        progress: OnProgress | None = None,
        store: str | None = None,
        store_index: str | None = None,
        lazy: Lazy = False,
        encoder: AnyEncoder | None = None,
        encoder_name: str | None = None,
        **options: Unpack[BuildOptions],
    ) -> Index:
        """Index a folder, or update its index; only new and changed passages are encoded.

        First all text is stored, so that it can be searched by words; then it is encoded. Queries in between encode
        what they propose (`pending` of `query`), and say how much they have looked at.

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
            lazy: do not encode the passages now: each query encodes the ones that it looks at. True: `update` does not
                encode the others, either; "once": it does. A later `build` without `lazy` encodes them in any case.
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
        from search.indexing.start import build

        folders = Folders.of(folder)
        index_path = index_path_for(folders, index)
        built_with, report = build(
            folders,
            index_path,
            encoder_from(encoder or take_encoder(options), encoder_name),
            options,
            server={"store": store, "store_index": store_index},
            rebuild=rebuild,
            offline=offline,
            engine=engine,
            workers=workers,
            progress=progress,
            lazy=lazy,
        )
        return cls(Searcher(store_at(index_path), built_with, offline, engine), report)

    @classmethod
    @documented(EncoderOptions)
    def create(
        cls,
        name: str | Path | None = None,
        *,
        encoder: AnyEncoder | None = None,
        encoder_name: str | None = None,
        analyzer: Analyze | None = None,
        rebuild: bool = False,
        offline: bool = False,
        engine: EngineName = "auto",
        progress: OnProgress | None = None,
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
            analyzer: function from a word in lower case to further words, such as its lemma or synonyms. A word of a
                text counts as a keyword of the query if one is a further word of the other, or if both have the same;
                quoted words have none. It is identified by its `__name__`. `open` needs it, too, to store documents
                and to find the further words of a query.
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
        from search.indexing.start import create

        if name and not rebuild:
            require_no_namespace(
                str(name), "Create or open its index, and call the method namespace of that."
            )
        index_path = index_path_of(str(name)) if name else Path(mkdtemp(prefix="seewhy-"))
        if rebuild:
            require_contents(index_path / DATABASE)
        created_with, report = create(
            index_path,
            encoder_from(encoder or take_encoder(options), encoder_name),
            options,
            rebuild=rebuild,
            offline=offline,
            engine=engine,
            progress=progress,
            analyzer=(analysis := Analyzer.of(analyzer)),
        )
        index = cls(Searcher(Store(index_path, analysis), created_with, offline, engine), report)
        if not name:
            index._deleted = finalize(index, rmtree, index_path, ignore_errors=True)
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
        analyzer: Analyze | None = None,
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
            analyzer: the analyser that the index was created with. Without it, words of a query find only themselves.
            offline: never access the Hugging Face hub.
            engine: "auto", "openvino" or "torch"; see `Encoder`.

        An index of documents from memory of an earlier format is read through a temporary copy, and converted before
        the first write.

        Raises:
            IndexNotFound: the index does not exist; the message lists existing ones.
            IndexOutdated: the index of a folder has another format, or a later version wrote the index.
            FingerprintMismatch: the index was built with another model or pooling.
        """
        return cls(
            Searcher.open(
                source,
                encoder,
                encoder_name,
                offline,
                engine,
                model=model,
                pooling=pooling,
                analyzer=Analyzer.of(analyzer),
            )
        )

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
        from search.indexing.start import preview

        folders = Folders.of(folder)
        return preview(folders, index_path_for(folders, index), options)

    def update(
        self,
        *,
        workers: int | str | None = None,
        progress: OnProgress | None = None,
        lazy: Lazy | None = None,
    ) -> Report:
        """Update the index after changes in its folder, with the settings it was built with.

        Args:
            workers, progress, lazy: as for `build`; None keeps the setting.

        Raises:
            InputError: the folder is gone, or nothing in it can be indexed; the index stays unchanged.
            IndexLocked: another process is writing to the index.
            StoreUnavailable: the server of its passages does not respond; to resume, call `update`
                again.
        """
        from search.indexing.start import build_again

        searcher = self._searcher
        return build_again(
            searcher.local_folder, searcher.encoder, searcher.engine, workers, progress, lazy
        )

    def upsert(
        self,
        documents: Documents,
        *,
        namespace: str | None = None,
        chunker: Chunker | None = None,
        progress: OnProgress | None = None,
    ) -> Upserted:
        """Store documents from memory, replacing those with the same IDs; only new texts are encoded.

        One call is one transaction: all documents are stored, or none. Pass thousands of documents in
        one call, not one by one. During the call all documents are in memory, with about 2 kB more for
        each passage.

        Args:
            documents: `search.Document`s, or mappings with their fields; or a single one; or a DataFrame of pandas or
                polars or an Arrow table, with a row for each. Other keys of a mapping are metadata. A whole number as
                an ID is its digits. A document may bring its embedding (`vector`, or the key `embedding`) and its
                `passages`.
            namespace: namespace to store them in, created if needed; see `namespace`. None stores them in none.
            chunker: function from a text to its passages, in order: their texts, or their spans (start, end). None cuts
                texts at their headings, paragraphs and sentences.
            progress: callback, called often with the progress.

        Raises:
            InputError: a document is invalid, or the index belongs to a folder.
            IndexLocked: another process has been writing to the index for a minute.
        """
        return self._store(documents, namespace, chunker, progress)

    def add(
        self,
        documents: Documents,
        *,
        namespace: str | None = None,
        chunker: Chunker | None = None,
        progress: OnProgress | None = None,
    ) -> Upserted:
        """Store new documents from memory, like `upsert`.

        Raises:
            InputError: a document with the same ID exists; or as for `upsert`.
            IndexLocked: as for `upsert`.
        """
        return self._store(documents, namespace, chunker, progress, new=True)

    def _store(
        self,
        documents: Documents,
        namespace: str | None,
        chunker: Chunker | None,
        progress: OnProgress | None,
        *,
        new: bool = False,
    ) -> Upserted:
        """Store documents; see `upsert` and `add`."""
        from search.indexing.memory import checked, upsert

        valid = checked(documents, chunker)  # before a namespace is created for them
        tries = 1 if namespace is None else _TRIES
        while True:
            searcher = self._searcher.within(namespace, create=True)
            try:
                return upsert(
                    searcher.memory_folder,
                    searcher.encoder,
                    valid,
                    new=new,
                    analyzer=searcher.store.analyzer,
                    progress=progress,
                )
            except IndexNotFound:  # another thread or process removed the namespace in the meantime
                tries -= 1
                if not tries:
                    raise

    def delete(
        self, ids: Ids | None = None, *, where: Filter | None = None, namespace: str | None = None
    ) -> Upserted:
        """Delete documents from memory; IDs that do not exist are ignored.

        Args:
            ids: one ID, or several; None for all documents that pass the filter.
            where: a filter, as for `query`: documents with a passage that passes it, of those with the IDs.
            namespace: namespace to delete from; see `namespace`. To delete all of it: `index.namespace(name).remove()`.

        Raises:
            InputError: the index belongs to a folder, or neither IDs nor a filter are given.
            IndexLocked: as for `upsert`.
        """
        from search.indexing.memory import delete

        if ids is None and where is None:
            raise InputError("delete needs IDs or a filter. To delete the whole index, use remove().")
        searcher = self._searcher.within(namespace, where=where)
        return delete(searcher.memory_folder, searcher.chosen(ids, where)) if searcher else Upserted()

    def set_metadata(
        self, id: str, values: Mapping[str, Any], *, namespace: str | None = None
    ) -> Upserted:
        """Change metadata of a document from memory; its text stays, and nothing is encoded.

        Args:
            id: ID of the document.
            values: new values of fields; None removes a field. Other fields stay.
            namespace: namespace of the document; see `namespace`.

        Raises:
            InputError: there is no such document, or the index belongs to a folder.
            IndexLocked: as for `upsert`.
        """
        from search.indexing.memory import no_document, set_metadata

        searcher = self._searcher.within(namespace)
        if searcher is None:
            raise no_document(id)
        return set_metadata(
            searcher.memory_folder, searcher.encoder, document_id(id), values, searcher.store.analyzer
        )

    def get(
        self,
        ids: Ids | None = None,
        *,
        where: Filter | None = None,
        limit: int | None = None,
        offset: int = 0,
        namespace: str | None = None,
    ) -> list[Document]:
        """Return documents from memory.

        Args:
            ids: one ID, or several: the documents come in their order, and IDs that do not exist are left out. None for
                all, in the order in which they were added.
            where, limit, offset, namespace: as for `ids`.

        Raises:
            InputError: the index belongs to a folder, or another argument is invalid.
        """
        searcher = self._searcher.within(namespace, limit=limit, offset=offset, where=where)
        return searcher.documents_from_memory(ids, where, limit, offset) if searcher else []

    def peek(self, limit: int = 5) -> list[Document]:
        """Return the first documents from memory; see `get`."""
        return self.get(limit=limit)

    def ids(
        self,
        *,
        where: Filter | None = None,
        limit: int | None = None,
        offset: int = 0,
        namespace: str | None = None,
    ) -> list[str]:
        """Return the IDs of documents: of documents from memory as they were added, of files their names by path.

        Args:
            where: a filter, as for `query`; only documents with a passage that passes it.
            limit: maximum number of IDs; None for all.
            offset: number of IDs to skip.
            namespace: namespace of the documents; see `namespace`. None lists those that are in none.

        Raises:
            InputError: the filter, `limit` or `offset` is invalid; or the index is on a server, which cannot list them.
        """
        searcher = self._searcher.within(namespace, limit=limit, offset=offset, where=where)
        return searcher.ids(where, limit, offset) if searcher else []

    def count(self, *, where: Filter | None = None, namespace: str | None = None) -> int:
        """Return the number of documents, or of those with a passage that passes a filter; see `ids`."""
        return len(self.ids(where=where, namespace=namespace))

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.count()

    def __bool__(self) -> bool:
        """An index is true, also without documents."""
        return True

    def __contains__(self, id: object) -> bool:
        """Return True if the index has a document with this ID; see `ids`."""
        id = document_id(id)
        return isinstance(id, str) and self._searcher.has_document(id)

    def namespace(self, name: str) -> Index:
        """Return a namespace of an index of documents from memory; it is created if needed.

        A namespace is an index of its own, with the model of this one: the same ID may occur in several, and nothing of
        one reaches another, nor this index. `Index.open("tickets@acme")` opens it, too. `remove` deletes it.

        Raises:
            InputError: the name is invalid, or the index belongs to a folder.
        """
        return Index(self._searcher.within(name, create=True))

    def namespaces(self) -> list[str]:
        """Return the names of the index's namespaces, sorted."""
        return namespaces(self.path)

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

    def watch(self, stop: threading.Event | None = None) -> Iterator[Report | SearchError | OSError]:
        """Watch the folder and update the index whenever files change.

        Args:
            stop: event that ends the watch; set it from another thread.

        Yields:
            A report of each update that changed something. If an update fails (another process is writing, or the
            disk is full, say), the error; the watch continues.
        """
        from search.indexing.watch import watch

        folders, index_path = self._searcher.store.facts.folders, self._searcher.local_folder
        return watch(self.update, folders, index_path, stop)

    def on_change(self, callback: Callable[[DocumentChanges], object]) -> ChangeSubscription:
        """Call a function after each change of documents, within about a second, whoever makes the change.

        Args:
            callback: called in a thread of its own with the names of the documents. An error in it ends the calls.

        Returns:
            The subscription; its method `close`, or the end of a `with` block, ends it.

        Raises:
            InputError: the passages are on a server.
        """
        from search.indexing.document_changes import ChangeSubscription

        return ChangeSubscription(self._searcher.passages_folder, callback)

    @property
    def fingerprint(self) -> Fingerprint:
        """Model, tokenizer and settings of the embeddings."""
        return self._searcher.store.facts.fingerprint

    @property
    def generation(self) -> int:
        """Version number of the index; it increases with every change that can affect query results.

        Document IDs are valid for one generation only, because another document may get the same ID
        later.
        """
        return self._searcher.generation

    @property
    def encoder(self) -> Encoder:
        """Encoder of the index, loaded on first use, and again after a rebuild."""
        return self._searcher.encoder

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about problems that do not prevent queries."""
        return self._searcher.notes

    def status(self) -> Status:
        """Return the status of the index: model, contents and last run."""
        with self._searcher.store.reading() as snapshot:
            return snapshot.status()

    @documented(QueryOptions)
    def query(
        self,
        text: Query = "",
        k: int = 10,
        *,
        vector: ArrayLike | None = None,
        namespace: str | None = None,
        **options: Unpack[QueryOptions],
    ) -> Hits:
        """Return the k passages with the highest scores for a query, best first; the search is exact.

        Args:
            text: a question or description in natural language, at most the model's `max_tokens` long.
                Or several texts with weights, [("keys", 1), ("rotation", 0.5)]; or a `Question`, which
                can also name passages that hits should resemble or not. A single text may contain
                "phrases", -words to exclude, and field=value filters; `Question.of(text)` takes the text
                literally. See `search.ranking.question`. An empty text with a filter lists documents: the first
                passage of each, with the score 0, in the order of `sort`.
            k: maximum number of hits, at least 1. You get fewer only if fewer passages pass the filters or, with mode
                "lexical", contain a word of the query.
            vector: (d,) embedding to use instead of the text's; it is scaled to length 1. Keywords are
                still taken from the text; without a text, the mode is "dense". `explain` and `rerank`
                need tokens, so they are not possible with a vector.
            namespace: namespace to search; see `namespace`. None searches the documents that are in none. If it does
                not exist, there are no hits. To explain its hits, use `index.namespace(name).explain`.

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
        searcher = self._searcher.within(namespace, k=k, **options)
        return searcher.query(text, k, vector, **options) if searcher else Hits()

    @documented(QueryOptions)
    def query_many(
        self,
        texts: Sequence[str],
        k: int = 10,
        *,
        namespace: str | None = None,
        **options: Unpack[QueryOptions],
    ) -> list[Hits]:
        """Return a list of hits for each of several queries; the texts are encoded in one batch.

        With `explain` or `rerank`, which need the token vectors of a query, the texts are encoded one by one.

        Raises:
            InputError: as for `query`.
        """
        searcher = self._searcher.within(namespace, k=k, **options)
        return searcher.query_many(texts, k, **options) if searcher else [Hits() for _ in texts]

    def embeddings(
        self, passages: Sequence[int] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return passage IDs, and the (n, d) embeddings of these passages, each of unit length.

        Args:
            passages: passage IDs, as in `Hit.passage_id`; None for all passages, by increasing IDs.

        Raises:
            IdMissing: the index has no passage with one of the IDs.
        """
        return self._searcher.embeddings(passages)

    @overload
    def explain(
        self,
        query: Query,
        hit: Hit | int,
        **options: Unpack[ExplainOptions],
    ) -> Explanation: ...
    @overload
    def explain(
        self,
        query: Query,
        hit: Sequence[Hit | int],
        **options: Unpack[ExplainOptions],
    ) -> list[Explanation]: ...
    def explain(
        self,
        query: Query,
        hit: Hit | int | Sequence[Hit | int],
        **options: Unpack[ExplainOptions],
    ) -> Explanation | list[Explanation]:
        """Explain the score of a passage for a query, token by token.

        Args:
            query: the query, as passed to `query`.
            hit: a hit, whose score is explained exactly; or a passage ID. Several hits of one query return a list, in
                their order; their tokens are encoded in one batch.
            layer: layer of both matrices: 0 for tokens as typed, "last" for their last vectors; None takes the middle
                layer for `similarity`, and 0 for `contributions`.
            mode, weight, without: as for `query`, if `hit` is a passage ID; a `Hit` stores its own.

        Contributions are exact for every model and pooling, see `search.explaining.traced`. Models of the BERT family
        that OpenVINO runs need no PyTorch for it.

        Raises:
            InputError: an empty query, an unknown passage ID, or an unknown layer.
        """
        hits = [hit] if isinstance(hit, Hit | int) else hit
        explanations = self._searcher.explain(query, hits, **options)
        return explanations[0] if isinstance(hit, Hit | int) else explanations

    def contrast(self, query: Query, a: AnyHit, b: AnyHit, **options: Unpack[RankingOptions]) -> Contrast:
        """Compare the scores of two passages for a query, for each word of the query.

        Args:
            a, b: hits, passage IDs, or paths as for `why_not`, whose best passages are taken.
            mode, weight, without: as for `query`; for hits, the same as in the query that returned them.

        Raises:
            InputError: an empty query, an unknown passage ID, a path that is not in the index, or hits of
                different rankings.
        """
        return self._searcher.contrast(query, a, b, **options)

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
        return self._searcher.why_not(query, document, k, **options)

    @documented(RankOptions)
    def counterfactual(
        self,
        query: Query,
        hit: AnyHit,
        k: int = 10,
        *,
        most_encodings: int = 200,
        **options: Unpack[RankOptions],
    ) -> Counterfactual:
        """Return what would move a hit out of the first k hits of a query, or another passage among them.

        For a hit: the smallest set of up to three words of the query, and of up to three sentences of its passage,
        without which it is none of the first k. For any other passage: a word of it that brings it among the first k
        when the query is asked with it. Each is exact: the changed text is encoded by the model, and ranked over the
        whole index; of a passage with fewer sentences, the index's own statistics of words stay as they are.

        Answers are cached until the index changes. A smallest set is the smallest of those that were tried. Sources:
        Rorseth et al. 2023, CREDENCE (arXiv:2302.04983); Xu et al. 2023, CFE2 (arXiv:2301.10389).

        Args:
            query: the query, a single text as passed to `query`.
            hit: a hit, a passage ID, or a path as for `why_not`, of which the first listed passage counts.
            k: number of hits.
            most_encodings: maximum number of texts to encode, in batches; at least 10.

        The options are those of the query; a `Hit` stores its own mode, weight and `without`.

        Returns:
            The changes, with their ranks from 1 and one sentence in English; without changes, `sentence` says how many
            were tried.

        Raises:
            InputError: an empty query, or one of several parts; an unknown passage ID or path; a reranked hit; or an
                index that is not complete or on a server, where ranks are not exact.
        """
        return self._searcher.counterfactual(query, hit, k, most_encodings, **options)

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

        With `unlinked`, a line that stands in at least three documents among the example and the 200 nearest passages
        is a template's; passages with fewer than five other words are left out, also of the example. Documents link by
        their field `links`.

        Raises:
            InputError: `example` is not in the index, or another argument is invalid.
        """
        return self._searcher.similar(example, k, same_document, **options)

    def explain_similar(self, example: Example, hit: Hit | int, *, unlinked: bool = False) -> Explanation:
        """Explain the similarity of a passage to another passage or document, by pairs of tokens.

        If `example` is a document with several passages, the passage with the largest contribution is explained token
        by token; each other passage is one addend.

        Args:
            example: as for `similar`.
            hit: a hit of `similar`, or a passage ID.
            unlinked: as for `similar`.

        Raises:
            InputError: the example or the hit is not in the index.
        """
        return self._searcher.explain_similar(example, hit, unlinked)

    @documented(OccurrenceOptions)
    def occurrences(
        self,
        word: str,
        text: str,
        k: int = 10,
        *,
        any_word: bool = False,
        **options: Unpack[OccurrenceOptions],
    ) -> list[WordOccurrence]:
        """Return the occurrences of a word in the index that are nearest to its use in a text, best first.

        The vector of a word is the mean of the last-layer vectors of its tokens, each scaled to unit length. All
        vectors that `build` with `token_vectors=True` has stored are compared; the model encodes `text` only. Headings
        that are encoded before a passage are not searched.

        Args:
            word: a whole word or a phrase, in any case; its first place in `text` counts.
            text: a sentence with the word, of at most as many tokens as the model reads.
            k: maximum number of occurrences, at least 1.
            any_word: compare all words, not only those of the same form.

        Raises:
            InputError: the word is not in the text; or passages lack token vectors, then the message has the command
                that stores them; or the passages are on a server; or another argument is invalid.
        """
        return self._searcher.occurrences(word, text, k, any_word, **options)

    def duplicates(self, threshold: float = 0.95, *, where: Filter | None = None) -> list[Cluster]:
        """Return clusters of near-duplicate passages: all pairs with a cosine of at least `threshold` are joined.

        The search is exact. With d = 384, 100,000 passages took 32 s and 0.8 GB (2 cores, shared with other work).

        Args:
            threshold: minimum cosine, in (0, 1].
            where: a filter, as for `query`; only passages that pass it are compared.

        Returns:
            Clusters, the largest first.
        """
        from search.ranking.duplicates import near_copies

        return near_copies(self._searcher.store, threshold, self._searcher.filter_of(where=where))

    def facets(
        self,
        where: Filter | None = None,
        among: Sequence[Hit] | None = None,
        *,
        namespace: str | None = None,
    ) -> tuple[Facet, ...]:
        """Return the fields that can narrow a search, with their most frequent values and a filter for each value.

        Fields are kind, folder, language, years of dates, annotations, and other metadata with values that many
        documents share. All documents are read, and the result is cached until the index changes: 200,000 documents
        took 5 s of processor time, 13 s with 600,000 annotated passages.

        Args:
            where: a filter, as for `query`; only documents with a passage that passes it are counted.
            among: hits; only their documents are counted.
            namespace: namespace of the documents; see `namespace`.

        Raises:
            InputError: an invalid filter.
        """
        searcher = self._searcher.within(namespace, where=where)
        return searcher.facets(where, among) if searcher else ()

    def document(self, id_: int) -> DocumentText:
        """Return the stored text of a document with its passages; the file is not read.

        Args:
            id_: the `document_id` of a hit, of the same `generation`.

        Raises:
            IdMissing: the index has no document with this ID.
        """
        from search.store.document_text import document_text

        return document_text(self._searcher.store, id_)

    def passage(self, id_: int) -> StoredPassage:
        """Return a passage by its ID, as the index stores it.

        Raises:
            IdMissing: the index has no passage with this ID.
        """
        from search.store.document_text import passage_text

        return passage_text(self._searcher.store, id_)

    def check(self, *, repair: bool = False, progress: OnProgress | None = None) -> CheckReport:
        """Check that the index is intact and up to date; see `search.indexing.check`.

        Args:
            repair: rebuild damaged derived files, and delete stray files.
            progress: callback, called often with the progress.

        Raises:
            InputError: the passages are on a server.
            IndexLocked: with `repair`, if another process is writing to the index.
        """
        from search.indexing.check import check

        report = check(self._searcher.passages_folder, repair=repair, progress=progress)
        if repair:
            self._searcher.store = Store(self.path, self._searcher.store.analyzer)  # opens the new files
        return report

    def move(self, folder: FolderPaths) -> None:
        """Point the index to the new path of its folder after a rename or move; see `search.indexing.move`.

        Raises:
            InputError: the folder contains less than half of the indexed files.
            IndexLocked: another process is writing to the index.
        """
        from search.indexing.move import move

        self._searcher.store, self.report = opened(move(self._searcher.local_folder, folder)), None

    def remove(self) -> None:
        """Delete the index, also on its server; the indexed folder stays unchanged.

        Raises:
            IndexLocked: another process is writing to the index.
            IndexDamaged: a file of the index is a link.
        """
        self._searcher.store.remove()


def searcher_of(index: Index) -> Searcher:
    """Return what answers the questions about an index; the command and the server ask more than users do."""
    return index._searcher
