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
        int,
        _retrieval("--top-k", "-k", metavar="N", min=1, help="Cut-off of the metrics, as in nDCG@10."),
    ] = 10
    index: Annotated[
        str | None,
        index_option(
            "With a file of queries: the index to search. With a collection: where to keep its index.",
            rich_help_panel="--task retrieval",
        ),
    ] = None
    split: Annotated[
        str, _retrieval(metavar="NAME", help="Use qrels/NAME.tsv, the judgements in a BEIR folder.")
    ] = "test"
    whole_documents: Annotated[
        bool,
        _retrieval(
            "--whole-documents",
            help="Encode each document as one text, cut off at the model's limit, as in published results.",
        ),
    ] = False


def evaluate(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="A BEIR folder; queries or sentence pairs as CSV, TSV or JSONL; SQuAD JSON; CoNLL.",
        ),
    ],
    data: DataOptions,
    output: Output,
    task: Annotated[
        Literal["retrieval", "answers", "entities"],
        typer.Option(help="Measure rankings, or the answers or entities that --model predicts."),
    ] = "retrieval",
    mode: Annotated[
        list[str] | None,
        _retrieval(
            "--mode",
            metavar="MODE[,KEY=VALUE]",
            help="Ranking to measure; repeat it to compare others with the first.",
        ),
    ] = None,
    per_query: Annotated[
        bool,
        typer.Option("--per-query", help="With --json: include the figures of every query."),
    ] = False,
) -> None:
    """Measure the quality of results on judged queries.

    Prints nDCG, MRR, MAP, recall and precision with 95 % intervals; correlations for pairs of sentences; exact
    match and F1 for answers; precision, recall and F1 for entities.

    A collection such as BEIR is first indexed, separately from your own indexes. A file of queries and paths refers to
    one of your indexes.
    """
    if task != "retrieval" and not data.model:
        raise typer.BadParameter(f"--task {task} needs --model, a checkpoint trained for it")
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
