"""The shapes that hits are printed in, and which part of a ranking is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import echo

if TYPE_CHECKING:
    from search.index import Index
    from search.records.hits import Hit, Surroundings


class Format(str, Enum):
    text = "text"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    md = "md"
    paths = "paths"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        help="json and jsonl as --json and --jsonl; csv; md, a list with links; paths, each file once.",
        show_default=False,
    ),
]
NullOption = Annotated[
    bool, typer.Option("--null", "-0", help="--format paths with a NUL behind each path, for xargs -0.")
]
GroupOption = Annotated[
    bool,
    typer.Option("--group", help="The best documents, each with its best passages; -k counts documents."),
]
OffsetOption = Annotated[
    int,
    typer.Option("--offset", metavar="N", min=0, help="Pass over the first N hits; ranks go on counting."),
]
MinScoreOption = Annotated[
    float | None,
    typer.Option("--min-score", metavar="S", help="Leave out what scores less.", show_default=False),
]
DiversityOption = Annotated[
    float,
    typer.Option(
        "--diversity",
        metavar="D",
        min=0.0,
        max=1.0,
        help="Prefer hits that differ from those before: 0, not at all, to 1. Scores stay what they are.",
    ),
]
AroundOption = Annotated[
    int, typer.Option("--around", metavar="N", min=0, help="Show N passages before and behind each, too.")
]
ContextOption = Annotated[
    int,
    typer.Option(
        "--context",
        "-C",
        metavar="N",
        min=0,
        help="Show N lines of the file before and behind each passage, too, if the file is as it was.",
    ),
]


def shape(
    chosen: Format | None, as_json: bool, as_jsonl: bool, null: bool, surroundings: bool, explain: bool
) -> Format:
    """The one that is meant.

    Args:
        surroundings, explain: whether what stands around hits is asked for, and why the best is one.

    Raises:
        typer.BadParameter: several that exclude each other, or one that has no room for what is asked for.
    """
    meant = {chosen} if chosen else set()
    meant |= {Format.json} if as_json else set()
    meant |= {Format.jsonl} if as_jsonl else set()
    meant |= {Format.paths} if null else set()
    if len(meant) > 1:
        names = ", ".join(sorted(one.value for one in meant))
        raise typer.BadParameter(f"hits are printed in one format, not in several ({names}).")
    form = meant.pop() if meant else Format.text
    if surroundings and form in (Format.csv, Format.md, Format.paths):
        raise typer.BadParameter(
            f"--around and --context are shown as text, json and jsonl, not as {form.value}: leave them out."
        )
    if explain and form is not Format.text:
        raise typer.BadParameter(
            f"--explain is for text, not for {form.value}. An explanation alone: seewhy explain TEXT 1 --json"
        )
    return form


def around(opened: Index, hits: Sequence[Hit], passages: int, lines: int) -> list[Surroundings] | None:
    """What stands around each hit; None if it was not asked for."""
    if not (passages or lines):
        return None
    return [opened.surroundings(hit, passages=passages, lines=lines) for hit in hits]


def print_hits(
    hits: Sequence[Hit], form: Format, null: bool, found: Sequence[Surroundings] | None = None
) -> None:
    """Hits in any shape but text."""
    from search.render import json, listing

    if form is Format.json:
        echo(json.hits(hits, found))
    elif form is Format.jsonl:
        echo(json.hit_lines(hits, found))
    elif form is Format.csv:
        echo(listing.as_csv(hits))
    elif form is Format.md:
        echo(listing.as_markdown(hits))
    elif null:
        sys.stdout.flush()
        sys.stdout.buffer.write(b"".join(os.fsencode(path) + b"\0" for path in listing.paths(hits)))
    else:
        echo(listing.path_lines(hits))
