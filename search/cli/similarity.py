"""seewhy similarity, seewhy duplicates"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.matrices import MatrixOptions
from search.cli.options import EncoderOptions, IndexOption, WhereOption, layer_of
from search.cli.output import DrawnOutput, Output, echo, lines_of, progress_bar
from search.errors import InputError

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.render.heatmap import By


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

    No index is needed. With --png or --html the matrix goes into that file and nothing is printed, unless --csv
    or --json asks for it.
    """
    of_pair = tokens or shown.words
    shown.require(output, of_pair, "Give two texts and --tokens.")
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
        _show_sentences(rows, columns, encoder.load(), shown, output)


def _show_sentences(
    rows: list[str], columns: list[str] | None, encoder: Encoder, shown: MatrixOptions, output: DrawnOutput
) -> None:
    from search.render import heatmap, page, picture
    from search.texts import compare

    size = len(rows) * len(columns or rows)
    if output.html and size > page.MOST_CELLS:
        raise InputError(
            f"{size:,} cosines are more than the {page.MOST_CELLS:,} that a page can hold. Take fewer sentences, "
            "or --png, --csv or --json."
        )
    compared, ends = compare(rows, columns, model=encoder), shown.ends()
    output.result(
        compared,
        partial(heatmap.sentences, ends=ends),
        png=lambda: picture.sentences(compared, ends),
        html=lambda: page.document(page.sentences(compared, ends)),
        csv=(lambda: heatmap.sentences_csv(compared)) if shown.as_csv else None,
    )
    output.remarks(encoder.notes)


def _show_pair(texts: list[str], encoder: EncoderOptions, shown: MatrixOptions, output: DrawnOutput) -> None:
    from search.render import json
    from search.texts import explain

    by: By = "word" if shown.words else "token"
    if len(texts) != 2:
        raise InputError(f"--{by}s compares two texts, and there are {len(texts)}. Give two.")
    loaded = encoder.load()
    with progress_bar(output.quiet) as progress:
        why = explain(*texts, layer=layer_of(shown.layer), model=loaded, progress=progress)
    shown.show(why, by, output, lambda: json.explanation(why), both=True)
    output.remarks(loaded.notes)


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
        output.show(clusters, partial(draw.duplicates, threshold=threshold))
    output.remarks(opened.notes)
