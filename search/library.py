"""What a program imports first: `Index`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding import Encoder, Fingerprint
from search.encoding.models import DEFAULT_MODEL, find_model
from search.errors import IndexDamaged, IndexNotFound, InputError, SearchError, quoted
from search.explaining.explainer import Explainer, query_fits
from search.index.database import read_meta
from search.index.layout import DATABASE, find_index, is_index, place_for
from search.index.settings import PassageSettings, Source
from search.index.snapshot import passage as stored_passage
from search.index.snapshot import status
from search.index.vectors import LoadedVectors
from search.query import dense
from search.query.rank import as_hit, check_query
from search.records import (
    Changes,
    CheckReport,
    Contrast,
    Explanation,
    Hit,
    Progress,
    RepairReport,
    Report,
    Status,
    WhyNot,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Index:
    """An index that is open for reading. Make one with `Index.build` or `Index.open`.

    Safe to share between threads. Nothing is loaded until the first query; every query reads one
    consistent state of the index, so an update by another process is seen by the next query.

    Attributes:
        path: the folder of the index.
        report: what `build` changed; None for an index that was opened.
    """

    def __init__(
        self,
        path: Path,
        encoder: Encoder | None,
        offline: bool,
        engine: str,
        report: Report | None = None,
    ) -> None:
        self.path = path
        self.report = report
        self._offline, self._engine = offline, engine
        self._encoder = encoder
        self._lock = threading.Lock()
        self._vectors = LoadedVectors(path)

    @classmethod
    def build(
        cls,
        folder: str | Path,
        *,
        index: str | None = None,
        model: str | None = None,
        pooling: str | None = None,
        layer: int | str | None = None,
        dim: int | None = None,
        max_tokens: int | None = None,
        precision: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        text_field: str | None = None,
        title_field: str | None = None,
        rebuild: bool = False,
        verify: bool = False,
        offline: bool = False,
        engine: str = "auto",
        progress: Callable[[Progress], None] | None = None,
    ) -> Index:
        """Index a folder, or bring its index up to date; only what changed is encoded.

        Args:
            folder: what to index; its subfolders are included.
            index: a name or path for the index; None keeps it under the user's data folder.
            model, pooling, layer, dim, max_tokens, precision: as for `Encoder`. None takes what the index was
                made with, and for a new index what the model's own configuration says, and "fp32".
            include, exclude: patterns in the manner of .gitignore. None takes what the index was made with.
            text_field, title_field: the column or key of CSV and JSONL records that holds the text and
                the title; None finds them.
            rebuild: encode everything anew, with what the index was made with where nothing else is said.
                The old index answers until the new one is whole.
            verify: read every file, also those whose size, time stamp and inode are as they were.
            offline: never call out to the Hugging Face hub.
            engine: "auto", "openvino" or "torch"; see `Encoder`.
            progress: called often with how far the work is.

        Raises:
            InputError: no such folder, or nothing in it can be indexed.
            ModelError: the model cannot be found or used.
            FingerprintMismatch: the index was made with another model or other settings.
            IndexLocked: another process is writing to the index.
        """
        from search.index.update import update  # with all that writing needs, which a query does not

        root = _existing_folder(folder)
        place = place_for(root, index)
        meta, made = _earlier(place, rebuild) or (None, None)
        files = find_model(model or (made.model if made else DEFAULT_MODEL), offline=offline)
        if made and files.weights_sha256 == made.weights:
            pooling = pooling or made.pooling
            layer = made.layer if layer is None else layer
            dim = dim or int(made.dimension)
            max_tokens = max_tokens or int(made.max_tokens)
            precision = precision or made.precision
        source = _source(meta, root).changed(include, exclude, text_field, title_field)
        encoder = Encoder(
            files,
            pooling=pooling,
            layer=-1 if layer is None else layer,
            dim=dim,
            max_tokens=max_tokens,
            offline=offline,
            engine=engine,
            precision=precision or "fp32",
        )
        report = update(
            root,
            place,
            encoder,
            settings=PassageSettings(),
            source=source,
            rebuild=rebuild,
            verify=verify,
            progress=progress,
        )
        return cls(place, encoder, offline, engine, report)

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
        path = find_index(what)
        meta = read_meta(path / DATABASE)
        encoder = None
        if model or pooling:
            made = Fingerprint.from_dict(meta["fingerprint"])
            encoder = Encoder.of(made, model=model, pooling=pooling, offline=offline, engine=engine)
        return cls(path, encoder, offline, engine)

    @classmethod
    def preview(
        cls,
        folder: str | Path,
        *,
        index: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        text_field: str | None = None,
        title_field: str | None = None,
        verify: bool = False,
    ) -> Changes:
        """What `build`, called with the same arguments, would do with each file; nothing is written.

        Every file that would be read is read, but no model is loaded and nothing is encoded.

        Raises:
            InputError: no such folder.
            IndexDamaged: there is an index, and it cannot be read.
        """
        from search.index.preview import preview

        root = _existing_folder(folder)
        place = place_for(root, index)
        meta, _ = _earlier(place, False) or (None, None)
        source = _source(meta, root).changed(include, exclude, text_field, title_field)
        return preview(root, place, source, verify=verify)

    def update(self, *, verify: bool = False, progress: Callable[[Progress], None] | None = None) -> Report:
        """Bring the index up to date with its folder, with the settings that it was made with.

        Args:
            verify, progress: as for `build`.

        Raises:
            InputError: the folder is gone, or nothing in it can be indexed; the index is left as it was.
            IndexLocked: another process is writing to the index.
        """
        from search.index.update import update

        meta = read_meta(self.path / DATABASE)
        root = _existing_folder(meta["root"])
        return update(
            root,
            self.path,
            self.encoder,
            settings=PassageSettings.from_json(meta["fingerprint"]["passages"]),
            source=_source(meta, root),
            verify=verify,
            progress=progress,
        )

    def watch(self, stop: threading.Event | None = None) -> Iterator[Report | SearchError]:
        """Keep the index up to date with its folder, as files change.

        Yields:
            A report of every update that changed something; an error where an update could not be made
            (another process is writing, say), after which the watch goes on.

        Args:
            stop: set it from another thread to end the watch.
        """
        from search.index.watch import changes

        for _ in changes(Path(read_meta(self.path / DATABASE)["root"]), self.path, stop):
            try:
                report = self.update()
            except SearchError as error:
                yield error
            else:
                if not report.nothing_changed:
                    yield report

    @property
    def encoder(self) -> Encoder:
        """The encoder that the index was made with, found at first use."""
        with self._lock:
            if self._encoder is None:
                made = Fingerprint.from_dict(read_meta(self.path / DATABASE)["fingerprint"])
                self._encoder = Encoder.of(made, offline=self._offline, engine=self._engine)
            return self._encoder

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with the index though it answers; empty when all is well."""
        problem = self._vectors.problem
        return (f"{problem} --index {quoted(self.path)}",) if problem else ()

    def query(self, text: str, k: int = 10, *, per_document: int = 0) -> list[Hit]:
        """The k passages that are nearest in meaning to a text, best first.

        Args:
            text: a question or description in natural language, at most the model's `max_tokens`.
            k: how many hits, at least 1; fewer come back only if the index holds fewer passages.
            per_document: most hits of one document, so that one does not fill the list; 0 for no limit.
                It is raised where fewer than k hits would come back.

        Raises:
            InputError: an empty text, k < 1, or a text that is too long for the model.
            FingerprintMismatch: the model found under the index's name has other weights now.
        """
        check_query(text, k, per_document)
        return dense(self._vectors, self._embedded(text), k, per_document)

    def _embedded(self, query: str) -> NDArray[np.float32]:
        """The embedding of a query, (d,)."""
        with query_fits():
            return self.encoder.encode([query], role="query")[0]

    def explain(self, query: str, hit: Hit | int | str) -> Explanation:
        """Why a passage has its score for a query.

        Args:
            query: as it was given to `query`.
            hit: one of the hits, whose score is then explained exactly; a passage id; or any text, which is
                scored as if it were a passage without headings.

        With the poolings `mean`, `mean_sqrt_len` and `max` the addends are exact. With `cls`, `pooler` and models
        that have a Dense module with an activation they are integrated gradients, which takes seconds and
        loads the model in PyTorch; `residual` says what they miss.

        Raises:
            InputError: an empty query, a text that is too long for the model, or an id that is none.
        """
        return self.explain_all(query, [hit])[0]

    def explain_all(self, query: str, hits: Sequence[Hit | int | str]) -> list[Explanation]:
        """As `explain`, for many hits of one query: they go through the encoder together."""
        return self._explainer(query).explain(hits)

    def contrast(self, query: str, a: Hit | int | str | Path, b: Hit | int | str | Path) -> Contrast:
        """Why one passage stands above another for a query, word by word of the query.

        Args:
            a, b: hits, passage ids, or paths as for `why_not`, of which the best passage is taken.

        Raises:
            InputError: an empty query, an id that is none, or a path that is not in the index.
        """
        return self._explainer(query).contrast(a, b)

    def why_not(self, query: str, what: str | Path | int, k: int = 10, *, per_document: int = 0) -> WhyNot:
        """Where a document stands for a query, and why it is not among the hits.

        Args:
            what: a path: absolute, from the current folder or from the indexed one; also with a record
                or a line, as hits are listed ("table.csv#12", "keys.md:31"). Or a passage id. Of what has
                several passages the best is looked at.
            k, per_document: as for `query`.

        Raises:
            InputError: an empty query, a folder instead of a file, an id or line that there is not.
        """
        return self._explainer(query).why_not(what, k, per_document)

    def _explainer(self, query: str) -> Explainer:
        check_query(query)
        return Explainer(self.path, self._vectors, self.encoder, query, self._offline)

    def hit(self, query: str, passage_id: int) -> Hit:
        """A passage of the index as a hit of a query, wherever it ranks; its rank is given as 0."""
        check_query(query)
        stored, vector = stored_passage(self.path, passage_id)
        cosine = float(vector @ self._embedded(query))
        return as_hit(0, stored, cosine)

    def status(self) -> Status:
        """What the index is and holds."""
        return status(self.path)

    def check(
        self,
        *,
        sources: bool = True,
        verify: bool = False,
        queries: int = 20,
        progress: Callable[[Progress], None] | None = None,
    ) -> CheckReport:
        """Whether the index is what was written, and up to date; see `search.index.health.check`.

        Args:
            sources: compare the files of the folder with the index; with `verify` by their content.
            queries: how many queries to compare with brute force.
            progress: called often with how far the work is.
        """
        from search.index.health.check import check

        return check(self.path, sources=sources, verify=verify, queries=queries, progress=progress)

    def repair(
        self, *, dry_run: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> RepairReport:
        """Mend what is damaged, as far as the index and its folder allow; see `search.index.health.repair`.

        Raises:
            IndexDamaged: it cannot be repaired; the message says how to make it again.
            IndexLocked: another process is writing to the index.
        """
        from search.index.health.repair import repair

        done = repair(
            self.path, offline=self._offline, engine=self._engine, dry_run=dry_run, progress=progress
        )
        self._vectors = LoadedVectors(self.path)  # a file with the old name and hash may be whole again
        return done


def _existing_folder(folder: str | Path) -> Path:
    root = Path(folder).expanduser()
    if root.is_dir():
        return root
    what = (
        "is a file, not a folder. Name the folder it is in"
        if root.is_file()
        else "does not exist. Check the spelling"
    )
    raise InputError(f"the folder '{folder}' {what}.")


def _source(meta: dict[str, Any] | None, root: Path) -> Source:
    """What an index was made with, for the same folder; the defaults for a new one."""
    return Source.from_dict(meta["source"]) if meta and Path(meta["root"]) == root.resolve() else Source()


def _earlier(place: Path, rebuild: bool) -> tuple[dict[str, Any], Fingerprint] | None:
    """What an index was made with; None for a new one, or when it is to be replaced and cannot be read."""
    if not is_index(place):
        return None
    try:
        meta = read_meta(place / DATABASE, older=True)
        return meta, Fingerprint.from_dict(meta["fingerprint"])
    except IndexNotFound:  # begun, never filled
        return None
    except IndexDamaged:
        if rebuild:
            return None
        raise
