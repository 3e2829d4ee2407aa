"""seewhy query"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from search.cli.options import (
    Colour,
    ColourOption,
    IndexOption,
    JsonlOption,
    JsonOption,
    ModelOption,
    OfflineOption,
    PoolingOption,
    QuietOption,
    colour_on,
    echo,
    note,
    page_width,
)

Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="What to look for, in your own words.", show_default=False)
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of hits.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say of the best hit why it has its score.")]


def query(
    text: Text,
    k: TopK = 10,
    index: IndexOption = None,
    explain: Explain = False,
    model: ModelOption = None,
    pooling: PoolingOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    as_jsonl: JsonlOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Rank the passages of an index by how well they answer TEXT."""
    from search.library import Index
    from search.render import json, terminal, why

    opened = Index.open(index, model=model, pooling=pooling, offline=offline)
    hits = opened.query(text, k=k)
    if as_json:
        echo(json.document(hits))
    elif as_jsonl:
        echo(json.lines(hits))
    else:
        width, colour = page_width(), colour_on(color)
        echo(terminal.hits(hits, width=width, colour=colour))
        if explain and hits:
            echo("\n" + why.explanation(opened.explain(text, hits[0]), hits[0], width=width, colour=colour))
        elif hits:
            place = f" --index {shlex.quote(index)}" if index else ""
            note(f"\nWhy the first? seewhy explain {shlex.quote(text)} 1{place}", quiet)
    for problem in opened.notes:
        note(f"note: {problem}", quiet)
