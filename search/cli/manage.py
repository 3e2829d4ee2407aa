"""seewhy status, seewhy list, seewhy check, seewhy repair, seewhy models"""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.options import EngineOptions, IndexOption
from search.cli.output import Output, note
from search.cli.progress import progress_bar, stopped_gently
from search.errors import InputError, SearchError


def status(output: Output, index: IndexOption = None) -> None:
    """Say what an index is made of and what was left out of it."""
    from search.index import Index
    from search.render import json, reports

    held = Index.open(index).status()
    output.show(text=lambda: reports.status(held, **output.style), data=lambda: json.document(held))


def list_indexes(output: Output) -> None:
    """List the indexes in your data folder."""
    from search.index import Index
    from search.render import json, reports
    from search.store.layout import all_indexes

    statuses, unreadable = [], False
    for path in all_indexes():
        try:
            statuses.append(Index.open(path).status())
        except SearchError as error:
            note(f"note: {error}")
            unreadable = True
    if statuses or output.as_json or not unreadable:
        output.show(
            text=lambda: reports.index_list(statuses, **output.style), data=lambda: json.document(statuses)
        )


def check(
    output: Output,
    index: IndexOption = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Read the folder's files to compare them, not only size and time stamp."
        ),
    ] = False,
) -> None:
    """Say whether an index is sound and up to date.

    Looks at every row, every embedding, the FAISS file and the files of the folder. Changes nothing, and can
    run beside seewhy index. Exit code 1 if anything is damaged; what is only stale (files that changed since,
    a run that was stopped) is named, with exit code 0.
    """
    from search.indexing.check import check as look
    from search.render import json, reports
    from search.store.layout import find_index

    place = find_index(index)
    with progress_bar(output.quiet) as progress:
        report = look(place, verify=verify, progress=progress)
    if output.as_json or not output.quiet or not report.ok:
        output.show(text=lambda: reports.check(report, **output.style), data=lambda: json.document(report))
    if not report.ok:
        raise typer.Exit(1)


def repair(
    engine: EngineOptions,
    output: Output,
    index: IndexOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")
    ] = False,
) -> None:
    """Mend what is damaged in an index.

    What is derived is made anew; damaged documents are read again from the folder. For a database that cannot be
    read, the command that makes the index anew is named, and nothing is changed. Exit code 0 if nothing is damaged
    afterwards (with --dry-run: if nothing is damaged now).
    """
    from search.indexing.repair import repair as mend
    from search.render import json, reports
    from search.store.layout import find_index

    place = find_index(index)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        done = mend(place, offline=engine.offline, engine=engine.engine, dry_run=dry_run, progress=progress)
    if output.as_json or not output.quiet or not done.check.ok:
        output.show(text=lambda: reports.repair(done, **output.style), data=lambda: json.document(done))
    if not done.check.ok:
        raise typer.Exit(1)


def models(
    output: Output,
    remove: Annotated[
        str | None, typer.Option(metavar="NAME", help='Delete the converted model of this name, or "all".')
    ] = None,
) -> None:
    """List or remove the models that were converted here.

    A model that was removed is converted again when it is next used. One that could not be converted is listed
    with the reason, and tried again when it is removed from the list.
    """
    from search.encoding import cache
    from search.render import format, json, reports

    rows = cache.listed()
    if not remove:
        output.show(text=lambda: reports.model_list(rows, **output.style), data=lambda: json.document(rows))
        return
    if remove != "all" and remove not in {row.name for row in rows}:
        known = ", ".join(sorted({row.name for row in rows})) or "none"
        raise InputError(f"no converted model is called '{remove}'. There are: {known}.")
    for row in rows:
        if remove in ("all", row.name):
            cache.remove(row)
            freed = f"removed {row.name} ({format.size(row.bytes)})"
            output.note(f"forgot that {row.name} could not be converted" if row.problem else freed)
