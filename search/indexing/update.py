"""Update an index from its folder.

    walk the folder -> compare with the stored files -> read and cut new and changed files
    -> encode batch by batch, committing each -> remove deleted files -> make segments of new passages

Each batch is committed after it was encoded, so a killed run loses at most one batch of work and no data; the next run
resumes there. run.py does all this; this module prepares the lock, the database and the folder for it.

`changes` watches the files of a folder.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding import Encoder, Fingerprint
from search.encoding.encoder import model_of, named_model
from search.encoding.models import DEFAULT_MODEL
from search.errors import IndexDamaged, IndexNotFound, IndexOutdated, InputError, SearchError
from search.files import PRIVATE_FOLDER, make_private, patiently
from search.indexing.plan import listed, nothing_to_index
from search.indexing.run import Run
from search.records.fingerprint import WHOLE_TEXT
from search.records.option_tools import split_options
from search.records.options import BuildOptions, EncoderOptions, EngineName, SourceOptions, StoreOptions
from search.records.reports import Progress, Report
from search.store.contents import require_no_contents
from search.store.database import (
    carried_over,
    has_contents,
    legible_fingerprint,
    legible_meta,
    read_meta,
    reading,
    replace_database,
)
from search.store.file_states import stored_files
from search.store.files import (
    DATABASE,
    WORK,
    delete_database,
    delete_leftovers,
    delete_work,
    refused,
    remove_index,
    writer_lock,
)
from search.store.home import is_own
from search.store.layout import index_path_for, is_index, require_usable_path, streamed
from search.store.milvus.client import Address, Client
from search.store.milvus.collections import Server
from search.store.milvus.writer import MilvusWriter
from search.store.segments import segment_files
from search.store.settings import FolderPaths, Folders, PassageSettings, Source, as_text, fingerprint_of
from search.store.writer import writing

if TYPE_CHECKING:
    from search.encoding.workers import Workers


def update(
    folder: Path,
    index: Path,
    encoder: Encoder,
    *,
    settings: PassageSettings,
    source: Source,
    rebuild: bool = False,
    progress: Callable[[Progress], None] | None = None,
    workers: Workers | None = None,
    server: Server | None = None,
) -> Report:
    """Build or update the index of a folder.

    Args:
        folder: the folder to index, or the common parent of `source.folders`; resolved.
        index: folder of the index; created if needed.
        rebuild: start from scratch; the old index stays in use until the new one is complete.
        workers: encode passages; None for this process alone.
        server: server for the passages; None keeps them on this machine.

    Raises:
        InputError: there is no text to index.
        FingerprintMismatch: the index was built with another model or other settings.
        IndexLocked: another process is writing to the index.
    """
    started = time.monotonic()
    require_usable_path(index)
    walked_ns = time.time_ns()
    files, skipped = listed(folder, index, source)
    if not files:
        reasons = Counter(item.reason for item in skipped)
        raise InputError(nothing_to_index(Folders(folder, source.folders), reasons, is_index(index)))
    existed = index.exists()
    make_private(index)
    try:
        with writer_lock(index):
            require_no_contents(index / DATABASE)
            delete_work(index)
            _sweep(index)
            database = index / DATABASE
            in_place = rebuild and server is None
            if server and streamed(index) != asdict(server):
                delete_database(index)
            if in_place:
                (index / WORK).mkdir(PRIVATE_FOLDER, exist_ok=True)
                database = index / WORK / DATABASE
            with writing(database) as writer:
                if server:
                    writer = MilvusWriter(writer.connection, index, server, encoder.dimension)
                run = Run(
                    folder, index, database, writer, encoder, settings, source, progress, workers=workers
                )
                if in_place:
                    run.writer.put_meta(**carried_over(index / DATABASE))
                report = run.all(files, skipped, walked_ns)
            if in_place:
                is_unknown = has_contents(index / DATABASE) is None
                if kept := replace_database(index, database, keep_old=is_unknown):
                    note = (
                        f"the old database could not be read, so it was kept as '{kept}'. Delete it if the index had "
                        "no documents from memory."
                    )
                    report = replace(report, notes=(*report.notes, note))
            with reading(index / DATABASE) as connection:
                named = segment_files(connection)
            delete_leftovers(index, named)
    except InputError:
        if not existed:
            remove_index(index)
        raise
    except OSError as error:
        if error.errno and error.filename is None:  # the error of a failed write names no file
            error.filename = str(index)
        raise refused(error, index) from error
    return replace(report, seconds=time.monotonic() - started)


def _sweep(index: Path) -> None:
    """Delete what an interrupted run left behind, to free disk space before this run."""
    if is_index(index):
        with suppress(SearchError), reading(index / DATABASE) as connection:
            delete_leftovers(index, segment_files(connection))


_TOGETHER_MS = 300  # changes that follow each other so quickly count as one
_LOOK_UP_MS = 1000
_LOOK_ANYWAY = 60  # seconds without a change; network drives report none


def changes(folders: Folders, index: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """Yield at the start, whenever something in the folders may have changed, and at least once a minute.

    Args:
        index: folder of the index; changes in it are ignored.
        stop: ends the iteration when it is set.

    Raises:
        SearchError: the system cannot watch the folders.
    """
    from watchfiles import DefaultFilter, watch

    folders.require_files()
    watched = watch(
        *filter(Path.is_dir, folders.paths),
        watch_filter=DefaultFilter(ignore_paths=[index]),
        debounce=_TOGETHER_MS,
        rust_timeout=_LOOK_UP_MS,
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )
    try:
        for number, changed in enumerate(watched):
            if changed or number % _LOOK_ANYWAY == 0:
                yield
    except OSError as error:
        raise SearchError(f"{as_text(folders.paths)} cannot be watched ({error})") from error


def build_inputs(
    folders: Folders,
    place: Path,
    options: BuildOptions,
    *,
    rebuild: bool,
    offline: bool,
    engine: EngineName,
    encoder: Encoder | None = None,
) -> tuple[Encoder, Source, PassageSettings]:
    """Return the encoder, the source and the passage settings of an index; see `Index.build`.

    An existing index keeps its passage settings until it is rebuilt, even if the defaults change.

    Args:
        folders: the folders to index.
        place: folder of the index, which need not exist.
        options: requested options. A missing option, or None, is taken from the index, or else from the model.
        encoder: the encoder; None loads one by the options.

    Raises:
        ModelError: a model cannot be found or used.
        IndexDamaged: the existing index cannot be read, and `rebuild` is off.
    """
    meta, old = earlier(place, rebuild) or (None, None)
    chosen, selected = split_options(options, EncoderOptions, SourceOptions)
    chosen = {name: value for name, value in chosen.items() if value is not None and value != ""}
    source = source_of(meta, folders).changed(**selected)
    if encoder is None:
        encoder = _named_encoder(chosen, old, is_own(place), offline=offline, engine=engine)
    elif chosen:
        raise InputError(f"'{min(chosen)}' cannot be combined with encoder.")
    passages = PassageSettings.from_json(old.passages) if old and not rebuild else PassageSettings()
    return encoder, source, passages


def _named_encoder(chosen: dict[str, Any], old: Fingerprint | None, trusted: bool, **how: Any) -> Encoder:
    """Load the encoder that the options name, or else that of the existing index."""
    if old and old.pooling == WHOLE_TEXT and "model" not in chosen:
        Encoder.of(old)  # raises: a program must bring it
    named = chosen.pop("model", None) or (named_model(old, trusted) if old else DEFAULT_MODEL)
    model = model_of(named, how["offline"])
    if old and model.files.weights_sha256 == old.weights:
        chosen = {
            "pooling": old.pooling,
            "layer": old.layer,
            "dim": int(old.dimension),
            "max_tokens": int(old.max_tokens),
            "precision": old.precision,
        } | chosen
    return Encoder(model, **how, **chosen)


def source_of(meta: dict[str, Any] | None, folders: Folders) -> Source:
    """Return the source settings of an index of the same folders; the defaults for a new one."""
    same = meta and Folders.from_meta(meta) == folders
    return Source.from_dict(meta["source"]) if meta and same else Source(folders=folders.names)


def earlier(place: Path, rebuild: bool) -> tuple[dict[str, Any], Fingerprint] | None:
    """Return metadata and fingerprint of an index; None for a new one.

    Args:
        rebuild: the index will be rebuilt: if it is damaged or has another format, its settings are kept as far as they
            can be read; None if they cannot.
    """
    if not is_index(place):
        return None
    try:
        meta = read_meta(place / DATABASE)
        return meta, fingerprint_of(meta)
    except IndexNotFound:  # its first run stored nothing
        return None
    except (IndexDamaged, IndexOutdated):
        if not rebuild:
            raise
    meta, fingerprint = legible_meta(place / DATABASE), legible_fingerprint(place / DATABASE)
    if fingerprint is None:
        return None
    try:
        Folders.from_meta(meta)
        Source.from_dict(meta["source"])
    except IndexDamaged:
        meta |= {"root": "", "source": {}}
    return meta, fingerprint


def server_for(index: Path, options: StoreOptions, *, rebuild: bool = False) -> Server | None:
    """Return the server for the passages of an index; None for this machine.

    Raises:
        InputError: the address is invalid or belongs to another index, or the kind of index is unknown.
        StoreUnavailable: a server that is used for the first time does not respond.
    """
    store, kind = options.get("store"), options.get("store_index")
    kept = Server(**stored) if (stored := streamed(index)) else None
    if store == "none":
        return None
    if not (store or kept):
        if kind:
            raise InputError("--store-index needs --store milvus://HOST:PORT/NAME")
        return None
    if kept and not store and not is_own(index):
        raise InputError(
            f"the index in '{index}' may be somebody else's. If you trust its server, add: --store {kept.address}"
        )
    if is_index(index) and not kept:
        raise InputError(f"'{index}' is stored on this machine. To use a server, choose another --index")
    address = Address.parse(store or (kept.address if kept else ""))
    target = Server.new(address, kind or (kept.kind if kept else "FLAT"))
    if kept and not rebuild:
        if (target.address, target.kind) != (kept.address, kept.kind):
            raise InputError(
                f"the index in '{index}' is stored at {kept.address} ({kept.kind}). To change that, add: --rebuild"
            )
        return kept
    if not rebuild and Client(address).target(address.name):
        raise InputError(f"{address} already holds an index. To replace it, add: --rebuild")
    return target


# Share of the index's files that the new folder must contain.
_LEAST = 0.5


def move(index: Path, named: FolderPaths) -> Path:
    """Point an index to the new path of its folder after a rename or move. Nothing is encoded.

    Args:
        index: folder of the index.
        named: the new path of the folder; for several folders, all their paths, with unchanged names.

    Returns:
        The folder of the index, which is renamed if it was named after its folder.

    Raises:
        InputError: the new folder contains less than half of the indexed files.
        IndexLocked: another process is writing to the index.
    """
    meta = read_meta(index / DATABASE)
    old, new = Folders.from_meta(meta), Folders.of(named)
    old.require_files()
    if old.names != new.names:
        raise InputError(f"the index covers {old.described}. Give their new paths, with the same names")
    usual = is_own(index) and index_path_for(old, None) == index
    with writer_lock(index), writing(index / DATABASE) as writer:
        names = stored_files(writer.connection)
        count = sum((new.root / name).is_file() for name in names)
        if count < _LEAST * len(names):
            raise InputError(
                f"{new.described} has only {count:,} of the {len(names):,} indexed files. Give the "
                "folder's new path."
            )
        writer.put_meta(root=str(new.root))
    place = index_path_for(new, None) if usual else index
    if place != index:
        with suppress(OSError):
            place.rmdir()  # an empty folder
        if not os.path.lexists(place):
            with suppress(PermissionError):  # on Windows, while others read it; it keeps its name
                patiently(lambda: index.rename(place))
                return place
    return index
