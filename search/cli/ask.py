"""seewhy lab ask"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from search.cli.options import DeviceOption, IndexOptions, checkpoint, panel
from search.cli.output import Output, progress_bar, text_of
from search.records import options

reading_option = panel("Reading")


@dataclass(frozen=True)
class ReaderOptions:
    """Who reads, and what is an answer; the keywords of `search.bert.answer`."""

    model: Annotated[
        str | None,
        checkpoint(
            "The reader: a checkpoint that was trained for answer spans, such as deepset/roberta-base-squad2."
        ),
    ] = None
    answers: Annotated[int, typer.Option("--answers", "-n", min=1, help="How many answers are shown.")] = 3
    no_answer_margin: Annotated[
        float,
        reading_option(
            metavar="M", help="By how much a span has to score more than no answer. Lower it to see more."
        ),
    ] = 0.0
    max_answer: Annotated[int, reading_option(metavar="N", min=1, help="Most tokens of an answer.")] = 30
    device: DeviceOption = None


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
    from search.render import hits as draw

    if not reader.model:
        raise typer.BadParameter(f"--model is needed: a checkpoint trained for answer spans ({READERS})")
    plain = passages == options.defaults(options.HitOptions) and index == IndexOptions(offline=index.offline)
    if inside is not None and not plain:
        raise typer.BadParameter(
            "--in reads one text: leave out --index, --engine, -k and all options of ranking"
        )
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
