"""seewhy lab fill, seewhy lab next: the two tasks that BERT was pre-trained for."""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.options import OfflineOption, checkpoint, top_k
from search.cli.output import Output

HeadModel = Annotated[
    str, checkpoint("A checkpoint that still has its head, bert-base-uncased for instance.")
]


def fill(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A text with [MASK] where a word is to be guessed.")
    ],
    output: Output,
    model: HeadModel,
    k: Annotated[int, top_k("Number of words at each mask.")] = 5,
    among: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Also score this word; may be repeated.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="The right word, for its loss; once for each [MASK]."),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Say which words BERT puts in the place of [MASK].

    That is what BERT was pre-trained to do. Several masks are masked all at once, and each is guessed by itself.
    The default model of the other commands cannot do it, as sentence encoders have lost the head.
    """
    from search.bert import fill
    from search.render import predictions as draw

    filled = fill(text, model=model, k=k, among=among or [], labels=label or [], offline=offline)
    output.show(filled, draw.filled)


def follows(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Two texts or more, in their order.")],
    output: Output,
    model: HeadModel,
    label: Annotated[
        list[int] | None,
        typer.Option(
            min=0, max=1, help="The truth, for the loss: 0 for is-next, 1 for not; for all pairs, or each."
        ),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Say how likely each text follows the one before it.

    By BERT's next-sentence head. It was trained on pairs from one document and from two, so it mostly tells whether
    the topic changes; later models left the task out (RoBERTa) or replaced it (ALBERT).
    """
    from search.bert import next_sentences
    from search.render import predictions as draw

    given = label * (len(texts) - 1) if label and len(label) == 1 else label
    follows = None if given is None else [one == 0 for one in given]
    output.show(next_sentences(texts, model=model, follows=follows, offline=offline), draw.next_sentences)
