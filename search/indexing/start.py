"""Build, update, preview and create an index, from the arguments that users give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from search.encoding import Encoder
from search.encoding.workers import parse_workers, start_workers
from search.errors import InputError
from search.indexing import memory
from search.indexing.build_settings import build_inputs, load_existing_meta, server_for, source_of
from search.indexing.preview import preview as preview_changes
from search.indexing.update import update
from search.records.options import BuildOptions, EncoderOptions, EngineName, SourceOptions, StoreOptions
from search.store.database import read_meta
from search.store.layout import DATABASE, streamed
from search.store.settings import Folders, PassageSettings

if TYPE_CHECKING:
    from search.records.reports import Changes, Lazy, Progress, Report
    from search.store.analyzer import Analyzer


def build(
    folders: Folders,
    index_path: Path,
    encoder: Encoder | None,
    options: BuildOptions,
    *,
    server: StoreOptions,
    rebuild: bool,
    offline: bool,
    engine: EngineName,
    workers: int | str | None,
    progress: Callable[[Progress], None] | None,
    lazy: Lazy = False,
) -> tuple[Encoder, Report]:
    """Index folders, or update their index; see `Index.build`.

    Args:
        encoder: the encoder; None loads a model by the options.
        server: where the passages are stored.
    """
    count = parse_workers(workers)
    target = server_for(index_path, server, rebuild=rebuild)
    if target and lazy:
        raise InputError("an index on a server cannot be lazy. Leave out lazy, or the server.")
    rebuild = rebuild or bool(streamed(index_path) and not target)
    chosen, source, settings = build_inputs(
        folders, index_path, options, rebuild=rebuild, offline=offline, engine=engine, encoder=encoder
    )
    with start_workers(count, chosen, engine) as pool:
        report = update(
            folders.root,
            index_path,
            chosen,
            settings=settings,
            source=source,
            rebuild=rebuild,
            progress=progress,
            workers=pool,
            server=target,
            lazy=lazy,
        )
    return chosen, report


def build_again(
    index_path: Path,
    encoder: Encoder,
    engine: EngineName,
    workers: int | str | None,
    progress: Callable[[Progress], None] | None,
    lazy: Lazy | None = None,
) -> Report:
    """Update an index with the settings it was built with; see `Index.update`."""
    meta = read_meta(index_path / DATABASE)
    folders = Folders.of(Folders.from_meta(meta))
    with start_workers(workers, encoder, engine) as pool:
        return update(
            folders.root,
            index_path,
            encoder,
            settings=PassageSettings.from_json(meta["fingerprint"]["passages"]),
            source=source_of(meta, folders),
            progress=progress,
            workers=pool,
            server=server_for(index_path, {"store": streamed(index_path).get("address")}),
            lazy=(meta.get("lazy") or lazy or False) if lazy in (None, "once") else lazy,
        )


def preview(folders: Folders, index_path: Path, options: SourceOptions) -> Changes:
    """Preview what `build` would do with each file; see `Index.preview`."""
    meta, _ = load_existing_meta(index_path, False) or (None, None)
    return preview_changes(folders.root, index_path, source_of(meta, folders).changed(**options))


def create(
    index_path: Path,
    encoder: Encoder | None,
    options: EncoderOptions,
    *,
    rebuild: bool,
    offline: bool,
    engine: EngineName,
    progress: Callable[[Progress], None] | None,
    analyzer: Analyzer | None = None,
) -> tuple[Encoder, Report | None]:
    """Create an index for documents from memory, or build it again from its documents; see `Index.create`."""
    chosen, *_ = build_inputs(
        Folders(),
        index_path,
        cast("BuildOptions", options),
        rebuild=True,
        offline=offline,
        engine=engine,
        encoder=encoder,
    )
    if rebuild:
        return chosen, memory.rebuild(index_path, chosen, progress, analyzer)
    memory.create(index_path, chosen, analyzer)
    return chosen, None
