"""seewhy eval"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from search.cli.options import EncoderChoice, index_option, panel
from search.cli.output import Output, progress_bar, stopped_gently
from search.plugins import function, plugins

_retrieval = panel("--task retrieval")


@dataclass(frozen=True)
class DataOptions(EncoderChoice):
    """Options for the data to evaluate on; the fields are keywords of `search.evaluate`."""

    k: Annotated[
        int,
        _retrieval("--top-k", "-k", metavar="N", min=1, help="Cut-off of the metrics, as in nDCG@10."),
    ] = 10
    index: Annotated[
        str | None,
        index_option(
            "For a file of queries: the index to search. For a BEIR folder: where to store its index.",
            rich_help_panel="--task retrieval",
        ),
    ] = None
    split: Annotated[
        str, _retrieval(metavar="NAME", help="Read the judgements of a BEIR folder from qrels/NAME.tsv.")
    ] = "test"
    whole_documents: Annotated[
        bool,
        _retrieval(
            "--whole-documents",
            help="Encode each document as one text, truncated at the model's limit, as papers usually do.",
        ),
    ] = False


def evaluate(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="A BEIR folder; queries or sentence pairs as CSV, TSV or JSONL; a SQuAD or CoNLL file.",
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
            help="Ranking to measure (dense,weight=0.5); repeat it to compare others with the first.",
        ),
    ] = None,
    per_query: Annotated[
        bool,
        typer.Option("--per-query", help="With --json: include the metrics of every query."),
    ] = False,
) -> None:
    """Measure the quality of results on judged queries.

    Prints nDCG, MRR, MAP, recall and precision with 95 % intervals; correlations for pairs of sentences; exact
    match and F1 for answers; precision, recall and F1 for entities.

    A collection such as BEIR is first indexed, separately from your own indexes. A file of queries and
    paths is evaluated on one of your indexes.
    """
    if task != "retrieval" and not data.model:
        raise typer.BadParameter(f"--task {task} needs --model, a checkpoint trained for it")
    heads: dict[str, Any] = {"model": data.model, "offline": data.offline}
    tasks = {name: source for plugin in plugins() for name, source in plugin.tasks.items()}
    if task != "retrieval" and task not in tasks:
        raise typer.BadParameter(f"this installation cannot measure {task}: it lacks the laboratory")
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        from search.evaluating import evaluation as retrieval
        from search.render import evaluation as draw

        if task == "retrieval":
            evaluated = retrieval.evaluate(dataset, settings=mode or (), progress=progress, **vars(data))
        else:
            evaluated = function(tasks[task])(dataset, progress=progress, **heads)
    output.show(evaluated, draw.evaluation, data=lambda: draw.as_json(evaluated, per_query=per_query))
