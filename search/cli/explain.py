"""seewhy explain, seewhy contrast, seewhy why-not, seewhy similarity"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import (
    EncoderOptions,
    IndexOptions,
    LayerOption,
    QueryArgument,
    layer_of,
    matrix_option,
    passage_or_path,
)
from search.cli.output import DrawnOutput, Output, lines_of
from search.errors import InputError
from search.records import options
from search.records.hits import Hit

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.index import Index
    from search.records.explanations import Explanation
    from search.render.heatmap import By


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


_WHICH = "A rank (3), a passage (p812), or a path, whose best passage is meant."


def explain(
    text: QueryArgument,
    chosen: options.HitOptions,
    index: IndexOptions,
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

    opened = index.open()
    hit = _hit_at(opened, text, which, chosen)
    if not isinstance(hit, Hit):
        hit = opened.hit(text, hit, **options.part_of(chosen, options.RerankOptions))
    explanation = opened.explain(text, hit, layer=layer_of(shown.layer))
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
    index: IndexOptions,
    output: Output,
) -> None:
    """Say why passage A is above passage B for TEXT.

    The gap of their scores is split by query word.
    """
    from search.render import why

    opened = index.open()
    first, second = (_hit_at(opened, text, which, chosen) for which in (a, b))
    compared = opened.contrast(text, first, second, **options.part_of(chosen, options.RankingOptions))
    output.show(compared, why.contrast)
    output.remarks(opened.notes)


def why_not(
    text: QueryArgument,
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A file (also keys.md:31 or table.csv#12), or a passage (p812).",
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


def _hit_at(opened: Index, text: str, which: str, chosen: options.HitOptions) -> Hit | int | str:
    """The hit at a rank of a query, asked for as `seewhy query` asks; else a passage ID or a path.

    Raises:
        InputError: there is no such rank.
    """
    if not which.isdecimal():
        return passage_or_path(which)
    chosen["k"] = max(chosen["k"], int(which))
    hits = opened.query(text, **chosen)
    if not 1 <= int(which) <= len(hits):
        raise InputError(f"there is no rank {which}: the query has {len(hits)} hits.")
    return hits[int(which) - 1]


def similarity(
    encoder: EncoderOptions,
    shown: MatrixOptions,
    output: DrawnOutput,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Sentences; - reads them from standard input, one a line."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare with the lines of this file, not with each other."),
    ] = None,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens", "--matrix", help="Compare two texts token by token; or --words, by words."
        ),
    ] = False,
) -> None:
    """Compare sentences, or two texts token by token.

    No index is needed. With --png or --html the matrix goes into that file, and nothing is printed but with --json.
    """
    rows = lines_of("-") if texts == ["-"] else list(texts or [])
    columns = lines_of(against) if against else None
    if not all(text.strip() for text in rows):
        raise InputError("a sentence is empty. Leave it out.")
    if tokens or shown.words or shown.layer:
        _show_pair([*rows, *(columns or [])], encoder, shown, output)
    elif not rows or (columns is None and len(rows) < 2):
        raise InputError("give at least two sentences, or - for one a line on standard input.")
    else:
        _show_sentences(rows, columns, encoder.load(), output)


def _show_sentences(
    rows: list[str], columns: list[str] | None, encoder: Encoder, output: DrawnOutput
) -> None:
    from search.render import heatmap, page, picture
    from search.texts import compare

    size = len(rows) * len(columns or rows)
    if output.html and size > page.MOST_CELLS:
        raise InputError(f"{size:,} cosines are too many for a page. Take --png or --json.")
    compared = compare(rows, columns, model=encoder)
    output.result(
        compared,
        heatmap.sentences,
        png=lambda: picture.sentences(compared),
        html=lambda: page.document(page.sentences(compared)),
    )
    output.remarks(encoder.notes)


def _show_pair(
    texts: list[str], encoder: EncoderOptions, shown: MatrixOptions, output: DrawnOutput
) -> None:
    from search.render import json
    from search.texts import explain

    by: By = "word" if shown.words else "token"
    if len(texts) != 2:
        raise InputError(f"a matrix of {by}s compares two texts, and there are {len(texts)}.")
    loaded = encoder.load()
    why = explain(*texts, layer=layer_of(shown.layer), model=loaded)
    shown.show(why, by, output, lambda: json.explanation(why))
    output.remarks(loaded.notes)
