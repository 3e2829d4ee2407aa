"""seewhy similarity"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.files import HtmlOption, PngOption, lines_of
from search.cli.options import (
    Colour,
    ColourOption,
    EngineOption,
    JsonOption,
    OfflineOption,
    PoolingOption,
    QuietOption,
)
from search.cli.shown import Shown

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.render.units import By

Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT",
        help="Sentences; - reads them from standard input, one a line.",
        show_default=False,
    ),
]
File = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE", help="Sentences, one a line; - for standard input."),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against", metavar="FILE", help="Compare with the lines of this file, not with each other."
    ),
]
Tokens = Annotated[bool, typer.Option("--tokens", help="Compare two texts token by token.")]
Words = Annotated[bool, typer.Option("--words", help="As --tokens, with tokens merged into whole words.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME|FOLDER", help="The encoder, or NAME@REVISION. Default: all-MiniLM-L6-v2."
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")]


def similarity(
    texts: Texts = None,
    file: File = None,
    against: Against = None,
    tokens: Tokens = False,
    words: Words = False,
    model: Model = None,
    pooling: PoolingOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    png: PngOption = None,
    html: HtmlOption = None,
    as_csv: Csv = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Compare sentences, or two texts token by token.

    The sentences of one file can be compared with those of another.

    No index is needed. With --png or --html the matrix goes into that file and nothing is printed, unless --csv
    or --json asks for it.
    """
    if as_csv and as_json:
        raise typer.BadParameter("--csv and --json exclude each other")
    if tokens and words:
        raise typer.BadParameter("--tokens and --words exclude each other")
    if against == "-" == file or (file and texts) or (against == "-" and texts == ["-"]):
        raise typer.BadParameter("give the sentences once: as arguments, with --file, or on standard input")
    shown = Shown.asked(png, html, as_csv or as_json, quiet, color)
    rows = lines_of(file or "-") if file or texts == ["-"] else _checked(texts or [])
    columns = lines_of(against) if against else None
    by: By | None = "token" if tokens else "word" if words else None
    if by:
        pair = [*rows, *(columns or [])]
        _check_pair(pair, "--tokens" if tokens else "--words")
        _show_pair(shown, pair[0], pair[1], by, _encoder(model, pooling, offline, engine), as_csv)
    else:
        _check_count(rows, columns)
        _show_sentences(shown, rows, columns, _encoder(model, pooling, offline, engine), as_csv)


def _show_sentences(
    shown: Shown, rows: Sequence[str], columns: Sequence[str] | None, encoder: Encoder, as_csv: bool
) -> None:
    from search.errors import InputError, TextTooLong
    from search.records.comparisons import Similarities
    from search.render import csv, heatmap, json, page, picture
    from search.texts import similarity as cosines

    size = len(rows) * len(columns or rows)
    if shown.html and size > page.MOST_CELLS:
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
    found = Similarities(tuple(rows), others, matrix, columns is None, encoder.model, encoder.pooling)
    shown.result(
        text=lambda: heatmap.sentences(found, **shown.style),
        data=lambda: csv.sentences(found) if as_csv else json.document(found),
        png=lambda: picture.sentences(found),
        html=lambda: page.sentences(found),
    )


def _show_pair(shown: Shown, first: str, second: str, by: By, encoder: Encoder, as_csv: bool) -> None:
    from search.render import csv, heatmap, json, page, picture
    from search.render.units import units
    from search.texts import explain

    why = explain(first, second, model=encoder)
    drawn = units(why, by)
    shown.result(
        text=lambda: heatmap.pairs(why, drawn, **shown.style),
        data=lambda: csv.pairs(drawn) if as_csv else json.explanation(why),
        png=lambda: picture.explanation(why, drawn),
        html=lambda: page.explanation(why, drawn),
    )


def _encoder(model: str | None, pooling: str | None, offline: bool, engine: str) -> Encoder:
    from search.encoding import Encoder
    from search.encoding.models import DEFAULT_MODEL

    return Encoder(model or DEFAULT_MODEL, pooling=pooling, offline=offline, engine=engine)


def _checked(texts: Sequence[str]) -> list[str]:
    from search.errors import InputError

    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise InputError(f"sentence {number} is empty. Leave it out.")
    return list(texts)


def _check_count(rows: Sequence[str], columns: Sequence[str] | None) -> None:
    from search.errors import InputError

    if columns is None and len(rows) < 2:
        raise InputError(
            "two sentences at least are needed to compare. Give them as arguments, with --file, or one a line "
            "on standard input (-)."
        )
    if not rows or columns == []:
        raise InputError("there is nothing to compare: a sentence at least is needed on each side.")


def _check_pair(pair: Sequence[str], option: str) -> None:
    from search.errors import InputError

    if len(pair) != 2:
        raise InputError(f"{option} compares two texts, and there are {len(pair)}. Give two.")
