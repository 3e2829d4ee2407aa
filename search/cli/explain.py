"""seewhy explain, seewhy contrast, seewhy why-not"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.matrices import MatrixOptions
from search.cli.options import (
    AnyIndexOptions,
    IndexOptions,
    QueryArgument,
    QuestionOptions,
    index_of,
    layer_of,
    passage_or_path,
)
from search.cli.output import DrawnOutput, Output, echo, progress_bar
from search.errors import InputError
from search.records import options

if TYPE_CHECKING:
    from search.index import Index
    from search.ranking.question import Question
    from search.records.hits import Hit
    from search.several import Indexes

_WHICH = "A rank of that query (3), a passage as it is listed (p812), or a path, whose best passage is meant."


def explain(
    text: QueryArgument,
    chosen: options.HitOptions,
    parts: QuestionOptions,
    index: AnyIndexOptions,
    shown: MatrixOptions,
    output: DrawnOutput,
    which: Annotated[str, typer.Argument(metavar="HIT", help=_WHICH)] = "1",
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Cut out the words that count most and encode the rest: does the score fall?"
        ),
    ] = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Print the cosines of the two, token by token.")
    ] = False,
) -> None:
    """Say why a passage has its score for TEXT, addend by addend.

    With --matrix token by token, as a table of cosines.

    With --png or --html it goes into that file, by words or with --matrix by tokens, and nothing is printed, unless
    --json, --csv or --check asks for it.
    """
    from search.render import json, why

    as_matrix = matrix or shown.as_csv
    shown.require(output, as_matrix or output.files, "Give --matrix, --csv, --png or --html, too.")
    if shown.scale and not (as_matrix or output.files):
        raise typer.BadParameter(
            "--scale is for cosines in a matrix. Give --matrix, --csv, --png or --html, too."
        )
    if check and shown.as_csv:
        raise typer.BadParameter("--check has no CSV. Leave --csv out, or ask with --json.")
    question = parts.question(text)
    if check and not isinstance(question, str):
        raise InputError("--check takes a query of one text. Leave out --and, --like and --unlike.")
    opened = index.open(quiet=output.quiet)
    if which.isdecimal():
        hit = _ranked(opened, question, [int(which)], chosen)[int(which)]
        of_hit = index_of(opened, hit)
    else:
        of_hit = _only(opened, which)
        hit = of_hit.hit(question, passage_or_path(which), **options.part_of(chosen, options.RerankOptions))
    with progress_bar(output.quiet) as progress:
        explanation = of_hit.explain(question, hit, layer=layer_of(shown.layer), progress=progress)
    tested = of_hit.faithfulness(explanation) if check else None
    shown.show(
        explanation,
        "token" if as_matrix and not shown.words else "word",
        output,
        lambda: json.explanation(explanation, hit, **({"faithfulness": tested} if tested else {})),
        text=None if as_matrix else partial(why.explanation, hit=hit),
        hit=hit,
    )
    if tested and not output.as_json:
        echo(("" if output.files else "\n") + why.faithfulness(tested, **output.style))
    output.remarks(opened.notes)


def contrast(
    text: QueryArgument,
    a: Annotated[str, typer.Argument(metavar="A", help=_WHICH)],
    b: Annotated[str, typer.Argument(metavar="B", help="Likewise.")],
    chosen: options.HitOptions,
    parts: QuestionOptions,
    index: IndexOptions,
    output: Output,
) -> None:
    """Say why passage A is above passage B for TEXT.

    The gap of their scores is split by query word.
    """
    from search.render import why

    question = parts.question(text)
    opened = index.open()
    ranks = [int(which) for which in (a, b) if which.isdecimal()]
    hits = _ranked(opened, question, ranks, chosen)
    first, second = (hits[int(which)] if which.isdecimal() else passage_or_path(which) for which in (a, b))
    compared = opened.contrast(question, first, second, **options.part_of(chosen, options.RankingOptions))
    output.show(compared, why.contrast)
    output.remarks(opened.notes)


def why_not(
    text: QueryArgument,
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A file, also with a record (table.csv#12) or a line (keys.md:31), or a passage (p812).",
        ),
    ],
    chosen: options.RankOptions,
    count: options.CountOptions,
    index: IndexOptions,
    output: Output,
) -> None:
    """Say why a document is not among the hits for TEXT.

    Its true rank, the cause, and the gap to the last hit, by query word.
    """
    from search.render import why

    opened = index.open()
    standing = opened.why_not(text, passage_or_path(wanted), **count, **chosen)
    output.show(standing, why.why_not)
    output.remarks(opened.notes)


def _only(opened: Index | Indexes, passage: str) -> Index:
    """The index that a passage id is of.

    Raises:
        typer.BadParameter: several were named, each of which may have that passage.
    """
    from search.index import Index

    if isinstance(opened, Index):
        return opened
    raise typer.BadParameter(f"{passage} may be of each of these indexes. Name one, or give a rank.")


def _ranked(
    opened: Index | Indexes,
    question: str | Question,
    ranks: Sequence[int],
    chosen: options.HitOptions,
) -> dict[int, Hit]:
    """The hits at some ranks of a query, asked for as `seewhy query` asks.

    Args:
        chosen: as the query had them, on which ranks can depend.

    Raises:
        InputError: there is no such rank.
    """

    if not ranks:
        return {}
    if min(ranks) < 1:
        raise InputError(f"there is no rank {min(ranks)}; the best hit is 1.")
    chosen["k"] = max(chosen["k"], *ranks)
    hits = opened.query(question, **chosen)
    if max(ranks) > len(hits):
        raise InputError(f"there is no rank {max(ranks)}: the query has {len(hits)} hits.")
    return {rank: hits[rank - 1] for rank in ranks}
