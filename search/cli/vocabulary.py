"""seewhy lab vocabulary: what a model's entries are, by number, by spelling, by likeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from search.cli.options import OfflineOption, checkpoint, top_k
from search.cli.output import Output


@dataclass(frozen=True)
class AskedOptions:
    """What of the vocabulary is asked for."""

    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--ids",
            metavar="ID",
            help="The entry of this number; also 101,102, or repeated: the text they make.",
        ),
    ] = None
    tokens: Annotated[
        list[str] | None,
        typer.Option(
            "--tokens", metavar="TOKEN", help="The number of this entry, as ##ing or [MASK]; may be repeated."
        ),
    ] = None
    near: Annotated[
        str | None,
        typer.Option("--near", metavar="WORD", help="The entries whose input embeddings are most like it."),
    ] = None
    begins: Annotated[
        str | None, typer.Option("--begins", metavar="TEXT", help="Entries that begin with this.")
    ] = None
    contains: Annotated[
        str | None, typer.Option("--contains", metavar="TEXT", help="Entries that have this anywhere.")
    ] = None


def vocabulary(
    asked: AskedOptions,
    output: Output,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text, to see what it becomes and reads as.")
    ] = None,
    k: Annotated[int, top_k("Number of entries.")] = 20,
    model: Annotated[
        str | None, checkpoint("Whose vocabulary, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Ask a model's vocabulary: by number, by spelling, by likeness.

    Nothing said: how many entries there are, and of what kinds.
    """
    import search.bert as bert
    from search.encoding.models import DEFAULT_MODEL
    from search.render import vocabulary as draw

    which: dict[str, Any] = {"model": model or DEFAULT_MODEL, "offline": offline}
    spelled = asked.begins is not None or asked.contains is not None
    given = {"TEXT": text, "--ids": asked.ids, "--tokens": asked.tokens, "--near": asked.near}
    named = [name for name, value in given.items() if value is not None]
    named += ["--begins" if asked.begins is not None else "--contains"] if spelled else []
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} exclude each other")
    if asked.near is not None:
        output.show(bert.neighbours(asked.near, k=k, **which), draw.neighbours)
    elif spelled:
        found = bert.find_entries(begins=asked.begins or "", contains=asked.contains or "", **which)
        said = {"begin with": asked.begins, "contain": asked.contains}
        what = " and ".join(f"{verb} '{part}'" for verb, part in said.items() if part)
        output.show(found, partial(draw.entries, most=k, what=f"that {what}"))
    elif named:
        if text is not None:
            ids: Sequence[int] = [token.id for token in bert.tokenize(text, **which).tokens]
        else:
            ids = _numbers(asked.ids or ()) or bert.ids_of(asked.tokens or (), **which)
        output.show(bert.decode(ids, **which), draw.decoded)
    else:
        output.show(bert.vocabulary(**which), draw.vocabulary)


def _numbers(typed: Sequence[str]) -> list[int]:
    """Numbers one by one, or with commas between them: 101,102.

    Raises:
        typer.BadParameter: one is none.
    """
    try:
        return [int(number) for one in typed for number in one.split(",") if number]
    except ValueError:
        raise typer.BadParameter(f"'{' '.join(typed)}': give integers", param_hint="'--ids'") from None
