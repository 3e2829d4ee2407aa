"""seewhy explain, seewhy contrast, seewhy why-not, seewhy similarity"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import (
    AnyIndexOptions,
    EncoderOptions,
    IndexOptions,
    LayerOption,
    QueryArgument,
    QuestionOptions,
    index_of,
    layer_of,
    matrix_option,
    passage_or_path,
)
from search.cli.output import DrawnOutput, Output, lines_of
from search.errors import InputError
from search.records import options

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.index import Index
    from search.ranking.question import Question
    from search.records.explanations import Explanation
    from search.records.hits import Hit
    from search.render.heatmap import By
    from search.several import Indexes


@dataclass(frozen=True)
class MatrixOptions:
    """How a matrix is shown."""

    layer: LayerOption = None
    words: Annotated[bool, matrix_option("--words", help="By whole words, WordPieces merged.")] = False

    def show(
        self,
        why: Explanation,
        by: By,
        output: DrawnOutput,
        data: Callable[[], str],
        *,
        text: Callable[..., str] | None = None,
        hit: Hit | None = None,
    ) -> None:
        """Print an explanation's matrices, or draw them into the files that were asked for.

        Args:
            data: as JSON.
            text: what is printed in place of the matrices.
        """
        from search.render import heatmap, page, picture
        from search.render.heatmap import units

        drawn = units(why, by)
        output.result(
            why,
            text or partial(heatmap.matrices, drawn=drawn, hit=hit),
            data=data,
            png=lambda: picture.explanation(why, drawn, hit),
            html=lambda: page.document(page.explanation(why, drawn, hit)),
        )


_WHICH = "A rank of that query (3), a passage as it is listed (p812), or a path, whose best passage is meant."


def explain(
    text: QueryArgument,
    chosen: options.HitOptions,
    parts: QuestionOptions,
    index: AnyIndexOptions,
    shown: MatrixOptions,
    output: DrawnOutput,
    which: Annotated[str, typer.Argument(metavar="HIT", help=_WHICH)] = "1",
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Print both matrices, token by token; or --words, by words.")
    ] = False,
) -> None:
    """Say why a passage has its score for TEXT, addend by addend.

    With --png or --html it goes into that file, by words or with --matrix by tokens, and nothing is printed, unless
    --json asks for it.
    """
    from search.render import json, why

    question = parts.question(text)
    opened = index.open(quiet=output.quiet)
    if which.isdecimal():
        hit = _ranked(opened, question, [int(which)], chosen)[int(which)]
        of_hit = index_of(opened, hit)
    else:
        of_hit = _only(opened, which)
        hit = of_hit.hit(question, passage_or_path(which), **options.part_of(chosen, options.RerankOptions))
    explanation = of_hit.explain(question, hit, layer=layer_of(shown.layer))
    shown.show(
        explanation,
        "token" if matrix and not shown.words else "word",
        output,
        lambda: json.explanation(explanation, hit),
        text=None if matrix or shown.words else partial(why.explanation, hit=hit),
        hit=hit,
    )
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


def similarity(
    encoder: EncoderOptions,
    shown: MatrixOptions,
    output: DrawnOutput,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Sentences; - reads them from standard input, one a line."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="Sentences, one a line; - for standard input."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare with the lines of this file, not with each other."),
    ] = None,
    tokens: Annotated[
        bool,
        typer.Option("--tokens", "--matrix", help="Compare two texts token by token; or --words, by words."),
    ] = False,
) -> None:
    """Compare sentences, or two texts token by token.

    The sentences of one file can be compared with those of another.

    No index is needed. With --png or --html the matrix goes into that file and nothing is printed, unless --json
    asks for it.
    """
    of_pair = tokens or shown.words
    if shown.layer and not of_pair:
        raise typer.BadParameter("--layer compares the tokens of two texts: give --tokens")
    if against == "-" == file or (file and texts) or (against == "-" and texts == ["-"]):
        raise typer.BadParameter("give the sentences once: as arguments, with --file, or on standard input")
    rows = lines_of(file or "-") if file or texts == ["-"] else list(texts or [])
    columns = lines_of(against) if against else None
    if not all(text.strip() for text in rows):
        raise InputError("a sentence is empty. Leave it out.")
    if of_pair:
        _show_pair([*rows, *(columns or [])], encoder, shown, output)
    elif not rows or (columns is None and len(rows) < 2):
        raise InputError(
            "give at least two sentences: as arguments, with --file, or one a line on standard input (-)."
        )
    else:
        _show_sentences(rows, columns, encoder.load(), output)


def _show_sentences(
    rows: list[str], columns: list[str] | None, encoder: Encoder, output: DrawnOutput
) -> None:
    from search.render import heatmap, page, picture
    from search.texts import compare

    size = len(rows) * len(columns or rows)
    if output.html and size > page.MOST_CELLS:
        raise InputError(
            f"{size:,} cosines: a page holds {page.MOST_CELLS:,}. Take fewer sentences, --png or --json."
        )
    compared = compare(rows, columns, model=encoder)
    output.result(
        compared,
        heatmap.sentences,
        png=lambda: picture.sentences(compared),
        html=lambda: page.document(page.sentences(compared)),
    )
    output.remarks(encoder.notes)


def _show_pair(texts: list[str], encoder: EncoderOptions, shown: MatrixOptions, output: DrawnOutput) -> None:
    from search.render import json
    from search.texts import explain

    by: By = "word" if shown.words else "token"
    if len(texts) != 2:
        raise InputError(f"--{by}s compares two texts, and there are {len(texts)}. Give two.")
    loaded = encoder.load()
    why = explain(*texts, layer=layer_of(shown.layer), model=loaded)
    shown.show(why, by, output, lambda: json.explanation(why))
    output.remarks(loaded.notes)
