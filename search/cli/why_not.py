"""seewhy why-not"""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.hits import QueryArgument, passage_id
from search.cli.options import (
    HITS_OF_A_DOCUMENT,
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
    remarks,
)
from search.cli.ranking import (
    Mode,
    ModeOption,
    PhrasesOption,
    WeightOption,
    WhereOption,
    chosen,
)

Wanted = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A file, also with a record (table.csv#12) or a line (keys.md:31), or a passage (p812).",
        show_default=False,
    ),
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="How many hits the query asked for.")]
PerDocument = Annotated[
    int, typer.Option("--per-document", metavar="N", min=0, help="As the query had it; 0 for no limit.")
]


def why_not(
    text: QueryArgument,
    wanted: Wanted,
    k: TopK = 10,
    mode: ModeOption = Mode.hybrid,
    weight: WeightOption = None,
    phrases: PhrasesOption = False,
    where: WhereOption = None,
    per_document: PerDocument = HITS_OF_A_DOCUMENT,
    index: IndexOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say why a document is not among the hits for TEXT.

    Its true rank, the cause, and the gap to the last hit, by query word.
    """
    from search.index import Index
    from search.render import why_not as draw

    opened = Index.open(index, offline=offline, engine=engine)
    what = passage_id(wanted)
    found = opened.why_not(
        text,
        wanted if what is None else what,
        k,
        per_document=per_document,
        where=where,
        **chosen(mode, weight, phrases),
    )
    if as_json:
        echo(draw.as_json(found))
    else:
        echo(draw.why_not(found, width=page_width(), colour=colour_on(color)))
    remarks(opened.notes, quiet)
