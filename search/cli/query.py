"""seewhy query"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from search.cli.clock import Clock
from search.cli.options import (
    HITS_OF_A_DOCUMENT,
    Colour,
    ColourOption,
    EngineOption,
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
    remarks,
)
from search.cli.questions import AndOption, LikeOption, UnlikeOption, as_typed, question
from search.cli.ranking import (
    Mode,
    ModeOption,
    PhrasesOption,
    RerankOption,
    WeightOption,
    WhereOption,
    chosen,
)
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

Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="What to look for, in your own words.", show_default=False)
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of hits.")]
PerDocument = Annotated[
    int,
    typer.Option(
        "--per-document",
        metavar="N",
        min=0,
        help="At most N hits of one document, if there are others; 0 for no limit.",
    ),
]
Timing = Annotated[bool, typer.Option("--timing", help="Say on stderr where the time went.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say of the best hit why it has its score.")]


def query(
    text: Text,
    also: AndOption = None,
    like: LikeOption = None,
    unlike: UnlikeOption = None,
    k: TopK = 10,
    mode: ModeOption = Mode.hybrid,
    weight: WeightOption = None,
    phrases: PhrasesOption = False,
    where: WhereOption = None,
    rerank: RerankOption = None,
    per_document: PerDocument = HITS_OF_A_DOCUMENT,
    group: GroupOption = False,
    offset: OffsetOption = 0,
    min_score: MinScoreOption = None,
    diversity: DiversityOption = 0.0,
    passages: AroundOption = 0,
    lines: ContextOption = 0,
    index: IndexOption = None,
    explain: Explain = False,
    timing: Timing = False,
    model: ModelOption = None,
    pooling: PoolingOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    form: FormatOption = None,
    null: NullOption = False,
    as_json: JsonOption = False,
    as_jsonl: JsonlOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Rank the passages of an index by how well they answer TEXT."""
    clock = Clock()
    from search.index import Index
    from search.render import hits as draw
    from search.render import why

    shown = shape(form, as_json, as_jsonl, null, bool(passages or lines), explain)
    clock.lap("import the library")
    asked = question(text, also, like, unlike)
    ranking = chosen(mode, weight, phrases, rerank)
    opened = Index.open(index, model=model, pooling=pooling, offline=offline, engine=engine)
    clock.lap("open the index")
    if timing:
        clock.lap("find the model", opened.encoder)
        clock.lap("load its tokenizer", opened.encoder.tokenizer)
        clock.lap(f"load it ({opened.encoder.engine.name})", opened.encoder.engine)
        opened.query("a", k=1, **(ranking | {"rerank": None}))
        clock.lap("load FAISS and the vectors, first query")
    hits = opened.query(
        asked,
        k=k,
        where=where,
        per_document=per_document,
        group=group,
        offset=offset,
        min_score=min_score,
        diversity=diversity,
        **ranking,
    )
    beside = around(opened, hits, passages, lines)
    clock.lap(f"encode the query, search, {'rerank, ' if rerank else ''}fetch")
    if shown is not Format.text:
        print_hits(hits, shown, null, beside)
    else:
        width, colour = page_width(), colour_on(color)
        why_none = ""
        words_only = mode is Mode.lexical or weight == 0
        if words_only:
            why_none = f"no passage{' that passes the filter' if where else ''} has a word of the query."
        if min_score is not None:
            why_none = f"none{' that passes the filter' if where else ''} scores {min_score:g} or more."
        elif offset:
            why_none = f"there are no more than {offset}."
        elif where and not words_only:
            why_none = "no passage passes the filter."
        echo(draw.hits(hits, width=width, colour=colour, no_hits=why_none, grouped=group, around=beside))
        if explain and hits:
            echo("\n" + why.explanation(opened.explain(asked, hits[0]), hits[0], width=width, colour=colour))
        elif hits:
            # A rank means the plain list to other commands; a passage is the same in all of them.
            moved = bool(group or offset or diversity) or per_document != HITS_OF_A_DOCUMENT
            which = f"p{hits[0].passage_id}" if moved else "1"
            place = f" --index {shlex.quote(index)}" if index else ""
            place += "".join(
                f" {option}"
                for option, given in (
                    (f"-k {k}", k != 10 and not moved),
                    (f"--mode {mode.value}", mode is not Mode.hybrid),
                    (f"--weight {weight}", weight is not None),
                    ("--phrases", phrases),
                    (f"--rerank {shlex.quote(rerank or '')}", rerank is not None),
                    (f"--where {shlex.quote(where or '')}", where is not None and not moved),
                    ("--offline", offline),
                )
                if given
            )
            place += as_typed(also, like, unlike)
            note(f"\nWhy the first? seewhy explain {shlex.quote(text)} {which}{place}", quiet)
    remarks(opened.notes, quiet)
    if timing:
        clock.lap("print")
        note("\n" + clock.report())
