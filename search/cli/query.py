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
from search.cli.ranking import (
    Mode,
    ModeOption,
    PhrasesOption,
    RerankOption,
    WeightOption,
    WhereOption,
    chosen,
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
    k: TopK = 10,
    mode: ModeOption = Mode.hybrid,
    weight: WeightOption = None,
    phrases: PhrasesOption = False,
    where: WhereOption = None,
    rerank: RerankOption = None,
    per_document: PerDocument = HITS_OF_A_DOCUMENT,
    index: IndexOption = None,
    explain: Explain = False,
    timing: Timing = False,
    model: ModelOption = None,
    pooling: PoolingOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
    as_jsonl: JsonlOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Rank the passages of an index by how well they answer TEXT."""
    clock = Clock()
    from search.library import Index
    from search.render import hits as draw
    from search.render import json, why

    clock.lap("import the library")
    ranking = chosen(mode, weight, phrases, rerank)
    opened = Index.open(index, model=model, pooling=pooling, offline=offline, engine=engine)
    clock.lap("open the index")
    if timing:
        clock.lap("find the model", opened.encoder)
        clock.lap("load its tokenizer", opened.encoder.tokenizer)
        clock.lap(f"load it ({opened.encoder.engine.name})", opened.encoder.engine)
        opened.query("a", k=1, **ranking)
        clock.lap("load FAISS and the vectors, first query")
    hits = opened.query(text, k=k, per_document=per_document, where=where, **ranking)
    clock.lap("encode the query, search, fetch")
    if as_json:
        echo(json.document(hits))
    elif as_jsonl:
        echo(json.lines(hits))
    else:
        width, colour = page_width(), colour_on(color)
        why_none = ""
        if mode is Mode.lexical:
            why_none = f"no passage{' that passes the filter' if where else ''} has a word of the query."
        elif where:
            why_none = "no passage passes the filter."
        echo(draw.hits(hits, width=width, colour=colour, no_hits=why_none))
        if explain and hits:
            echo("\n" + why.explanation(opened.explain(text, hits[0]), hits[0], width=width, colour=colour))
        elif hits:
            place = f" --index {shlex.quote(index)}" if index else ""
            place += "".join(
                f" {option}"
                for option, given in (
                    (f"-k {k}", k != 10),
                    (f"--mode {mode.value}", mode is not Mode.hybrid),
                    (f"--weight {weight}", weight is not None),
                    ("--phrases", phrases),
                    (f"--rerank {shlex.quote(rerank or '')}", rerank is not None),
                    (f"--where {shlex.quote(where or '')}", where is not None),
                    ("--offline", offline),
                )
                if given
            )
            note(f"\nWhy the first? seewhy explain {shlex.quote(text)} 1{place}", quiet)
    remarks(opened.notes, quiet)
    if timing:
        clock.lap("print")
        note("\n" + clock.report())
