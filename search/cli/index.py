"""seewhy index, status, list, check, move, remove, lab models"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
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
from search.cli.output import Output, echo, note, progress_bar, stopped_gently
from search.errors import InputError, SearchError, quoted
from search.records import options

if TYPE_CHECKING:
    from search.index import Index
    from search.records.reports import Report
    from search.store.settings import Folders, Named


def index(
    files: options.FileOptions,
    engine: EngineOptions,
    model: options.ModelOptions,
    vectors: options.VectorOptions,
    kept: options.TokenVectorOptions,
    server: options.StoreOptions,
    output: Output,
    folder: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="What to index; several make one index. Default: the folder of --index.",
        ),
    ] = None,
    index: Annotated[
        str | None, index_option("Where to keep the index. Default: your data folder.")
    ] = None,
    workers: Annotated[
        str | None,
        model_option(
            metavar="N|ray|ray://HOST:PORT",
            help="Encode in N processes, or by actors of Ray (extra `ray`).",
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Encode everything again; annotations are dropped."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on and keep the index up to date until Ctrl-C.")
    ] = False,
) -> None:
    """Index folders of text, or bring their index up to date.

    Only what is new or changed is encoded. A run that is stopped keeps what it has done; the next one goes
    on from there.
    """
    from search.index import Index
    from search.render import json, reports
    from search.store.layout import is_index, place_for
    from search.store.settings import Folders

    named: Named | Folders = folder or folders_of_index(index)
    if dry_run:
        if rebuild or watch:
            raise typer.BadParameter(
                "it goes with neither --rebuild nor --watch.", param_hint="--dry-run"
            )
        output.show(Index.preview(named, index=index, **files), reports.changes)
        return
    if not (model["model"] or is_index(place_for(Folders.of(named), index))):
        model["model"] = model_for_new_indexes()

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
            **vars(engine),
            **files,
            **model,
            **vectors,
            **kept,
            **server,
        )
    assert built.report is not None
    show(built.report)
    if watch:
        watch_on(built, output)


def folders_of_index(named: str | None) -> Folders:
    """The folders of an index in the user's own data folder.

    Raises:
        typer.BadParameter: no index is named.
    """
    from search.store.database import read_meta
    from search.store.layout import DATABASE, named_place
    from search.store.settings import Folders

    if not named:
        raise typer.BadParameter("name a folder to index, or with --index an index to bring up to date.")
    place = named_place(named)
    return Folders.from_meta(read_meta(place / DATABASE))


def watch_on(built: Index, output: Output) -> None:
    """Keep an index up to date until Ctrl-C; print a line for every update."""
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


def status(output: Output, index: IndexOption = None) -> None:
    """Say what an index is made of and what was left out of it."""
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


def check(
    output: Output,
    index: IndexOption = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Rebuild damaged postings and FAISS files, delete stray files."),
    ] = False,
) -> None:
    """Check whether an index is intact and up to date.

    Without --repair nothing is changed. Exit code 1 if anything is damaged; what is only out of date (changed
    files, an interrupted run) is named, with exit code 0.
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


def models(
    output: Output,
    remove: Annotated[
        str | None,
        typer.Option(metavar="NAME", help='Delete the converted model of this name, or "all".'),
    ] = None,
) -> None:
    """List or remove the models that were converted here.

    A model that was removed is converted again when it is next used. One that could not be converted is listed
    with the reason, and tried again when it is removed from the list.
    """
    from search.encoding import cache
    from search.render import format, reports

    rows = cache.listed()
    if not remove:
        output.show(rows, reports.model_list)
        return
    if remove != "all" and remove not in {row.name for row in rows}:
        names = ", ".join(sorted({row.name for row in rows})) or "none"
        raise InputError(f"no converted model is called '{remove}'. There are: {names}.")
    for row in rows:
        if remove in ("all", row.name):
            cache.remove(row)
            output.note(f"removed {row.name} ({format.size(row.bytes)})")


def move(
    index: IndexArgument,
    folder: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER", help="Where its folder is now; of several folders, each of them."
        ),
    ],
    output: Output,
) -> None:
    """Keep an index whose folder was renamed or moved.

    At least half of its files have to be there. Nothing is encoded; the next run of seewhy index
    sees to the rest.
    """
    from search.index import Index
    from search.indexing.update import move as moved
    from search.render import reports
    from search.store.layout import existing_place

    output.show(Index.open(moved(existing_place(index), folder)).status(), reports.moved)


def remove(
    index: IndexArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Delete an index; the folder that was indexed stays as it is.

    Of an index on a server (milvus://...) what is there is deleted.
    """
    from search.store.files import remove_index
    from search.store.layout import existing_place, is_address, streamed
    from search.store.opening import opened, store_at

    if is_address(index):
        _confirm(index, index, yes)
        opened(index).remove()
        note(f"Deleted {index}.", quiet)
        return
    place = existing_place(index)
    target = f"the index in '{place}'"
    server = {}
    with suppress(SearchError):  # an index is deleted also where it is damaged
        server = streamed(place)
    target += f" and {server['address']}" if server else ""
    _confirm(target, index, yes)
    if server:
        store_at(place).remove()
    else:
        remove_index(place)
    note(f"Deleted {target}.", quiet)


def _confirm(target: str, named: str, yes: bool) -> None:
    """Ask whether to delete something, unless --yes was given."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{target} is not deleted without a yes: seewhy remove {quoted(named)} --yes")
    typer.confirm(f"Delete {target}?", abort=True, err=True)
