"""seewhy fill"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.commands import ManyWords
from search.cli.options import (
    Colour,
    ColourOption,
    JsonOption,
    OfflineOption,
    QuietOption,
)
from search.cli.shown import Shown

if TYPE_CHECKING:
    from search.render.bars import Chart

Text = Annotated[
    str,
    typer.Argument(
        metavar="TEXT", help="A text with [MASK] where a word is to be guessed.", show_default=False
    ),
]
HeadModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="A checkpoint that still has its head, bert-base-uncased for instance. Needed.",
        show_default=False,
    ),
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of words at each mask.")]
Among = Annotated[
    list[str] | None,
    typer.Option(
        "--among",
        metavar="WORD...",
        help="Also score these words, up to the next option. Give the text before.",
        show_default=False,
    ),
]
Hidden = Annotated[
    str | None,
    typer.Option(
        "--word",
        metavar="WORD",
        help="Hide this word of the text wherever it stands, and say how likely it is there.",
        show_default=False,
    ),
]


class ManyAmong(ManyWords):
    option = "--among"


def fill(
    text: Text,
    model: HeadModel = None,
    k: TopK = 5,
    among: Among = None,
    word: Hidden = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say which words BERT puts in the place of [MASK], and how likely each is.

    That is what BERT was pre-trained to do. Several masks are masked all at once, and each is guessed by itself.
    The default model of the other commands cannot do it, as sentence encoders have lost the head.
    """
    shown = Shown.asked(None, None, as_json, quiet, color)
    named = needed(model, "masked words")
    from search.bert import fill as fill_masks
    from search.render import bars

    found = fill_masks(text, model=named, k=k, among=among or [], word=word, offline=offline)
    show_bars(shown, bars.filled(found), found)


def needed(model: str | None, what: str) -> str:
    """The checkpoint that was named.

    Raises:
        typer.BadParameter: none was.
    """
    if model is None:
        raise typer.BadParameter(
            f"name a checkpoint with a head for {what}, such as bert-base-uncased; the default model has none.",
            param_hint="--model",
        )
    return model


def show_bars(shown: Shown, chart: Chart, found: object) -> None:
    """A chart, or its record where data is asked for."""
    from search.render import bars, json

    shown.result(text=lambda: bars.chart(chart, **shown.style), data=lambda: json.document(found))
