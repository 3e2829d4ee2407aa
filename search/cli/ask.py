"""seewhy ask"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from search.cli.options import (
    HITS_OF_A_DOCUMENT,
    Colour,
    ColourOption,
    DeviceOption,
    EngineOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    QuietOption,
    remarks,
)
from search.cli.progress import progress_bar
from search.cli.ranking import (
    Mode,
    ModeOption,
    PhrasesOption,
    RerankOption,
    WeightOption,
    WhereOption,
    chosen,
)
from search.cli.shown import Shown

Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="What you want to know.", show_default=False)
]
Reader = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="The reader: a checkpoint that was trained for answer spans, such as deepset/roberta-base-squad2.",
        show_default=False,
    ),
]
Inside = Annotated[
    str | None,
    typer.Option(
        "--in",
        metavar="FILE",
        help="Read this text file, - for standard input, instead of passages of an index.",
        show_default=False,
    ),
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=1, help="How many passages are read.")]
Number = Annotated[int, typer.Option("--answers", "-n", min=1, help="How many answers are shown.")]
PerDocument = Annotated[
    int,
    typer.Option(
        "--per-document",
        metavar="N",
        min=0,
        help="Read at most N passages of one document, if there are others; 0 for no limit.",
    ),
]
ReaderWeight = Annotated[
    float,
    typer.Option(
        "--reader-weight",
        metavar="W",
        min=0.0,
        max=1.0,
        help="What the reader's probability counts in the score; the score of the passage counts the rest.",
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        "--no-answer-margin",
        metavar="M",
        help="By how much a span has to score more than no answer. Lower it to see more.",
    ),
]
MaxAnswer = Annotated[int, typer.Option("--max-answer", metavar="N", min=1, help="Most tokens of an answer.")]
Logits = Annotated[
    bool, typer.Option("--logits", help="With --json: the tokens of each window and their logits, too.")
]


def ask(
    question: Question,
    model: Reader = None,
    k: TopK = 10,
    number: Number = 3,
    mode: ModeOption = Mode.hybrid,
    weight: WeightOption = None,
    phrases: PhrasesOption = False,
    where: WhereOption = None,
    rerank: RerankOption = None,
    per_document: PerDocument = HITS_OF_A_DOCUMENT,
    reader_weight: ReaderWeight = 1.0,
    no_answer_margin: Margin = 0.0,
    max_answer: MaxAnswer = 30,
    inside: Inside = None,
    index: IndexOption = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    device: DeviceOption = None,
    logits: Logits = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Answer QUESTION with a span of the passages that a query for it returns.

    The index's own encoder finds the passages, a reader that you name reads them. "No answer" is an answer.
    """
    from search.bert.answering import READERS

    if not model:
        raise typer.BadParameter(f"--model is needed: a checkpoint trained for answer spans ({READERS})")
    if logits and not as_json:
        raise typer.BadParameter("--logits goes with --json")
    if inside is not None and (index or where or rerank or weight is not None or reader_weight < 1):
        raise typer.BadParameter(
            "--in reads one text and asks no index: leave out --index, --where, --rerank, --weight and "
            "--reader-weight"
        )
    plain = (mode, k, phrases, per_document, engine) == (Mode.hybrid, 10, False, HITS_OF_A_DOCUMENT, "auto")
    if inside is not None and not plain:
        raise typer.BadParameter(
            "--in reads one text and asks no index: leave out --mode, -k, --phrases, --per-document and --engine"
        )
    shown = Shown.asked(None, None, as_json, quiet, color)
    reading: dict[str, Any] = {
        "answers": number,
        "no_answer_margin": no_answer_margin,
        "max_answer": max_answer,
        "device": device,
    }
    with progress_bar(quiet) as progress:
        if inside is not None:
            from search.bert import answer

            found = answer(
                question, _text(inside), model=model, offline=offline, progress=progress, **reading
            )
        else:
            from search.index import Index

            opened = Index.open(index, offline=offline, engine=engine)
            found = opened.ask(
                question,
                model=model,
                k=k,
                where=where,
                per_document=per_document,
                reader_weight=reader_weight,
                progress=progress,
                **reading,
                **chosen(mode, weight, phrases, rerank),
            )
    from search.render import answers as draw

    shown.result(
        text=lambda: draw.answers(found, **shown.style),
        data=lambda: draw.as_json(found, logits=logits),
    )
    if inside is None:
        remarks(opened.notes, quiet)


def _text(name: str) -> str:
    """The text of a file, or of standard input.

    Raises:
        InputError: it cannot be read.
    """
    from search.corpus.decode import decode
    from search.errors import InputError, ReadError

    shown = "standard input" if name == "-" else f"'{name}'"
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return decode(name, raw).text
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror or error}. Check the name.") from None
    except ReadError as error:
        raise InputError(f"{shown} cannot be read as text: {error.reason}. Name a text file.") from None
