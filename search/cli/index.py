"""seewhy index"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import (
    Colour,
    ColourOption,
    EngineOption,
    JsonOption,
    ModelOption,
    OfflineOption,
    PoolingOption,
    PrecisionOption,
    QuietOption,
    colour_on,
    echo,
    note,
    page_width,
    remarks,
)
from search.render.escape import escape

if TYPE_CHECKING:
    from search.index import Index


Folder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="The folder to index, with its subfolders.", show_default=False),
]
Place = Annotated[
    str | None,
    typer.Option(
        "--index", "-i", metavar="NAME|PATH", help="Where to keep the index. Default: your data folder."
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        "--layer", help="Layer that is pooled: -1 the last, 0 the embeddings, mean:4 the mean of 4."
    ),
]
Dim = Annotated[
    int | None, typer.Option("--dim", min=1, help="Keep the first so many dimensions (Matryoshka models).")
]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="GLOB", help="Index only files like this; may be repeated."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="GLOB", help="Leave out files like this; may be repeated."),
]
TextField = Annotated[
    str | None,
    typer.Option("--text-field", metavar="NAME", help="Column or key of records that holds the text."),
]
TitleField = Annotated[
    str | None,
    typer.Option("--title-field", metavar="NAME", help="Column or key of records that holds the title."),
]
TokenVectors = Annotated[
    bool | None,
    typer.Option(
        "--token-vectors/--no-token-vectors",
        help="Keep the vectors of all tokens, for a quick --rerank late; about 80 times the space of the text.",
        show_default=False,
    ),
]
Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Encode everything anew, in place of the old index.")
]
Verify = Annotated[bool, typer.Option("--verify", help="Read every file, also those that look unchanged.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]
Watch = Annotated[bool, typer.Option("--watch", help="Go on and keep the index up to date until Ctrl-C.")]


@contextmanager
def stopped_gently(quiet: bool) -> Iterator[None]:
    """Ctrl-C: say that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        note("seewhy: stopped. What was done is kept; the same command goes on from there.", quiet)
        raise


def index(
    folder: Folder,
    place: Place = None,
    model: ModelOption = None,
    pooling: PoolingOption = None,
    layer: Layer = None,
    dim: Dim = None,
    include: Include = None,
    exclude: Exclude = None,
    text_field: TextField = None,
    title_field: TitleField = None,
    token_vectors: TokenVectors = None,
    rebuild: Rebuild = False,
    verify: Verify = False,
    dry_run: DryRun = False,
    watch: Watch = False,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    precision: PrecisionOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Index a folder of text, or bring its index up to date.

    Only what is new or changed is encoded. A run that is stopped keeps what it has done; the next one goes
    on from there.
    """
    from search.cli.progress import progress_bar
    from search.index import Index
    from search.render import json, reports

    if dry_run:
        if rebuild or watch:
            raise typer.BadParameter("it goes with neither --rebuild nor --watch.", param_hint="--dry-run")
        changes = Index.preview(
            folder,
            index=place,
            include=include,
            exclude=exclude,
            text_field=text_field,
            title_field=title_field,
            verify=verify,
        )
        shown = json.document(changes) if as_json else reports.changes(changes, width=page_width())
        echo(shown)
        return
    with stopped_gently(quiet), progress_bar(quiet) as progress:
        built = Index.build(
            folder,
            index=place,
            model=model,
            pooling=pooling,
            layer=layer,
            dim=dim,
            include=include,
            exclude=exclude,
            text_field=text_field,
            title_field=title_field,
            token_vectors=token_vectors,
            rebuild=rebuild,
            verify=verify,
            offline=offline,
            engine=engine,
            precision=precision,
            progress=progress,
        )
    report = built.report
    assert report is not None
    remarks(report.notes, quiet)
    if as_json:
        echo(json.lines([report]) if watch else json.document(report))
    elif not quiet:
        echo(reports.report(report, width=page_width(), colour=colour_on(color)))
    if watch:
        watch_on(built, as_json, quiet)


def watch_on(built: Index, as_json: bool, quiet: bool) -> None:
    """Keep an index up to date until Ctrl-C, a line for every update."""
    from search.errors import SearchError
    from search.render import json, reports

    note("Watching for changes. Stop with Ctrl-C.", quiet)
    try:
        for outcome in built.watch():
            now = time.strftime("%H:%M:%S")
            if isinstance(outcome, SearchError):
                note(f"{now}  {escape(str(outcome))}")
            elif as_json:
                echo(json.lines([outcome]))
            elif not quiet:
                echo(f"{now}  {reports.update_line(outcome)}")
    except KeyboardInterrupt:
        note("Stopped watching.", quiet)
