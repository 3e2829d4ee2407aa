"""seewhy lab fill, seewhy lab next, seewhy lab ask: predictions of task heads"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import typer

from search.cli.options import IndexOptions, OfflineOption, checkpoint
from search.cli.output import DrawnOutput, Output, output_option, progress_bar, text_of
from search.records import options

HeadModel = Annotated[
    str | None,
    checkpoint(
        "A checkpoint with its pre-training head, such as bert-base-uncased. Default: that of make lab."
    ),
]


def fill(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A text with [MASK] for each word to predict.")
    ],
    output: Output,
    model: HeadModel = None,
    k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of predictions per mask.")] = 5,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="The correct word, to compute the loss; give one per [MASK]."),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Predict the word at each [MASK].

    BERT was pre-trained for this task. Several masks are predicted at the same time, independently of each other.
    A sentence encoder, such as the default model of other commands, has no head for this task.
    """
    from search.lab.bert.checkpoint import head_or_small
    from search.lab.bert.pretraining import fill
    from search.lab.render import predictions as draw

    name = head_or_small("fill", model)
    filled = fill(text, model=name, k=k, labels=label or [], offline=offline)
    output.show(filled, draw.filled)


def follows(
    first: Annotated[str, typer.Argument(metavar="TEXT", help="A text.")],
    second: Annotated[str, typer.Argument(metavar="TEXT2", help="The text that may follow.")],
    output: Output,
    model: HeadModel = None,
    label: Annotated[
        int | None,
        typer.Option(
            min=0, max=1, help="The correct answer, to compute the loss: 0 if it follows, 1 if not."
        ),
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Predict whether one text follows another.

    Uses BERT's next-sentence head. It was trained on pairs from the same and from different documents, so it mostly
    detects a change of topic. Later models dropped the task (RoBERTa) or replaced it (ALBERT).
    """
    from search.lab.bert.checkpoint import head_or_small
    from search.lab.bert.pretraining import next_sentence
    from search.lab.render import predictions as draw

    follows, name = None if label is None else label == 0, head_or_small("next", model)
    prediction = next_sentence(first, second, model=name, follows=follows, offline=offline)
    output.show(prediction, draw.next_sentence)


@dataclass(frozen=True)
class ReaderOptions:
    """Options of question answering; the fields are keywords of `search.bert.answer`."""

    model: Annotated[
        str | None,
        checkpoint("An extractive question-answering model, such as deepset/roberta-base-squad2."),
    ] = None
    answers: Annotated[int, typer.Option("--answers", "-n", min=1, help="Number of answers.")] = 3


def ask(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="Your question.")],
    reader: ReaderOptions,
    passages: options.HitOptions,
    index: IndexOptions,
    output: DrawnOutput,
    inside: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="FILE",
            help="Read this text file (- for standard input) instead of an index.",
        ),
    ] = None,
    logits: Annotated[
        bool,
        output_option(
            "--logits",
            help="Also print the likeliest first and last tokens; with --json, those of all tokens.",
        ),
    ] = False,
) -> None:
    """Answer QUESTION with a quotation from the best passages.

    The index finds the passages, and --model looks for the answer in them. It may find none. --png draws where the best
    answer begins and ends, by the probabilities of all tokens around it.
    """
    from search.lab.bert.checkpoint import head_or_small
    from search.lab.render import pages, picture
    from search.lab.render import predictions as draw
    from search.render.page import document

    reader = replace(reader, model=head_or_small("answer", reader.model))
    question, notes = " ".join(words), tuple[str, ...]()
    with progress_bar(output.quiet) as progress:
        if inside is not None:
            from search.lab.bert.answering import answer

            text = text_of(inside, "Name a text file.")
            answered = answer(question, text, offline=index.offline, progress=progress, **vars(reader))
        else:
            from search.lab.bert.answering import ask as ask_index

            opened = index.open()
            answered = ask_index(
                opened, question, offline=index.offline, progress=progress, **vars(reader), **passages
            )
            notes = opened.notes
    output.result(
        answered,
        partial(draw.answers, logits=logits),
        data=(lambda: draw.answers_json(answered)) if logits else None,
        html=lambda: document(pages.answers(answered)),
        png=lambda: picture.answer(answered),
    )
    output.remarks(notes)
