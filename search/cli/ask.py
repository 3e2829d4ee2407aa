"""seewhy ask"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from search.cli.options import (
    HITS_OF_A_DOCUMENT,
    RANKING,
    DeviceOption,
    IndexOptions,
    RerankOptions,
    checkpoint,
    top_k,
)
from search.cli.output import PANEL, Output, text_of
from search.cli.progress import progress_bar

READING = "Reading"


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")],
    ranking: RerankOptions,
    index: IndexOptions,
    output: Output,
    model: Annotated[
        str | None,
        checkpoint(
            "The reader: a checkpoint that was trained for answer spans, such as deepset/roberta-base-squad2."
        ),
    ] = None,
    k: Annotated[int, top_k("How many passages are read.")] = 10,
    answers: Annotated[int, typer.Option("--answers", "-n", min=1, help="How many answers are shown.")] = 3,
    inside: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="FILE",
            help="Read this text file, - for standard input, instead of passages of an index.",
        ),
    ] = None,
    per_document: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Read at most N passages of one document, if there are others; 0 for no limit.",
            rich_help_panel=RANKING,
        ),
    ] = HITS_OF_A_DOCUMENT,
    no_answer_margin: Annotated[
        float,
        typer.Option(
            metavar="M",
            help="By how much a span has to score more than no answer. Lower it to see more.",
            rich_help_panel=READING,
        ),
    ] = 0.0,
    max_answer: Annotated[
        int, typer.Option(metavar="N", min=1, help="Most tokens of an answer.", rich_help_panel=READING)
    ] = 30,
    device: DeviceOption = None,
    logits: Annotated[
        bool,
        typer.Option(
            "--logits",
            help="With --json: the tokens of each window and their logits, too.",
            rich_help_panel=PANEL,
        ),
    ] = False,
) -> None:
    """Answer QUESTION with a span of the passages that a query for it returns.

    The index's own encoder finds the passages, a reader that you name reads them. "No answer" is an answer.
    """
    from search.bert.answering import READERS
    from search.render import answers as draw

    if not model:
        raise typer.BadParameter(f"--model is needed: a checkpoint trained for answer spans ({READERS})")
    if logits and not output.as_json:
        raise typer.BadParameter("--logits goes with --json")
    asks_index = (ranking, index, k, per_document) != (
        RerankOptions(), IndexOptions(offline=index.offline), 10, HITS_OF_A_DOCUMENT,
    )  # fmt: skip
    if inside is not None and asks_index:
        raise typer.BadParameter(
            "--in reads one text and asks no index: leave out --index, --engine, -k, --per-document "
            "and all options of ranking"
        )
    reading: dict[str, Any] = {
        "model": model,
        "answers": answers,
        "no_answer_margin": no_answer_margin,
        "max_answer": max_answer,
        "device": device,
    }
    notes: tuple[str, ...] = ()
    with progress_bar(output.quiet) as progress:
        if inside is not None:
            from search.bert import answer

            text = text_of(inside, "Name a text file.")
            answered = answer(question, text, offline=index.offline, progress=progress, **reading)
        else:
            opened = index.open()
            answered = opened.ask(
                question,
                k=k,
                per_document=per_document,
                progress=progress,
                **reading,
                where=ranking.where,
                **ranking.order,
            )
            notes = opened.notes
    output.show(
        text=lambda: draw.answers(answered, **output.style),
        data=lambda: draw.as_json(answered, logits=logits),
    )
    output.remarks(notes)
