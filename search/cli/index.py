"""seewhy index"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import MODEL, EncoderOptions
from search.cli.output import Output, echo, note
from search.cli.progress import progress_bar, stopped_gently
from search.errors import SearchError
from search.render.format import escape

if TYPE_CHECKING:
    from search.index import Index

FILES = "Files"

TokenVectors = Annotated[
    bool | None,
    typer.Option(
        "--token-vectors/--no-token-vectors",
        help="Keep the vectors of all tokens, for a quick --rerank late; about 80 times the space of the text.",
    ),
]


def index(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder to index, with its subfolders.")
    ],
    place: Annotated[
        str | None,
        typer.Option(
            "--index", "-i", metavar="NAME|PATH", help="Where to keep the index. Default: your data folder."
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="Layer that is pooled: -1 the last, 0 the embeddings, mean:4 the mean of 4.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option(
            min=1, help="Keep the first so many dimensions (Matryoshka models).", rich_help_panel=MODEL
        ),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Index only files like this; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave out files like this; may be repeated.")
    ] = None,
    text_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column or key of records that holds the text.", rich_help_panel=FILES
        ),
    ] = None,
    title_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column or key of records that holds the title.", rich_help_panel=FILES
        ),
    ] = None,
    token_vectors: TokenVectors = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Encode everything anew, in place of the old index.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file, also those that look unchanged.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on and keep the index up to date until Ctrl-C.")
    ] = False,
    precision: Annotated[
        str | None,
        typer.Option(
            help="fp32, or bf16 or fp16: quicker on a GPU, a little less exact. Default: the index's.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    *,
    encoder: EncoderOptions,
    output: Output,
) -> None:
    """Index a folder of text, or bring its index up to date.

    Only what is new or changed is encoded. A run that is stopped keeps what it has done; the next one goes
    on from there.
    """
    from search.index import Index
    from search.render import json, reports

    files: dict[str, Any] = {
        "index": place,
        "include": include,
        "exclude": exclude,
        "text_field": text_field,
        "title_field": title_field,
        "verify": verify,
    }
    if dry_run:
        if rebuild or watch:
            raise typer.BadParameter("it goes with neither --rebuild nor --watch.", param_hint="--dry-run")
        changes = Index.preview(folder, **files)
        output.show(
            text=lambda: reports.changes(changes, width=output.style["width"]),
            data=lambda: json.document(changes),
        )
        return
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        built = Index.build(
            folder,
            **files,
            layer=layer,
            dim=dim,
            token_vectors=token_vectors,
            rebuild=rebuild,
            precision=precision,
            progress=progress,
            **encoder.encoder,
        )
    report = built.report
    assert report is not None
    output.remarks(report.notes)
    if output.as_json:
        echo(json.lines([report]) if watch else json.document(report))
    elif not output.quiet:
        echo(reports.report(report, **output.style))
    if watch:
        watch_on(built, output)


def watch_on(built: Index, output: Output) -> None:
    """Keep an index up to date until Ctrl-C, a line for every update."""
    from search.render import json, reports

    output.note("Watching for changes. Stop with Ctrl-C.")
    try:
        for outcome in built.watch():
            now = time.strftime("%H:%M:%S")
            if isinstance(outcome, SearchError):
                note(f"{now}  {escape(str(outcome))}")
            elif output.as_json:
                echo(json.lines([outcome]))
            elif not output.quiet:
                echo(f"{now}  {reports.update_line(outcome)}")
    except KeyboardInterrupt:
        output.note("Stopped watching.")
