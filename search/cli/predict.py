"""seewhy lab fill, seewhy lab next, seewhy lab ask: predictions of task heads"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from search.cli.options import IndexOptions, OfflineOption, checkpoint
from search.cli.output import Output, progress_bar, text_of
from search.records import options

HeadModel = Annotated[
    str, checkpoint("A checkpoint that still has its head, bert-base-uncased for instance.")
]


def fill(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A text with [MASK] where a word is to be guessed.")
    ],
    output: Output,
    model: HeadModel,
    k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Words at each mask.")] = 5,
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

    filled = fill(text, model=model, k=k, labels=label or [], offline=offline)
    output.show(filled, draw.filled)


def follows(
    first: Annotated[str, typer.Argument(metavar="TEXT", help="A text.")],
    second: Annotated[str, typer.Argument(metavar="TEXT2", help="The text that may follow it.")],
    output: Output,
    model: HeadModel,
    label: Annotated[
        int | None,
        typer.Option(min=0, max=1, help="The truth, for the loss: 0 for is-next, 1 for not."),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Say how likely a text follows another.

    By BERT's next-sentence head. It was trained on pairs from one document and from two, so it mostly tells whether
    the topic changes; later models left the task out (RoBERTa) or replaced it (ALBERT).
    """
    from search.bert import next_sentence
    from search.render import predictions as draw

    follows = None if label is None else label == 0
    prediction = next_sentence(first, second, model=model, follows=follows, offline=offline)
    output.show(prediction, draw.next_sentence)


@dataclass(frozen=True)
class ReaderOptions:
    """The reader, and the number of answers; keywords of `search.bert.answer`."""

    model: Annotated[
        str | None,
        checkpoint(
            "The reader: a checkpoint that was trained for answer spans, such as deepset/roberta-base-squad2."
        ),
    ] = None
    answers: Annotated[
        int, typer.Option("--answers", "-n", min=1, help="How many answers are shown.")
    ] = 3


def ask(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="What you want to know.")],
    reader: ReaderOptions,
    passages: options.HitOptions,
    index: IndexOptions,
    output: Output,
    inside: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="FILE",
            help="Read this text file, - for standard input, instead of passages of an index.",
        ),
    ] = None,
) -> None:
    """Answer QUESTION with a span of the best passages for it.

    The index's own encoder finds the passages, a reader that you name reads them. "No answer" is an answer.
    """
    from search.bert.answering import READERS
    from search.render import predictions as draw

    if not reader.model:
        raise typer.BadParameter(f"--model is needed: a checkpoint trained for answer spans ({READERS})")
    question, notes = " ".join(words), tuple[str, ...]()
    with progress_bar(output.quiet) as progress:
        if inside is not None:
            from search.bert import answer

            text = text_of(inside, "Name a text file.")
            answered = answer(question, text, offline=index.offline, progress=progress, **vars(reader))
        else:
            opened = index.open()
            answered = opened.ask(question, progress=progress, **vars(reader), **passages)
            notes = opened.notes
    output.show(answered, draw.answers)
    output.remarks(notes)
