"""seewhy contrast"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.hits import QueryArgument, passage_id, ranked
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
    remarks,
)
from search.cli.questions import AndOption, LikeOption, UnlikeOption, question
from search.cli.ranking import (
    Mode,
    ModeOption,
    PhrasesOption,
    RerankOption,
    WeightOption,
    WhereOption,
    chosen,
)

if TYPE_CHECKING:
    from search.records.hits import Hit

_WHICH = "A rank of that query (3), a passage as it is listed (p812), or a path, whose best passage is meant."
First = Annotated[str, typer.Argument(metavar="A", help=_WHICH, show_default=False)]
Second = Annotated[str, typer.Argument(metavar="B", help="Likewise.", show_default=False)]
TopK = Annotated[
    int, typer.Option("--top-k", "-k", min=1, help="As the query had it, whose ranks are meant.")
]


def contrast(
    text: QueryArgument,
    a: First,
    b: Second,
    also: AndOption = None,
    like: LikeOption = None,
    unlike: UnlikeOption = None,
    k: TopK = 10,
    mode: ModeOption = Mode.hybrid,
    weight: WeightOption = None,
    phrases: PhrasesOption = False,
    where: WhereOption = None,
    rerank: RerankOption = None,
    index: IndexOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say why passage A is above passage B for TEXT.

    The gap of their scores is split by query word.
    """
    from search.index import Index
    from search.render import contrast as draw

    asked = question(text, also, like, unlike)
    opened = Index.open(index, offline=offline, engine=engine)
    ranking = chosen(mode, weight, phrases, rerank)
    hits = ranked(opened, asked, [int(which) for which in (a, b) if which.isdecimal()], k, where, **ranking)
    found = opened.contrast(
        asked, *(_meant(which, hits) for which in (a, b)), **chosen(mode, weight, phrases)
    )
    if as_json:
        echo(draw.as_json(found))
    else:
        echo(draw.contrast(found, width=page_width(), colour=colour_on(color)))
    remarks(opened.notes, quiet)


def _meant(which: str, hits: dict[int, Hit]) -> Hit | int | str:
    """The hit of a rank, a passage id, or a path."""
    if which.isdecimal():
        return hits[int(which)]
    id_ = passage_id(which)
    return which if id_ is None else id_
