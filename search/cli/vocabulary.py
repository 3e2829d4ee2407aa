"""seewhy lab vocabulary: the entries of a model, by id and by likeness."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from search.cli.options import OfflineOption, checkpoint, top_k
from search.cli.output import Output


def vocabulary(
    output: Output,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text, to see what it becomes and reads as.")
    ] = None,
    ids: Annotated[
        str | None, typer.Option(metavar="ID,ID", help="The entries of these ids, and the text they make.")
    ] = None,
    token: Annotated[
        list[str] | None, typer.Option(help="The id of this entry: key, ##ing, [MASK]; may be repeated.")
    ] = None,
    near: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="The entries whose input embeddings are most like it."),
    ] = None,
    k: Annotated[int, top_k("Number of entries with --near.")] = 20,
    model: Annotated[
        str | None, checkpoint("Whose vocabulary, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Ask a model's vocabulary: texts, ids, entries, and entries that are like a word.

    Without a question: its size, and the kinds of its entries.
    """
    import search.bert as bert
    from search.encoding.models import DEFAULT_MODEL
    from search.render import inspection as draw

    which: dict[str, Any] = {"model": model or DEFAULT_MODEL, "offline": offline}
    given = {"TEXT": text, "--ids": ids, "--token": token, "--near": near}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} exclude each other")
    if near is not None:
        output.show(bert.neighbours(near, k=k, **which), draw.neighbours)
    elif text is not None:
        numbers = [one.id for one in bert.tokenize(text, **which).tokens]
        output.show(bert.decode(numbers, **which), draw.decoded)
    elif ids is not None or token:
        numbers = list(bert.ids_of(token, **which)) if token else _numbers(ids or "")
        output.show(bert.decode(numbers, **which), draw.decoded)
    else:
        output.show(bert.vocabulary(**which), draw.vocabulary)


def _numbers(typed: str) -> list[int]:
    """
    Raises:
        typer.BadParameter: one of them is no number.
    """
    try:
        return [int(number) for number in typed.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(f"'{typed}': give integers", param_hint="'--ids'") from None
