"""seewhy explain, seewhy contrast, seewhy why-not, seewhy similarity"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import (
    EncoderChoice,
    IndexOptions,
    LayerOption,
    QueryArgument,
    layer_of,
    matrix_option,
    passage_or_path,
)
from search.cli.output import DrawnOutput, Output, lines_of
from search.errors import InputError
from search.records import option_tools, options
from search.records.hits import Hit

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.index import Index
    from search.records.explanations import Explanation
    from search.render.heatmap import By, Units


@dataclass(frozen=True)
class MatrixView:
    """Options of the matrices: the layer, whether rows and columns are words or tokens, or the table of all layers."""

    layer: LayerOption = None
    words: Annotated[bool, matrix_option("--words", help="Show whole words instead of tokens.")] = False
    layers: Annotated[
        bool,
        matrix_option(
            "--layers", help="Print the contributions of both texts, traced to each layer of the model."
        ),
    ] = False

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
        """Print an explanation's matrices, or draw them into the requested files.

        Args:
            data: returns the output for --json.
            text: returns the text to print; None prints the matrices.
        """
        from search.render import heatmap, page, picture
        from search.render.heatmap import units

        def png() -> bytes:
            return picture.layers(why, by, hit) if self.layers else picture.explanation(why, drawn(), hit)

        def drawn() -> Units:
            return units(why, by)

        def in_terminal(*args: Any, **style: Any) -> str:
            if self.layers:
                return heatmap.layers(*args, by=by, hit=hit, **style)
            return (text or partial(heatmap.matrices, drawn=drawn(), hit=hit))(*args, **style)

        output.result(
            why,
            in_terminal,
            data=data,
            png=png,
            html=lambda: page.document(page.explanation(why, drawn(), hit)),
        )


_HIT_HELP = "Hit: its rank (3), its passage ID (p812), or a path (the best passage there)."


def explain(
    text: QueryArgument,
    chosen: options.HitOptions,
    index: IndexOptions,
    view: MatrixView,
    output: DrawnOutput,
    typed: Annotated[str, typer.Argument(metavar="HIT", help=_HIT_HELP)] = "1",
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Print the similarity and contribution matrix, by token.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Print the score as a sum with its residual, and what belongs to no word."
        ),
    ] = False,
) -> None:
    """Explain the score of a passage for TEXT, word by word.

    --png and --html write the explanation to a file: by word, or with --matrix by token. Nothing is printed then,
    unless you add --json.
    """
    from search.render import json, why

    opened = index.open()
    hit = _hit_at(opened, text, typed, chosen)
    if not isinstance(hit, Hit):
        from search.index import searcher_of

        hit = searcher_of(opened).hit(
            text, hit, **option_tools.select_options(chosen, options.RerankOptions)
        )
    explanation = opened.explain(text, hit, layer=layer_of(view.layer))
    view.show(
        explanation,
        "token" if matrix and not view.words else "word",
        output,
        lambda: json.explanation(explanation, hit),
        text=None if matrix or view.words else partial(why.explanation, hit=hit, details=details),
        hit=hit,
    )
    output.remarks(opened.notes)


def contrast(
    text: QueryArgument,
    a: Annotated[str, typer.Argument(metavar="A", help=_HIT_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help="Second hit, as for A.")],
    chosen: options.HitOptions,
    index: IndexOptions,
    output: Output,
) -> None:
    """Explain why passage A ranks above passage B for TEXT.

    Shows how much each query word adds to the difference of the scores.
    """
    from search.render import why

    opened = index.open()
    first, second = (_hit_at(opened, text, typed, chosen) for typed in (a, b))
    compared = opened.contrast(
        text, first, second, **option_tools.select_options(chosen, options.RankingOptions)
    )
    output.show(compared, why.contrast)
    output.remarks(opened.notes)


def why_not(
    text: QueryArgument,
    document: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A path (keys.md, keys.md:31, table.csv#12) or a passage ID (p812).",
        ),
    ],
    chosen: options.RankOptions,
    count: options.CountOptions,
    index: IndexOptions,
    output: Output,
) -> None:
    """Explain why a document is not among the hits for TEXT.

    Shows its rank, the reason, and how much each query word adds to the gap to the last hit.
    """
    from search.render import why

    opened = index.open()
    standing = opened.why_not(text, passage_or_path(document), **count, **chosen)
    output.show(standing, why.why_not)
    output.remarks(opened.notes)


def _hit_at(opened: Index, text: str, typed: str, chosen: options.HitOptions) -> Hit | int | str:
    """Resolve the argument HIT: return the hit at rank 3 for "3", 812 for "p812", and a path unchanged.

    Raises:
        InputError: no hit has this rank.
    """
    if not re.fullmatch(r"\d{1,9}", typed):
        return passage_or_path(typed)
    chosen["k"] = max(chosen["k"], int(typed))
    hits = opened.query(text, **chosen)
    if not 1 <= int(typed) <= len(hits):
        raise InputError(f"there is no rank {typed}: the query has {len(hits)} hits. Choose from those.")
    return hits[int(typed) - 1]


def similarity(
    encoder: EncoderChoice,
    view: MatrixView,
    output: DrawnOutput,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT", help="Sentences, or - to read them from standard input, one per line."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare every TEXT with every line of this file."),
    ] = None,
    tokens: Annotated[
        bool,
        typer.Option("--tokens", "--matrix", help="Compare two texts by token, or with --words by word."),
    ] = False,
) -> None:
    """Compare sentences, or two texts token by token.

    Needs no index. --png and --html write the matrix to a file; nothing is printed then, unless you add --json.
    """
    rows = lines_of("-") if texts == ["-"] else list(texts or [])
    columns = lines_of(against) if against else None
    if not all(text.strip() for text in rows):
        raise InputError("one of the sentences is empty. Remove it.")
    if tokens or view.words or view.layer or view.layers:
        _show_pair([*rows, *(columns or [])], encoder, view, output)
    elif not rows or (columns is None and len(rows) < 2):
        raise InputError("give at least two sentences, or - to read them from standard input.")
    else:
        _show_sentences(rows, columns, encoder.load(), output)


def _show_sentences(
    rows: list[str], columns: list[str] | None, encoder: Encoder, output: DrawnOutput
) -> None:
    from search.render import heatmap, page, picture
    from search.texts import compare

    size = len(rows) * len(columns or rows)
    if output.html and size > page.MOST_CELLS:
        raise InputError(f"{size:,} cosines are too many for an HTML page. Use --png or --json.")
    compared = compare(rows, columns, model=encoder)
    output.result(
        compared,
        heatmap.sentences,
        png=lambda: picture.sentences(compared),
        html=lambda: page.document(page.sentences(compared)),
    )
    output.remarks(encoder.notes)


def _show_pair(texts: list[str], encoder: EncoderChoice, view: MatrixView, output: DrawnOutput) -> None:
    from search.render import json
    from search.texts import explain

    by: By = "word" if view.words else "token"
    if len(texts) != 2:
        raise InputError(
            f"--tokens, --words, --layer and --layers compare two texts, not {len(texts)}. Give two."
        )
    loaded = encoder.load()
    why = explain(*texts, model=loaded, layer=layer_of(view.layer))
    view.show(why, by, output, lambda: json.explanation(why))
    output.remarks(loaded.notes)
