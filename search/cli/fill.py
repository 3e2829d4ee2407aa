"""seewhy lab fill, seewhy lab next: what BERT was pre-trained to do"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from search.cli.options import OfflineOption, checkpoint, top_k
from search.cli.output import Output


class Label(str, Enum):  # typer takes no list of literals
    """Whether a text follows the one before it."""

    follows = "is-next"
    other = "not-next"
    zero = "0"
    one = "1"


HeadModel = Annotated[
    str | None, checkpoint("A checkpoint that still has its head, bert-base-uncased for instance. Needed.")
]


def fill(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A text with [MASK] where a word is to be guessed.")
    ],
    output: Output,
    model: HeadModel = None,
    k: Annotated[int, top_k("Number of words at each mask.")] = 5,
    among: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Also score this word; may be repeated."),
    ] = None,
    word: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="Hide this word of the text wherever it stands, and say how likely it is there.",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="The right word of a [MASK], one for each: says its loss."),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Say which words BERT puts in the place of [MASK].

    That is what BERT was pre-trained to do. Several masks are masked all at once, and each is guessed by itself.
    The default model of the other commands cannot do it, as sentence encoders have lost the head.
    """
    from search.bert import fill as fill_masks
    from search.render import predictions as draw

    filled = fill_masks(
        text,
        model=_named(model, "masked words"),
        k=k,
        among=among or [],
        word=word,
        labels=label or [],
        offline=offline,
    )
    output.show(filled, draw.filled)


def follows(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Two texts or more, in their order.")],
    output: Output,
    model: HeadModel = None,
    label: Annotated[
        list[Label] | None,
        typer.Option(help="What is right, for all pairs or repeated for each: says the loss."),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Say how likely each text follows the one before it.

    By BERT's next-sentence head; the other order stands beside it. The head was trained on pairs from one
    document and from two, so it mostly tells whether the topic changes; later models left the task out (RoBERTa)
    or replaced it (ALBERT).
    """
    if len(texts) < 2:
        raise typer.BadParameter("give at least two texts.", param_hint="TEXT")
    from search.bert import next_sentences
    from search.render import json
    from search.render import predictions as draw

    named = _named(model, "the next sentence")
    given = label * (len(texts) - 1) if label and len(label) == 1 else label
    follows = None if given is None else [one in (Label.follows, Label.zero) for one in given]
    pairs = next_sentences(texts, model=named, follows=follows, offline=offline)
    record = {"model": pairs[0].model, "texts": texts, "pairs": pairs}
    output.show(pairs, draw.next_sentences, data=lambda: json.document(record))


def _named(model: str | None, what: str) -> str:
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
