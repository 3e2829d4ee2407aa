"""seewhy similarity, seewhy duplicates"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import EncoderOptions, IndexOption, WhereOption
from search.cli.output import DrawnOutput, Output, echo, lines_of
from search.errors import InputError, TextTooLong

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.render.why import By


def similarity(
    encoder: EncoderOptions,
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
    tokens: Annotated[bool, typer.Option("--tokens", help="Compare two texts token by token.")] = False,
    words: Annotated[
        bool, typer.Option("--words", help="As --tokens, with tokens merged into whole words.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")] = False,
) -> None:
    """Compare sentences, or two texts token by token.

    The sentences of one file can be compared with those of another.

    No index is needed. With --png or --html the matrix goes into that file and nothing is printed, unless --csv
    or --json asks for it.
    """
    if as_csv and output.as_json:
        raise typer.BadParameter("--csv and --json exclude each other")
    if tokens and words:
        raise typer.BadParameter("--tokens and --words exclude each other")
    if against == "-" == file or (file and texts) or (against == "-" and texts == ["-"]):
        raise typer.BadParameter("give the sentences once: as arguments, with --file, or on standard input")
    rows = lines_of(file or "-") if file or texts == ["-"] else _checked(texts or [])
    columns = lines_of(against) if against else None
    if tokens or words:
        first, second = _pair([*rows, *(columns or [])], "--tokens" if tokens else "--words")
        _show_pair(first, second, "token" if tokens else "word", encoder.load(), output, as_csv)
    else:
        _check_count(rows, columns)
        _show_sentences(rows, columns, encoder.load(), output, as_csv)


def _show_sentences(
    rows: Sequence[str], columns: Sequence[str] | None, encoder: Encoder, output: DrawnOutput, as_csv: bool
) -> None:
    from search.records.comparisons import Similarities
    from search.render import csv, heatmap, json, page, picture
    from search.texts import similarity as cosines

    size = len(rows) * len(columns or rows)
    if output.html and size > page.MOST_CELLS:
        raise InputError(
            f"{size:,} cosines are more than the {page.MOST_CELLS:,} that a page can hold. Take fewer sentences, "
            "or --png, --csv or --json."
        )
    try:
        matrix = cosines(rows, columns, model=encoder)
    except TextTooLong as error:
        raise InputError(
            f"a sentence has {error.n_tokens} tokens and the model reads {error.max_tokens}. Shorten it."
        ) from None
    others = tuple(rows if columns is None else columns)
    compared = Similarities(tuple(rows), others, matrix, columns is None, encoder.model, encoder.pooling)
    output.result(
        text=lambda: heatmap.sentences(compared, **output.style),
        data=lambda: csv.sentences(compared) if as_csv else json.document(compared),
        png=lambda: picture.sentences(compared),
        html=lambda: page.sentences(compared),
        as_data=as_csv,
    )


def _show_pair(first: str, second: str, by: By, encoder: Encoder, output: DrawnOutput, as_csv: bool) -> None:
    from search.render import csv, heatmap, json, page, picture
    from search.render.why import units
    from search.texts import explain

    why = explain(first, second, model=encoder)
    drawn = units(why, by)
    output.result(
        text=lambda: heatmap.pairs(why, drawn, **output.style),
        data=lambda: csv.pairs(drawn) if as_csv else json.explanation(why),
        png=lambda: picture.explanation(why, drawn),
        html=lambda: page.explanation(why, drawn),
        as_data=as_csv,
    )


def _checked(texts: Sequence[str]) -> list[str]:

    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise InputError(f"sentence {number} is empty. Leave it out.")
    return list(texts)


def _check_count(rows: Sequence[str], columns: Sequence[str] | None) -> None:

    if columns is None and len(rows) < 2:
        raise InputError(
            "two sentences at least are needed to compare. Give them as arguments, with --file, or one a line "
            "on standard input (-)."
        )
    if not rows or columns == []:
        raise InputError("there is nothing to compare: a sentence at least is needed on each side.")


def _pair(texts: Sequence[str], option: str) -> tuple[str, str]:

    if len(texts) != 2:
        raise InputError(f"{option} compares two texts, and there are {len(texts)}. Give two.")
    return texts[0], texts[1]


def duplicates(
    output: Output,
    threshold: Annotated[
        float,
        typer.Option("--threshold", "-t", metavar="T", help="Least cosine of a pair, above 0, at most 1."),
    ] = 0.95,
    where: WhereOption = None,
    index: IndexOption = None,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")] = False,
) -> None:
    """List passages that say the same, the largest cluster first.

    Every pair is compared, and pairs are joined to clusters.
    """
    from search.index import Index
    from search.render import hits as draw
    from search.render import json

    opened = Index.open(index)
    clusters = opened.duplicates(threshold, where=where)
    if as_jsonl and not output.as_json:
        echo(json.lines(clusters))
    else:
        output.show(
            text=lambda: draw.duplicates(clusters, threshold, **output.style),
            data=lambda: json.document(clusters),
        )
    output.remarks(opened.notes)
