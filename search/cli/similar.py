"""seewhy similar"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from search.cli.options import (
    HITS_OF_A_DOCUMENT,
    Colour,
    ColourOption,
    EngineOption,
    IndexOption,
    JsonlOption,
    JsonOption,
    OfflineOption,
    QuietOption,
    colour_on,
    echo,
    note,
    page_width,
    remarks,
)
from search.cli.query import PerDocument, TopK
from search.cli.questions import what_of
from search.cli.ranking import WhereOption
from search.cli.shapes import (
    AroundOption,
    ContextOption,
    DiversityOption,
    Format,
    FormatOption,
    GroupOption,
    MinScoreOption,
    NullOption,
    OffsetOption,
    around,
    print_hits,
    shape,
)

What = Annotated[
    str,
    typer.Argument(
        metavar="PATH|ID",
        help="A file, also with a record (table.csv#12) or a line (keys.md:31), or a passage (p812).",
        show_default=False,
    ),
]
SameDocument = Annotated[
    bool, typer.Option("--same-document", help="Also other passages of the same document.")
]
Explain = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="HIT",
        help="Say instead why a rank (3) or passage (p812) is similar, word by word.",
        show_default=False,
    ),
]


def similar(
    what: What,
    k: TopK = 10,
    same_document: SameDocument = False,
    where: WhereOption = None,
    per_document: PerDocument = HITS_OF_A_DOCUMENT,
    group: GroupOption = False,
    offset: OffsetOption = 0,
    min_score: MinScoreOption = None,
    diversity: DiversityOption = 0.0,
    passages: AroundOption = 0,
    lines: ContextOption = 0,
    explain: Explain = None,
    index: IndexOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    form: FormatOption = None,
    null: NullOption = False,
    as_json: JsonOption = False,
    as_jsonl: JsonlOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """List the passages that are most like a passage or a document."""
    from search.errors import InputError
    from search.index import Index
    from search.render import hits as draw
    from search.render import json, why

    chosen = shape(form, as_json, as_jsonl, null, bool(passages or lines), False)
    if explain and chosen not in (Format.text, Format.json):
        raise typer.BadParameter(
            f"--explain is for text and json, not for {chosen.value}: leave --format out."
        )
    if explain and (passages or lines):
        raise typer.BadParameter("--explain shows one hit alone: leave --around and --context out.")
    opened = Index.open(index, offline=offline, engine=engine)
    meant = what_of(what)
    hits = opened.similar(
        meant,
        k,
        same_document=same_document,
        where=where,
        per_document=per_document,
        group=group,
        offset=offset,
        min_score=min_score,
        diversity=diversity,
    )
    width, colour = page_width(), colour_on(color)
    if explain:
        named = what_of(explain)
        hit = next((hit for hit in hits if str(hit.rank) == named), None) if isinstance(named, str) else None
        if hit is None and isinstance(named, str):
            raise InputError(
                f"there is no hit '{explain}' among these. Give a rank of them, or a passage such as p812."
            )
        found = opened.explain_similar(meant, hit if hit else int(named))
        echo(
            json.explanation(found, hit)
            if chosen is Format.json
            else why.explanation(found, hit, width=width, colour=colour)
        )
    elif chosen is Format.text:
        echo(
            draw.hits(
                hits,
                width=width,
                colour=colour,
                no_hits="nothing else is there to compare with, or nothing scores enough.",
                grouped=group,
                around=around(opened, hits, passages, lines),
            )
        )
        if hits:
            place = f" --index {shlex.quote(index)}" if index else ""
            note(
                f"\nWhy the first? seewhy similar {shlex.quote(what)} --explain p{hits[0].passage_id}{place}",
                quiet,
            )
    else:
        print_hits(hits, chosen, null, around(opened, hits, passages, lines))
    remarks(opened.notes, quiet)
