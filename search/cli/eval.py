"""seewhy eval"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from search.cli.options import EncoderChoice, index_option, panel
from search.cli.output import Output, progress_bar, stopped_gently

_retrieval = panel("--task retrieval")


@dataclass(frozen=True)
class DataOptions(EncoderChoice):
    """The data to evaluate on, and its index; the keywords of `search.evaluate`."""

    k: Annotated[
        int, _retrieval("--top-k", "-k", metavar="N", min=1, help="Depth of metrics such as nDCG@10.")
    ] = 10
    index: Annotated[
        str | None,
        index_option(
            "Which index a file of queries is about, or where to keep that of a collection.",
            rich_help_panel="--task retrieval",
        ),
    ] = None
    split: Annotated[
        str, _retrieval(metavar="NAME", help="Which judgements of a BEIR folder: qrels/NAME.tsv.")
    ] = "test"
    whole_documents: Annotated[
        bool,
        _retrieval(
            "--whole-documents",
            help="Rank title and text as one, cut to the model's length, as published.",
        ),
    ] = False


def evaluate(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="A BEIR folder; CSV, TSV or JSONL of queries or sentence pairs; SQuAD's JSON; CoNLL.",
        ),
    ],
    data: DataOptions,
    output: Output,
    task: Annotated[
        Literal["retrieval", "answers", "entities"],
        typer.Option(help="Judge rankings, or the answers or entities that --model finds."),
    ] = "retrieval",
    mode: Annotated[
        list[str] | None,
        _retrieval(
            "--mode",
            metavar="MODE[,KEY=VALUE]",
            help="How to ask, with keywords of Index.query; others are compared with the first.",
        ),
    ] = None,
    per_query: Annotated[
        bool,
        typer.Option("--per-query", help="With --json: the figures of every query, too."),
    ] = False,
) -> None:
    """Ask judged queries, and say how good the answers are.

    Prints nDCG, MRR, MAP, recall and precision with 95 % intervals; for pairs of sentences correlations; for
    answers exact match and F1; for entities precision, recall and F1.

    A collection is indexed first, apart from your own indexes. A file of queries and paths is about an index of yours.
    """
    if task != "retrieval" and not data.model:
        raise typer.BadParameter(f"--model is needed: a checkpoint that was trained for {task}")
    heads: dict[str, Any] = {"model": data.model, "offline": data.offline}
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        from search.evaluating import evaluation as retrieval
        from search.evaluating import readers
        from search.render import evaluation as draw

        if task == "retrieval":
            evaluated = retrieval.evaluate(dataset, settings=mode or (), progress=progress, **vars(data))
        elif task == "answers":
            evaluated = readers.evaluate_answers(dataset, progress=progress, **heads)
        else:
            evaluated = readers.evaluate_entities(dataset, progress=progress, **heads)
    output.show(evaluated, draw.evaluation, data=lambda: draw.as_json(evaluated, per_query=per_query))
