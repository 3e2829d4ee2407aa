"""seewhy explain"""

from __future__ import annotations

import re
from typing import Annotated

import typer

from search.cli.files import HtmlOption, PngOption, check_pictures, check_writable, write_file
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

Text = Annotated[str, typer.Argument(metavar="TEXT", help="The query.", show_default=False)]
Which = Annotated[
    str, typer.Argument(metavar="HIT", help="A rank of that query (3), or a passage as it is listed (p812).")
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="As the query had it, whose rank is meant.")]


def explain(
    text: Text,
    which: Which = "1",
    k: TopK = 10,
    index: IndexOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    png: PngOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say why a passage has its score for TEXT, addend by addend.

    With --png or --html it goes into that file and nothing is printed, unless --json asks for it.
    """
    from search.errors import InputError
    from search.library import Index
    from search.render import json, page, picture, why
    from search.render.units import units

    check_writable(png, html)
    check_pictures(png)
    wanted = re.fullmatch(r"(p?)(\d+)", which.strip())
    if wanted is None or int(wanted[2]) < 1:
        raise InputError(
            f"'{which}' is no hit. Give a rank, such as 1, or a passage as it is listed, such as p812."
        )
    opened = Index.open(index, offline=offline, engine=engine)
    number = int(wanted[2])
    if wanted[1]:
        hit = opened.hit(text, number)
    else:
        hits = opened.query(text, k=max(number, k), per_document=HITS_OF_A_DOCUMENT)
        if len(hits) < number:
            raise InputError(f"there is no rank {number}: the index holds {len(hits)} passages.")
        hit = hits[number - 1]
    found = opened.explain(text, hit)
    if png:
        write_file(png, picture.explanation(found, units(found), hit))
        note(f"wrote {png}", quiet)
    if html:
        write_file(html, page.explanation(found, units(found), hit))
        note(f"wrote {html}", quiet)
    if as_json:
        echo(json.explanation(found, hit))
    elif not (png or html):
        echo(why.explanation(found, hit, width=page_width(), colour=colour_on(color)))
    for problem in opened.notes:
        note(f"note: {problem}", quiet)
