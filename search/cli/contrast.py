"""seewhy contrast"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

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
    note,
    page_width,
)

if TYPE_CHECKING:
    from search.library import Index
    from search.records import Hit

_WHICH = "A rank of that query (3), a passage as it is listed (p812), or a path, whose best passage is meant."
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The query.", show_default=False)]
First = Annotated[str, typer.Argument(metavar="A", help=_WHICH, show_default=False)]
Second = Annotated[str, typer.Argument(metavar="B", help="Likewise.", show_default=False)]
TopK = Annotated[
    int, typer.Option("--top-k", "-k", min=1, help="As the query had it, whose ranks are meant.")
]


def contrast(
    text: Text,
    a: First,
    b: Second,
    k: TopK = 10,
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
    from search.library import Index
    from search.render import contrast as draw

    opened = Index.open(index, offline=offline, engine=engine)
    hits = _ranked(opened, text, [a, b], k)
    found = opened.contrast(text, *(hits.get(which) or _named(which) for which in (a, b)))
    if as_json:
        echo(draw.as_json(found))
    else:
        echo(draw.contrast(found, width=page_width(), colour=colour_on(color)))
    for problem in opened.notes:
        note(f"note: {problem}", quiet)


def _ranked(index: Index, text: str, which: list[str], k: int) -> dict[str, Hit]:
    """The hits that are named by a rank, asked for as `seewhy query` asks."""
    from search.errors import InputError

    ranks = {name: int(name) for name in which if name.isdecimal()}
    if not ranks:
        return {}
    if 0 in ranks.values():
        raise InputError("there is no rank 0; the best hit is 1.")
    hits = index.query(text, k=max(k, *ranks.values()), per_document=HITS_OF_A_DOCUMENT)
    if max(ranks.values()) > len(hits):
        raise InputError(f"there is no rank {max(ranks.values())}: the index holds {len(hits)} passages.")
    return {name: hits[rank - 1] for name, rank in ranks.items()}


def _named(which: str) -> int | str:
    """A passage id, or a path."""
    passage = re.fullmatch(r"p(\d+)", which.strip())
    return int(passage[1]) if passage else which
