"""What a program imports first: `Index`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from search.applying import Applying
from search.building import asked_for, earlier, existing_folder, source_of
from search.encoding import Encoder, Fingerprint
from search.errors import SearchError
from search.ranking import WEIGHT
from search.records.reports import Changes, CheckReport, Progress, RepairReport, Report, Status
from search.store.database import read_meta
from search.store.layout import DATABASE, find_index, place_for
from search.store.settings import PassageSettings
from search.store.snapshot import status
from search.store.vectors import LoadedVectors


class Index(Applying):
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
        super().__init__(path, encoder, offline, engine)
        self.report = report

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
        token_vectors: bool | None = None,
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
            token_vectors: keep the vectors of all tokens, so that a rerank by late interaction need not encode its
                candidates; about d + 4 bytes a token. None does as before, for a new index it keeps none.
            rebuild: encode everything anew, with what the index was made with where nothing else is said, cut
                as is the default now. The old index answers until the new one is whole.
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
        from search.indexing.update import update  # with all that writing needs, which a query does not

        root = existing_folder(folder)
        place = place_for(root, index)
        encoder, source, passages = asked_for(
            root,
            place,
            rebuild=rebuild,
            model=model,
            pooling=pooling,
            layer=layer,
            dim=dim,
            max_tokens=max_tokens,
            precision=precision,
            selected=(include, exclude, text_field, title_field, token_vectors),
            offline=offline,
            engine=engine,
        )
        report = update(
            root,
            place,
            encoder,
            settings=passages,
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
        from search.indexing.preview import preview

        root = existing_folder(folder)
        place = place_for(root, index)
        meta, _ = earlier(place, False) or (None, None)
        source = source_of(meta, root).changed(include, exclude, text_field, title_field)
        return preview(root, place, source, verify=verify)

    def update(self, *, verify: bool = False, progress: Callable[[Progress], None] | None = None) -> Report:
        """Bring the index up to date with its folder, with the settings that it was made with.

        Args:
            verify, progress: as for `build`.

        Raises:
            InputError: the folder is gone, or nothing in it can be indexed; the index is left as it was.
            IndexLocked: another process is writing to the index.
        """
        from search.indexing.update import update

        meta = read_meta(self.path / DATABASE)
        root = existing_folder(meta["root"])
        settings = PassageSettings.from_json(meta["fingerprint"]["passages"])
        return update(
            root,
            self.path,
            self.encoder,
            settings=settings,
            source=source_of(meta, root),
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
        from search.indexing.watch import changes

        for _ in changes(Path(read_meta(self.path / DATABASE)["root"]), self.path, stop):
            try:
                report = self.update()
            except SearchError as error:
                yield error
            else:
                if not report.nothing_changed:
                    yield report

    def status(self) -> Status:
        """What the index is and holds."""
        return status(self.path, WEIGHT)

    def check(
        self,
        *,
        sources: bool = True,
        verify: bool = False,
        queries: int = 20,
        progress: Callable[[Progress], None] | None = None,
    ) -> CheckReport:
        """Whether the index is what was written, and up to date; see `search.store.health.check`.

        Args:
            sources: compare the files of the folder with the index; with `verify` by their content.
            queries: how many queries to compare with brute force.
            progress: called often with how far the work is.
        """
        from search.store.health.check import check

        return check(self.path, sources=sources, verify=verify, queries=queries, progress=progress)

    def repair(
        self, *, dry_run: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> RepairReport:
        """Mend what is damaged, as far as the index and its folder allow; see `search.store.health.repair`.

        Raises:
            IndexDamaged: it cannot be repaired; the message says how to make it again.
            IndexLocked: another process is writing to the index.
        """
        from search.store.health.repair import repair

        done = repair(
            self.path,
            offline=self._offline,
            engine=self._engine,
            dry_run=dry_run,
            progress=progress,
        )
        self._vectors = LoadedVectors(self.path)  # a file with the old name and hash may be whole again
        return done
