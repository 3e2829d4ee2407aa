"""seewhy index, upsert, export, status, list, check, move, remove, models"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.config import model_for_new_indexes
from search.cli.options import (
    EngineOptions,
    IndexArgument,
    IndexOption,
    index_option,
    model_option,
)
from search.cli.output import Output, echo, note, progress_bar, stopped_gently, text_of
from search.errors import IndexNotFound, InputError, OptionalDependency, SearchError, first_line, quoted
from search.records import options

if TYPE_CHECKING:
    from search.index import Index
    from search.records.exports import FaissExport, VectorExport
    from search.records.memory_document import DamagedDocument, Document, Documents
    from search.records.reports import Report
    from search.store.settings import FolderPaths, Folders


def index(
    files: options.FileOptions,
    pictures: options.PictureOptions,
    engine: EngineOptions,
    model: options.ModelOptions,
    vectors: options.VectorOptions,
    prompts: options.PromptOptions,
    kept: options.TokenVectorOptions,
    server: options.StoreOptions,
    output: Output,
    folder: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folder to index; several folders go into one index. Default: the folders of --index.",
        ),
    ] = None,
    index: Annotated[
        str | None, index_option("Name or path of the index. Default: named after the folder.")
    ] = None,
    workers: Annotated[
        str | None,
        model_option(
            metavar="N|ray|ray://HOST:PORT",
            help="Encode in N processes, or on a Ray cluster (extra `ray`).",
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Encode all text again, and delete tags and labels."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and index changed files until Ctrl-C.")
    ] = False,
    lazy: Annotated[
        bool,
        typer.Option(
            "--lazy", help="Stop when the text can be searched; each query encodes what it looks at."
        ),
    ] = False,
) -> None:
    """Index folders of text, or update their index.

    First the text is stored, and can be asked for; then it is encoded, if it is new or has changed. To continue an
    interrupted run, run the same command again.
    """
    from search.encoding.models import STATIC_MODEL, has_static_model
    from search.index import Index
    from search.render import json, reports
    from search.store.layout import index_path_for, is_index
    from search.store.settings import Folders

    named: FolderPaths | Folders = folder or folders_of_index(index)
    if dry_run:
        if rebuild or watch:
            raise typer.BadParameter("--dry-run cannot be combined with --rebuild or --watch.")
        output.show(Index.preview(named, index=index, **files, **pictures), reports.changes)
        return
    if not (model["model"] or is_index(index_path_for(Folders.of(named), index))):
        model["model"] = model_for_new_indexes()
    if model["model"] == STATIC_MODEL and not has_static_model():
        output.note("Making the static model of this machine, once: about a minute.")

    def show(report: Report) -> None:
        output.remarks(report.notes)
        if output.as_json:
            echo(json.lines([report]) if watch else json.document(report))
        elif not output.quiet:
            echo(reports.report(report, **output.style))

    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        built = Index.build(
            named,
            index=index,
            rebuild=rebuild,
            workers=workers,
            progress=progress,
            lazy=lazy,
            **vars(engine),
            **files,
            **pictures,
            **model,
            **vectors,
            **prompts,
            **kept,
            **server,
        )
    assert built.report is not None
    show(built.report)
    if watch:
        watch_on(built, output)


def folders_of_index(named: str | None) -> Folders:
    """Return the folders that an index in the user's data folder was built from.

    Raises:
        typer.BadParameter: `named` is None or empty.
    """
    from search.store.database import read_meta
    from search.store.layout import DATABASE, index_path_of
    from search.store.settings import Folders

    if not named:
        raise typer.BadParameter("give a FOLDER to index, or --index NAME to update an index.")
    place = index_path_of(named)
    return Folders.from_meta(read_meta(place / DATABASE))


def watch_on(built: Index, output: Output) -> None:
    """Update an index when files change, until Ctrl-C; print a line for each update."""
    from search.render import json, reports

    output.note("Watching for changes. Stop with Ctrl-C.")
    try:
        for outcome in built.watch():
            now = time.strftime("%H:%M:%S")
            if isinstance(outcome, Exception):
                note(f"{now}  {outcome}")
            elif output.as_json:
                echo(json.lines([outcome]))
            elif not output.quiet:
                echo(f"{now}  {reports.update_line(outcome)}")
    except KeyboardInterrupt:
        output.note("Stopped watching.")


def upsert(
    model: options.ModelOptions,
    prompts: options.PromptOptions,
    engine: EngineOptions,
    output: Output,
    index: Annotated[str, index_option("Name or path of the index; created if needed.")],
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="JSON Lines or Parquet file; - for stdin (default)."),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Build the index again from its own documents; encodes only new text."
        ),
    ] = False,
) -> None:
    """Add or replace documents by ID, from a JSON Lines or Parquet file.

    Each line or row is an object with the keys `id` and `text`, and optionally `title` and `kind` (such as
    "markdown"); you can filter by all other keys. A document replaces an older one with the same ID.
    Only new text is encoded. If a line is invalid, no document is stored.
    """
    from search.render import reports

    if rebuild:
        if file:
            raise typer.BadParameter("--rebuild takes the documents of the index, and no FILE.")
        _rebuild(index, model, prompts, engine, output)
        return
    documents = _documents_in(file or "-")
    opened = _opened_or_created(index, model, prompts, engine)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = opened.upsert(documents, progress=progress)
    output.remarks(opened.notes)
    if output.as_json or not output.quiet:
        output.show(report, reports.upserted)


def _documents_in(file: str) -> Documents:
    """Return the documents in a JSON Lines file, or in a Parquet file, by its name.

    Raises:
        OptionalDependency: pyarrow, which reads Parquet, is not installed.
        InputError: the file cannot be read.
    """
    if Path(file).suffix.lower() != ".parquet":
        lines = text_of(file, "Give JSON Lines.").split("\n")
        return [document_of(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise OptionalDependency("pyarrow", "parquet", "reading Parquet") from None
    try:
        return parquet.read_table(file)
    except (OSError, ArrowException) as error:
        raise InputError(f"cannot read '{file}': {first_line(error)}") from None


def _opened_or_created(
    index: str, model: options.ModelOptions, prompts: options.PromptOptions, engine: EngineOptions
) -> Index:
    """Open an index of documents from memory; create it if it does not exist, or if nothing is stored in it."""
    from search.encoding.prompts import Prompts
    from search.index import Index
    from search.store.layout import as_namespace, index_path_of, is_index

    if namespace := as_namespace(index):
        return _opened_or_created(namespace[0], model, prompts, engine).namespace(namespace[1])
    if is_index(index_path_of(index)):
        with suppress(IndexNotFound):
            opened = Index.open(index, **model, **vars(engine))  # type: ignore[arg-type]
            chosen = Prompts.of_fingerprint(opened.fingerprint).changed(
                prompts["query_prompt"], prompts["document_prompt"]
            )
            opened.fingerprint.require_equal(replace(opened.fingerprint, prompts=chosen.as_json))
            return opened
    model["model"] = model["model"] or model_for_new_indexes()
    return Index.create(index, **model, **prompts, **vars(engine))


def _rebuild(
    index: str,
    model: options.ModelOptions,
    prompts: options.PromptOptions,
    engine: EngineOptions,
    output: Output,
) -> None:
    from search.index import Index
    from search.render import reports
    from search.store.database import legible_fingerprint
    from search.store.layout import DATABASE, index_path_of

    if not (model["model"] or legible_fingerprint(index_path_of(index) / DATABASE)):
        model["model"] = model_for_new_indexes()
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        built = Index.create(index, rebuild=True, progress=progress, **model, **prompts, **vars(engine))
    assert built.report is not None
    output.remarks(built.report.notes)
    if output.as_json or not output.quiet:
        output.show(built.report, reports.rebuilt)


def export(
    output: Output,
    name: Annotated[
        str | None, typer.Argument(metavar="INDEX", help="Name or path of the index, or its folder.")
    ] = None,
    index: IndexOption = None,
    faiss: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the embeddings to a FAISS index.")
    ] = None,
    type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="With --faiss: FAISS's factory string, such as HNSW32 or IVF256,Flat (default: Flat). Prints what "
            "this kind costs on this index: time to build, size, recall@10 and milliseconds beside exact search.",
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npy", help="Write the embeddings to a NumPy array, IDs to FILE.ids.npy."
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write places, texts, metadata and embeddings of all passages to a Parquet file (extra `parquet`).",
        ),
    ] = None,
) -> None:
    """Take an index elsewhere: print its documents, or write its embeddings to a file.

    Without a file: print the documents from memory of an index, as JSON Lines that `upsert` reads. Reads every format,
    also of an index that is damaged. Documents that cannot be read are left out; those that are not what was stored
    are printed as they are. Both are named, and the exit code is 1.
    """
    if name and index:
        raise typer.BadParameter("give the index once: INDEX or --index.")
    source = name or index
    if type and not faiss:
        raise typer.BadParameter("--type needs --faiss FILE.")
    if not (faiss or vectors or parquet):
        if output.as_json:
            raise typer.BadParameter(
                "--json needs --faiss, --vectors or --parquet; documents are always printed as JSON Lines."
            )
        _print_documents(source, output.quiet)
        return
    from search import export as to_files
    from search.render import reports

    written: list[FaissExport | VectorExport] = []
    with progress_bar(output.quiet) as progress:
        if faiss:
            is_measured = type is not None
            written.append(
                to_files.to_faiss(source, faiss, type or "Flat", measure=is_measured, progress=progress)
            )
        if vectors:
            written.append(to_files.to_numpy(source, vectors, progress=progress))
        if parquet:
            written.append(to_files.to_parquet(source, parquet, progress=progress))
    output.show(written, reports.exports)


def _print_documents(index: str | None, quiet: bool) -> None:
    from search.index import Index
    from search.store.home import export_command
    from search.store.layout import find_index
    from search.store.namespaces import namespace_path, namespaces

    damaged: list[DamagedDocument] = []
    for document in Index.export(index, on_damage=damaged.append):
        echo(json.dumps(document.record, ensure_ascii=False))
    for item in damaged:
        outcome = "printed as it is" if item.document else "left out"
        note(f"note: damaged document {item}; {outcome}", quiet)
    for name in namespaces(path := find_index(index)):
        command = export_command(namespace_path(path, name))
        note(f"note: the namespace '{name}' is not included. To export it, run: {command}", quiet)
    if damaged:
        raise typer.Exit(1)


def document_of(line: str, number: int) -> Document:
    """Read a document from a line of JSON Lines."""
    from search.records.memory_document import Document

    try:
        return Document.of(json.loads(line))
    except (ValueError, TypeError, InputError) as error:
        raise InputError(f"line {number} is not a valid document: {error}") from None


def status(output: Output, index: IndexOption = None) -> None:
    """Show the contents of an index, and what was skipped."""
    from search.index import Index
    from search.render import reports

    output.show(Index.open(index).status(), reports.status)


def list_indexes(output: Output) -> None:
    """List the indexes in your data folder."""
    from search.index import Index
    from search.render import reports
    from search.store.layout import all_indexes

    statuses, unreadable = [], False
    for path in all_indexes():
        try:
            statuses.append(Index.open(path).status())
        except SearchError as error:
            output.note(f"note: {error}")
            unreadable = True
    if statuses or output.as_json or not unreadable:
        output.show(statuses, reports.index_list)


def models(output: Output) -> None:
    """List embedding models to choose from, with published figures, and what each is best for.

    Any other sentence-transformers or BERT-like model works as well: seewhy index FOLDER --model NAME
    """
    from search.encoding.catalogue import CATALOGUE
    from search.render import reports

    output.show(CATALOGUE, reports.model_list)


def check(
    output: Output,
    index: IndexOption = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Rebuild damaged postings and FAISS files, and delete stray files."
        ),
    ] = False,
) -> None:
    """Check whether an index is intact and up to date.

    Changes nothing without --repair. The exit code is 1 if the index is damaged, and 0 if it is only out of date
    (changed files, an interrupted run).
    """
    from search.indexing.check import check as look
    from search.render import reports
    from search.store.layout import find_index

    place = find_index(index)
    with progress_bar(output.quiet) as progress:
        report = look(place, repair=repair, progress=progress)
    if output.as_json or not output.quiet or not report.ok:
        output.show(report, reports.check)
    if not report.ok:
        raise typer.Exit(1)


def move(
    index: IndexArgument,
    folder: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="New path; if the index has several folders, give all."),
    ],
    output: Output,
) -> None:
    """Tell an index the new path of a folder that you moved.

    At least half of the indexed files must exist at the new path. To index new and changed files, then
    run: seewhy index FOLDER
    """
    from search.index import Index
    from search.indexing.move import move as moved
    from search.render import reports
    from search.store.layout import existing_index_path

    path = existing_index_path(index)
    status = Index.open(moved(path, folder)).status()
    output.show(status, partial(reports.moved, before=path.name))


def remove(
    index: IndexArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Delete an index; your files are not touched.

    If the index is on a server (milvus://...), its data is deleted from the server.
    """
    from search.store.database import has_contents
    from search.store.files import DATABASE, remove_index
    from search.store.layout import existing_index_path, is_address, streamed
    from search.store.opening import opened, store_at

    if is_address(index):
        _confirm(index, index, yes)
        opened(index).remove()
        note(f"Deleted {index}.", quiet)
        return
    place = existing_index_path(index)
    target = f"the index in '{place}'"
    server = {}
    with suppress(SearchError):  # a damaged index can be deleted, too
        server = streamed(place)
    target += f" and {server['address']}" if server else ""
    if has_contents(place / DATABASE):
        target += " and its documents from memory, of which it is the only copy"
    _confirm(target, index, yes)
    if server:
        store_at(place).remove()
    else:
        remove_index(place)
    note(f"Deleted {target}.", quiet)


def _confirm(target: str, named: str, yes: bool) -> None:
    """Ask whether to delete `target`, unless `yes` is true; raise InputError without a terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"{target} is deleted only after confirmation. Run: seewhy remove {quoted(named)} --yes"
        )
    typer.confirm(f"Delete {target}?", abort=True, err=True)
