"""seewhy eval"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from search.cli.index import TokenVectors
from search.cli.options import DeviceOption, EncoderOptions, top_k
from search.cli.output import Output, echo, progress_bar, stopped_gently

if TYPE_CHECKING:
    from search.records.evaluations import Evaluation

# The tasks that an option is for, where it is not for all.
_ONLY_FOR = {
    **dict.fromkeys(("compare", "mode", "k", "index", "engine"), ("retrieval", "answers")),
    **dict.fromkeys(("limit", "device"), ("answers", "entities")),
    **dict.fromkeys(("no_answer_margin",), ("answers",)),
    **dict.fromkeys(("map_",), ("entities",)),
    **dict.fromkeys(
        ("pooling", "split", "whole_documents", "allow_missing", "token_vectors", "tune", "save"),
        ("retrieval",),
    ),
}


@dataclass(frozen=True)
class DataOptions(EncoderOptions):
    """Which data is asked about, and how it is indexed; the keywords of `search.evaluate`."""

    k: Annotated[int, top_k("The depth that metrics such as nDCG@10 look at.")] = 10
    split: Annotated[str, typer.Option(help="Which judgements of a BEIR folder: qrels/SPLIT.tsv.")] = "test"
    whole_documents: Annotated[
        bool,
        typer.Option(
            "--whole-documents",
            help="Rank title and text as one, cut at what the model reads, as published figures have it.",
        ),
    ] = False
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Count relevant documents that are not indexed as not found."),
    ] = False
    index: Annotated[
        str | None,
        typer.Option(
            "--index",
            "-i",
            metavar="NAME|PATH",
            help="For a file of queries and paths which index, as for query. For a collection where to keep its own.",
        ),
    ] = None
    token_vectors: TokenVectors = None


def evaluate(
    context: typer.Context,
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="A folder in BEIR layout; one with corpora/ and questions.jsonl; SQuAD's JSON; a CSV or TSV file "
            "with query, path (and relevance), or with sentence1, sentence2 and score. For entities: CoNLL.",
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
        typer.Option(
            "--mode",
            metavar="MODE[,KEY=VALUE]",
            help="How to ask, with more keywords of Index.query after commas. Repeated, the settings are compared "
            "with the first. With --task answers: answer from an index, too.",
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Two ways to ask, B compared with A.")
    ] = None,
    per_query: Annotated[
        bool,
        typer.Option(
            "--per-query",
            help="Print the figures of every query as CSV instead of the table; with --json add them to it.",
        ),
    ] = False,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune", help="Find the weight and rerank that answer best, and whether that is beyond chance."
        ),
    ] = False,
    save: Annotated[
        bool, typer.Option("--save", help="With --tune: write them into the index's settings.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only N questions or sentences, spread evenly.")
    ] = None,
    no_answer_margin: Annotated[
        float | None,
        typer.Option(metavar="M", help="By how much an answer has to score more than no answer."),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="A=B",
            help="Take the model's type A for the file's type B, or for O, which is none; may be repeated.",
        ),
    ] = None,
    device: DeviceOption = None,
) -> None:
    """Ask judged queries, and say how good the answers are.

    Prints nDCG, MRR, MAP, recall, success and precision with 95 % intervals; for gold spans recall, precision and
    IoU by character; for pairs of sentences correlations; for answers exact match and F1; for entities precision,
    recall and F1.

    A collection is indexed first, apart from your own indexes. A file of queries and paths is about an index of yours.
    """
    for name, tasks in _ONLY_FOR.items():
        source = context.get_parameter_source(name)
        if task not in tasks and source is not None and source.name == "COMMANDLINE":
            shown = name.strip("_").replace("_", "-")
            raise typer.BadParameter(f"--{shown} goes with --task {' or '.join(tasks)}.")
    if mode and compare:
        raise typer.BadParameter("--mode and --compare exclude each other; --mode may be repeated.")
    if tune and (mode or compare or per_query or data.whole_documents):
        raise typer.BadParameter("--tune tries settings of its own: leave out the other ways to ask.")
    if save and not tune:
        raise typer.BadParameter("--save belongs to --tune.")
    if task != "retrieval" and not data.model:
        raise typer.BadParameter(f"--model is needed: a checkpoint that was trained for {task}")
    given: dict[str, Any] = {"settings": compare or mode or ()}
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        from search.evaluating import evaluation as retrieval
        from search.evaluating import readers
        from search.render import evaluation as draw

        if tune:
            tuned = retrieval.tune(dataset, save=save, progress=progress, **vars(data))
        elif task == "retrieval":
            found = retrieval.evaluate(dataset, progress=progress, **given, **vars(data))
        else:
            given |= {name: getattr(data, name) for name in ("model", "offline")}
            given |= {"limit": limit, "device": device, "progress": progress}
            if task == "answers":
                given |= {name: getattr(data, name) for name in ("k", "index", "engine")}
                found = readers.evaluate_answers(dataset, no_answer_margin=no_answer_margin, **given)
            else:
                del given["settings"]
                found = readers.evaluate_entities(dataset, mapping=_mapping(map_ or []), **given)
    if tune:
        output.show(tuned, draw.tuning, data=lambda: draw.tuning_json(tuned))
    else:
        _show(found, per_query, output)


def _show(evaluation: Evaluation, per_query: bool, output: Output) -> None:
    from search.render import csv
    from search.render import evaluation as draw

    if per_query and not output.as_json:
        echo(csv.queries(evaluation))
    else:
        output.show(evaluation, draw.evaluation, data=lambda: draw.as_json(evaluation, per_query=per_query))


def _mapping(given: list[str]) -> dict[str, str]:
    """Types of the model -> types of the file, as they were typed: "PER=person"."""
    pairs = [typed.partition("=") for typed in given]
    for typed, (old, _, new) in zip(given, pairs, strict=True):
        if not (old and new):
            raise typer.BadParameter(f"--map takes A=B, such as PER=person, and not '{typed}'")
    return {old: new for old, _, new in pairs}
