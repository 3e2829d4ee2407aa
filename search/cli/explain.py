"""seewhy explain"""

from __future__ import annotations

import re
from typing import Annotated

import typer

from search.cli.files import HtmlOption, PngOption
from search.cli.hits import QueryArgument, ranked
from search.cli.options import (
    Colour,
    ColourOption,
    EngineOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    QuietOption,
    echo,
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
from search.cli.shown import Shown

Which = Annotated[
    str, typer.Argument(metavar="HIT", help="A rank of that query (3), or a passage as it is listed (p812).")
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="As the query had it, whose rank is meant.")]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check", help="Cut out the words that count most and encode the rest: does the score fall?"
    ),
]
CutOption = Annotated[
    list[int] | None,
    typer.Option("--cut", metavar="N", min=1, help="Check with N words, not 1, 3 and 5; may be repeated."),
]


def explain(
    text: QueryArgument,
    which: Which = "1",
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
    png: PngOption = None,
    html: HtmlOption = None,
    check: CheckOption = False,
    cut: CutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say why a passage has its score for TEXT, addend by addend.

    With --png or --html it goes into that file and nothing is printed, unless --json or --check asks for it.
    """
    from search.errors import InputError
    from search.explaining.faithfulness import COUNTS
    from search.index import Index
    from search.render import faithfulness as checked
    from search.render import json, page, picture, why
    from search.render.units import units

    shown = Shown.asked(png, html, as_json, quiet, color)
    wanted = re.fullmatch(r"(p?)(\d+)", which.strip())
    if wanted is None or int(wanted[2]) < 1:
        raise InputError(
            f"'{which}' is no hit. Give a rank, such as 1, or a passage as it is listed, such as p812."
        )
    asked = question(text, also, like, unlike)
    if (check or cut) and not isinstance(asked, str):
        raise InputError("--check takes a query of one text. Leave out --and, --like and --unlike.")
    opened = Index.open(index, offline=offline, engine=engine)
    number = int(wanted[2])
    ranking = chosen(mode, weight, phrases, rerank)
    hit = (
        opened.hit(asked, number, **ranking)
        if wanted[1]
        else ranked(opened, asked, [number], k, where, **ranking)[number]
    )
    found = opened.explain(asked, hit)
    tested = opened.faithfulness(found, counts=cut or COUNTS) if check or cut else None
    shown.result(
        text=lambda: why.explanation(found, hit, **shown.style),
        data=lambda: checked.as_json(found, hit, tested) if tested else json.explanation(found, hit),
        png=lambda: picture.explanation(found, units(found), hit),
        html=lambda: page.explanation(found, units(found), hit),
    )
    if tested and not as_json:
        echo(("" if shown.files else "\n") + checked.faithfulness(tested, **shown.style))
    remarks(opened.notes, quiet)
