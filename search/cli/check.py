"""seewhy check, seewhy repair"""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.options import (
    Colour,
    ColourOption,
    EngineOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    QuietOption,
    colour_on,
    echo,
    page_width,
)

Sources = Annotated[
    bool, typer.Option("--sources/--no-sources", help="Compare the files of the folder with the index.")
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Read these files to compare them, not only size and time stamp.")
]
Queries = Annotated[
    int, typer.Option("--queries", metavar="N", min=0, help="How many queries to compare with brute force.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")]


def check(
    index: IndexOption = None,
    sources: Sources = True,
    verify: Verify = False,
    queries: Queries = 20,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say whether an index is sound and up to date.

    Looks at every row, every embedding, the FAISS file and the files of the folder. Changes nothing, and can
    run beside seewhy index. Exit code 1 if anything is damaged; what is only stale (files that changed since,
    a run that was stopped) is named, with exit code 0.
    """
    from search.cli.progress import progress_bar
    from search.render import checks, json
    from search.store.health.check import check as look
    from search.store.layout import find_index

    place = find_index(index)
    with progress_bar(quiet) as progress:
        found = look(place, sources=sources, verify=verify, queries=queries, progress=progress)
    if as_json:
        echo(json.document(found))
    elif not quiet or not found.ok:
        echo(checks.check(found, width=page_width(), colour=colour_on(color)))
    if not found.ok:
        raise typer.Exit(1)


def repair(
    index: IndexOption = None,
    dry_run: DryRun = False,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Mend what is damaged in an index.

    What is derived is made anew; a damaged embedding is encoded again from its text, a damaged text is read
    again from the folder. A database that cannot be read is kept under another name, never deleted. Exit code
    0 if nothing is damaged afterwards (with --dry-run: if nothing is damaged now).
    """
    from search.cli.index import stopped_gently
    from search.cli.progress import progress_bar
    from search.render import checks, json
    from search.store.health.repair import repair as mend
    from search.store.layout import find_index

    place = find_index(index)
    with stopped_gently(quiet), progress_bar(quiet) as progress:
        done = mend(
            place,
            offline=offline,
            engine=engine,
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        echo(json.document(done))
    elif not quiet or not done.check.ok:
        echo(checks.repair(done, width=page_width(), colour=colour_on(color)))
    if not done.check.ok:
        raise typer.Exit(1)
