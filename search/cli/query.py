"""seewhy query, seewhy similar"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.hits import HitsOutput, about_age
from search.cli.options import (
    AnyIndexOptions,
    FreshIndexOptions,
    LayerOption,
    ModelOption,
    PoolingOption,
    QuestionOptions,
    WordsArgument,
    hits_option,
    layer_of,
    passage_id,
    passage_or_path,
    retyped,
    to_type,
)
from search.cli.output import echo, output_option
from search.errors import InputError, quoted
from search.records import options

if TYPE_CHECKING:
    from search.records.hits import Hit


# What `seewhy explain` is to be told, too.
RETYPED = (*options.RerankOptions.__annotations__, "also", "like", "unlike", "offline")


def query(
    context: typer.Context,
    words: WordsArgument,
    selection: options.HitsOptions,
    ranking: options.RerankOptions,
    filters: options.FilterOptions,
    parts: QuestionOptions,
    index: AnyIndexOptions,
    output: HitsOutput,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of the best hit why it has its score.")
    ] = False,
    matrices: Annotated[
        bool,
        output_option(
            "--matrices",
            help="With --json or --jsonl: each hit with its explanation: tokens, both matrices, every addend.",
        ),
    ] = False,
    layer: LayerOption = None,
    fail_if_nothing: Annotated[
        bool,
        hits_option(
            "--fail-if-nothing",
            help="Exit code 1 if no hit comes back, or nothing seems to answer TEXT; for the default ranking.",
        ),
    ] = False,
    no_server: Annotated[
        bool,
        hits_option(
            "--no-server",
            envvar="SEEWHY_NO_SERVER",
            help="Ask the index itself, though a server runs for it.",
        ),
    ] = False,
    model: ModelOption = None,
    pooling: PoolingOption = None,
) -> None:
    """Rank the passages of an index by how well they answer TEXT."""
    form = output.format()
    if explain and form != "text":
        raise typer.BadParameter(
            f"--explain is for text, not for {form}. In JSON --matrices explains every hit; one alone: "
            "seewhy explain TEXT 1 --json"
        )
    if matrices and form not in ("json", "jsonl"):
        raise typer.BadParameter(
            f"--matrices is for json and jsonl, not for {form}. One matrix as text: seewhy explain TEXT 1 --matrix"
        )
    if layer and not matrices:
        raise typer.BadParameter("--layer is for the matrices of --matrices: give both, or leave it out.")
    text = " ".join(words)
    question = parts.question(text)
    alone = not (explain or matrices or model or pooling or output.hit_to_open)
    opened: Any = None  # an index, several, or what a server found in one
    if (
        alone
        and question is text
        and not no_server
        and index.may_be_served
        and ranking["rerank"] in (None, "late")
    ):
        from search.cli.running import ask

        opened = ask(
            index.named, text, {**selection, **ranking, **filters}, output.marked, output.lines_needed
        )
    if opened is None:
        opened = index.open(model, pooling, output.quiet)
    hits = opened.query(question, **selection, **ranking, **filters, explain=matrices, layer=layer_of(layer))
    if fail_if_nothing and hits and hits[0].verdict is None:
        raise typer.BadParameter(
            "--fail-if-nothing goes by the verdict, which only the default ranking with the default model has."
        )
    around, marks = output.around(opened, hits), output.marks(opened, question, hits)
    why = opened.explain(question, hits[0]) if explain and hits else None
    if why and marks:
        marks[0] = why.strongest()
    output.print(
        hits, around, marks, no_hits=_why_none(ranking, filters, selection), grouped=selection["group"]
    )
    if why:
        from search.render.why import explanation

        echo("\n" + explanation(why, hits[0], **output.style))
    elif form == "text" and hits:
        output.note(f"\nWhy the first? {_explaining(context, text, hits[0], selection)}")
    output.remarks([*about_age(opened, hits), *opened.notes])
    output.open_in_editor(opened, hits, marks)
    if fail_if_nothing and not any(hit.verdict and hit.verdict.says != "nothing" for hit in hits):
        raise typer.Exit(1)


def _explaining(context: typer.Context, text: str, best: Hit, selection: options.HitsOptions) -> str:
    """The command that explains the best hit: by rank, or by passage where a rank means another hit there."""
    changed = options.changed(selection, options.SelectionOptions).keys() - {"min_score"}
    if not changed:
        names = (*RETYPED, "k", "where", "since", "index", "all_indexes")
        return to_type("explain", text, "1", options=retyped(context, *names))
    typed = retyped(context, *RETYPED, *(() if best.index else ("index",)))
    typed += f" --index {quoted(best.index)}" if best.index else ""
    return to_type("explain", text, f"p{best.passage_id}", options=typed)


def _why_none(
    ranking: options.RerankOptions, filters: options.FilterOptions, selection: options.HitsOptions
) -> str:
    """What to say where there is no hit."""
    passes = " that passes the filter" if any(filters.values()) else ""
    if selection["min_score"] is not None:
        return f"none{passes} scores {selection['min_score']:g} or more."
    if selection["offset"]:
        return f"there are no more than {selection['offset']}."
    if ranking["mode"] == "lexical" or ranking["weight"] == 0:
        return f"no passage{passes} has a word of the query."
    return "no passage passes the filter." if passes else ""


def similar(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="PATH|ID",
            help="A file, also with a record (table.csv#12) or a line (keys.md:31), or a passage (p812).",
        ),
    ],
    selection: options.HitsOptions,
    filters: options.FilterOptions,
    index: FreshIndexOptions,
    output: HitsOutput,
    same_document: Annotated[
        bool, hits_option("--same-document", help="Also other passages of the same document.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="HIT", help="Say instead why a rank (3) or passage (p812) is similar, word by word."
        ),
    ] = None,
) -> None:
    """List the passages that are most like a passage or a document."""
    from search.render.why import explanation

    form = output.format()
    if explain and form not in ("text", "json"):
        raise typer.BadParameter(f"--explain is for text and json, not for {form}: leave --format out.")
    if explain and output.lines:
        raise typer.BadParameter("--explain shows one hit alone: leave --context out.")
    opened = index.open(quiet=output.quiet)
    meant = passage_or_path(what)
    hits = opened.similar(meant, same_document=same_document, **filters, **selection)
    if explain:
        from search.render import json

        hit = _hit_of(explain, hits)
        why, known = opened.explain_similar(meant, hit), None if isinstance(hit, int) else hit
        echo(json.explanation(why, known) if form == "json" else explanation(why, known, **output.style))
    else:
        none = "nothing else is there to compare with, or nothing scores enough."
        marks = [()] * len(hits)
        output.print(hits, output.around(opened, hits), marks, no_hits=none, grouped=selection["group"])
    if form == "text" and hits and not explain:
        typed = f" --explain p{hits[0].passage_id}{retyped(context, 'index')}"
        output.note(f"\nWhy the first? {to_type('similar', what, options=typed)}")
    output.remarks([*about_age(opened, hits), *opened.notes])
    output.open_in_editor(opened, hits)


def _hit_of(typed: str, hits: Sequence[Hit]) -> Hit | int:
    """The hit of a rank, or a passage id.

    Raises:
        InputError: it is neither.
    """

    id_ = passage_id(typed)
    if id_ is not None:
        return id_
    for hit in hits:
        if str(hit.rank) == typed:
            return hit
    raise InputError(
        f"there is no hit '{typed}' among these. Give a rank of them, or a passage such as p812."
    )
