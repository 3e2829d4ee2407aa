"""seewhy next"""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.fill import HeadModel, needed, show_bars
from search.cli.options import Colour, ColourOption, JsonOption, OfflineOption, QuietOption
from search.cli.shown import Shown

Texts = Annotated[
    list[str],
    typer.Argument(metavar="TEXT", help="Two texts or more, in their order.", show_default=False),
]


def follows(
    texts: Texts,
    model: HeadModel = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say how likely each text follows the one before it, by BERT's next-sentence head.

    The other order stands beside it. The head was trained on pairs from one document and from two, so it mostly
    tells whether the topic changes; later models left the task out (RoBERTa) or replaced it (ALBERT).
    """
    if len(texts) < 2:
        raise typer.BadParameter("give at least two texts.", param_hint="TEXT")
    shown = Shown.asked(None, None, as_json, quiet, color)
    named = needed(model, "the next sentence")
    from search.bert import next_sentences
    from search.render import bars

    found = next_sentences(texts, model=named, offline=offline)
    record = {"model": found[0].model, "texts": texts, "pairs": found}
    show_bars(shown, bars.next_sentences(found), record)
