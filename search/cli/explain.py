"""seewhy explain, seewhy contrast, seewhy why-not, seewhy similarity"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.matrices import MatrixView
from search.cli.options import (
    EncoderChoice,
    IndexOptions,
    QueryArgument,
    layer_of,
    passage_or_path,
)
from search.cli.output import DrawnOutput, Output, lines_of
from search.errors import InputError
from search.records import option_tools, options
from search.records.hits import Hit

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.index import Index


_HIT_HELP = "Hit: its rank (3), its passage ID (p812), or a path (the best passage there)."


def explain(
    text: QueryArgument,
    chosen: options.HitOptions,
    index: IndexOptions,
    view: MatrixView,
    output: DrawnOutput,
    more: options.CounterfactualOptions,
    typed: Annotated[str, typer.Argument(metavar="HIT", help=_HIT_HELP)] = "1",
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Print the score as a sum with its residual, and what belongs to no word."
        ),
    ] = False,
) -> None:
    """Explain the score of a passage for TEXT, word by word.

    --png, --html and --csv write the explanation to files: by word, or with --matrix by token. Nothing is printed
    then, unless you add --json. Files that exist are replaced.
    """
    from search.render import json, why

    is_drawn = view.by_unit or view.layers or view.csv or output.files
    if not is_drawn and (view.no_special or view.scale):
        name = "--no-special" if view.no_special else "--scale"
        raise typer.BadParameter(
            f"{name} is about matrices: add --matrix, --words, --csv DIR or --png FILE"
        )
    if is_drawn and more["counterfactual"] and not output.as_json:
        raise typer.BadParameter("--counterfactual prints a line: drop the options of matrices and files")
    opened, k = index.open(), chosen["k"]
    hit = _hit_at(opened, text, typed, chosen)
    if not isinstance(hit, Hit):
        from search.index import searcher_of

        hit = searcher_of(opened).hit(
            text, hit, **option_tools.select_options(chosen, options.RerankOptions)
        )
    explanation = opened.explain(text, hit, layer=layer_of(view.layer))
    changes = None
    if more["counterfactual"]:
        changes = opened.counterfactual(
            text, hit, k, **option_tools.select_options(chosen, options.RankOptions)
        )
    added = {"counterfactual": changes} if changes else {}
    view.show(
        explanation,
        view.by_unit or "word",
        output,
        lambda: json.explanation(explanation, hit, **added),
        text=None
        if view.by_unit
        else partial(why.explanation, hit=hit, details=details, changes=changes),
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
    more: options.CounterfactualOptions,
) -> None:
    """Explain why a document is not among the hits for TEXT.

    Shows its rank, the reason, and how much each query word adds to the gap to the last hit.
    """
    from search.render import json, why

    opened, place = index.open(), passage_or_path(document)
    standing, changes = opened.why_not(text, place, **count, **chosen), None
    if more["counterfactual"] and standing.can_change:
        changes = opened.counterfactual(text, place, **count, **chosen)
    added = {"counterfactual": changes} if more["counterfactual"] else {}
    output.show(standing, partial(why.why_not, changes=changes), lambda: json.document(standing, **added))
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
) -> None:
    """Compare sentences, or with --tokens or --words two texts.

    Needs no index. --png, --html and --csv write the matrix to files; nothing is printed then, unless you add --json.
    Files that exist are replaced.
    """
    rows = lines_of("-") if texts == ["-"] else list(texts or [])
    columns = lines_of(against) if against else None
    if not all(text.strip() for text in rows):
        raise InputError("one of the sentences is empty. Remove it.")
    if view.by_unit or view.layer or view.layers:
        _show_pair([*rows, *(columns or [])], encoder, view, output)
    elif not rows or (columns is None and len(rows) < 2):
        raise InputError("give at least two sentences, or - to read them from standard input.")
    elif view.no_special:
        raise typer.BadParameter(
            "--no-special is about tokens: add --tokens or --words, and give two texts"
        )
    else:
        _show_sentences(rows, columns, encoder.load(), view, output)


def _show_sentences(
    rows: list[str],
    columns: list[str] | None,
    encoder: Encoder,
    view: MatrixView,
    output: DrawnOutput,
) -> None:
    from search.render import csv, heatmap, page, picture
    from search.texts import compare

    size = len(rows) * len(columns or rows)
    if output.html and size > page.MOST_CELLS:
        raise InputError(f"{size:,} cosines are too many for an HTML page. Use --png or --json.")
    compared = compare(rows, columns, model=encoder)
    if view.csv:
        view.write_tables(csv.sentences(compared))
        output.note(f"wrote {view.csv}")
    if not view.csv or output.files or output.as_json:
        output.result(
            compared,
            partial(heatmap.sentences, colours=view.scale),
            png=lambda: picture.sentences(compared, view.scale),
            html=lambda: page.document(page.sentences(compared)),
        )
    output.remarks(encoder.notes)


def _show_pair(texts: list[str], encoder: EncoderChoice, view: MatrixView, output: DrawnOutput) -> None:
    from search.render import json
    from search.texts import explain

    if len(texts) != 2:
        raise InputError(
            f"--tokens, --words, --layer and --layers compare two texts, not {len(texts)}. Give two."
        )
    loaded = encoder.load()
    why = explain(*texts, model=loaded, layer=layer_of(view.layer))
    view.show(why, view.by_unit or "token", output, lambda: json.explanation(why))
    output.remarks(loaded.notes)
