"""seewhy duplicates"""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.options import (
    Colour,
    ColourOption,
    IndexOption,
    JsonlOption,
    JsonOption,
    QuietOption,
    colour_on,
    echo,
    page_width,
    remarks,
)
from search.cli.ranking import WhereOption

Threshold = Annotated[
    float, typer.Option("--threshold", "-t", metavar="T", help="Least cosine of a pair, above 0, at most 1.")
]


def duplicates(
    threshold: Threshold = 0.95,
    where: WhereOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
    as_jsonl: JsonlOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """List passages that say the same, the largest cluster first.

    Every pair is compared, and pairs are joined to clusters.
    """
    from search.index import Index
    from search.render import duplicates as draw
    from search.render import json

    opened = Index.open(index)
    found = opened.duplicates(threshold, where=where)
    if as_json:
        echo(json.document(found))
    elif as_jsonl:
        echo(json.lines(found))
    else:
        echo(draw.duplicates(found, threshold, width=page_width(), colour=colour_on(color)))
    remarks(opened.notes, quiet)
