"""seewhy eval"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli import eval_ner, eval_qa
from search.cli.files import check_writable, write_file
from search.cli.index import TokenVectors, stopped_gently
from search.cli.options import (
    Colour,
    ColourOption,
    EngineOption,
    JsonOption,
    OfflineOption,
    PoolingOption,
    QuietOption,
    colour_on,
    echo,
    note,
    page_width,
)

if TYPE_CHECKING:
    from search.records.evaluations import Evaluation
    from search.records.reports import Progress


class TaskName(str, Enum):
    retrieval = "retrieval"
    spans = "spans"
    sts = "sts"
    qa = "qa"
    ner = "ner"


Dataset = Annotated[
    Path,
    typer.Argument(
        metavar="DATASET",
        help="A folder in BEIR layout; one with corpora/ and questions.jsonl; SQuAD's JSON; a CSV or TSV file "
        "with query, path (and relevance), or with sentence1, sentence2 and score; for ner a file in CoNLL format.",
        show_default=False,
    ),
]
Mode = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="MODE[,KEY=VALUE]",
        help="How to ask, with more keywords of Index.query after commas. Repeated, the settings are compared "
        "with the first.",
    ),
]
Compare = Annotated[
    tuple[str, str] | None,
    typer.Option("--compare", metavar="A B", help="Two ways to ask, B compared with A."),
]
TopK = Annotated[
    int,
    typer.Option(
        "--top-k",
        "-k",
        min=1,
        help="The depth that figures such as nDCG@10 look at; qa: passages that are read.",
    ),
]
Split = Annotated[str, typer.Option("--split", help="Which judgements of a BEIR folder: qrels/SPLIT.tsv.")]
Task = Annotated[
    TaskName | None,
    typer.Option(
        "--task",
        help="qa: answers of the reader --model to the questions of a file in SQuAD's format. ner: entities that "
        "--model finds in a file in CoNLL format. Others: only to make sure. Default: what the data is.",
    ),
]
PerQuery = Annotated[
    str | None,
    typer.Option(
        "--per-query",
        metavar="FILE",
        help="Write the figures of every query as CSV; - prints them instead of the table, or adds them to --json.",
    ),
]
Whole = Annotated[
    bool,
    typer.Option(
        "--whole-documents",
        help="Rank title and text as one, cut at what the model reads, as published figures have it.",
    ),
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Count relevant documents that are not indexed as not found.")
]
Index = Annotated[
    str | None,
    typer.Option(
        "--index",
        "-i",
        metavar="NAME|PATH",
        help="For a file of queries and paths which index, as for query. For a collection where to keep its own.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="The encoder, or NAME@REVISION. Default: all-MiniLM-L6-v2, or the index's. For qa the reader.",
    ),
]


def evaluate(
    dataset: Dataset,
    mode: Mode = None,
    compare: Compare = None,
    k: TopK = 10,
    split: Split = "test",
    task: Task = None,
    per_query: PerQuery = None,
    whole: Whole = False,
    allow_missing: AllowMissing = False,
    index: Index = None,
    model: Model = None,
    pooling: PoolingOption = None,
    token_vectors: TokenVectors = None,
    retrieve: eval_qa.Retrieve = False,
    encoder: eval_qa.Encoder = None,
    limit: eval_qa.Limit = None,
    no_answer_margin: eval_qa.Margin = None,
    max_answer: eval_qa.MaxAnswer = 30,
    map_: eval_ner.Map = None,
    predictions: eval_ner.Predictions = None,
    predicted: eval_ner.Predicted = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Ask judged queries, and say how good the answers are.

    Prints nDCG, MRR, MAP, recall, success and precision with 95 % intervals; for gold spans recall, precision and
    IoU by character; for pairs of sentences correlations; for answers (--task qa) exact match and F1; for entities
    (--task ner) precision, recall and F1.

    A collection is indexed first, apart from your own indexes. A file of queries and paths is about an index of yours.
    """
    from search.render import evaluation as draw

    if mode and compare:
        raise typer.BadParameter("--mode and --compare exclude each other; --mode may be repeated.")
    file = None if per_query in (None, "-") else Path(str(per_query))
    check_writable(file, predictions)
    asked = list(compare or mode or ())
    if task is TaskName.ner:
        if asked or per_query or index or pooling or whole or allow_missing or retrieve or encoder:
            raise typer.BadParameter("options of asking an index are not for ner; it takes --model and --map")
        only = {
            "--split": split != "test",
            "--no-answer-margin": no_answer_margin is not None,
            "--max-answer": max_answer != 30,
            "--top-k": k != 10,
            "--token-vectors": token_vectors is not None,
            "--engine": engine != "auto",
        }
        if given := [name for name, wrong in only.items() if wrong]:
            raise typer.BadParameter(f"{given[0]} is not for ner; it takes --model and --map")
        wanted = eval_ner.Asked(dataset, model, predicted, map_ or [], limit, offline)
        with bars(quiet) as progress:  # nothing is kept of one that is stopped
            entities = wanted.evaluation(progress)
        eval_ner.show(entities, predictions, as_json, quiet, page_width(), colour_on(color))
        return
    if map_ or predictions or predicted:
        raise typer.BadParameter("--map, --predictions and --predicted go with --task ner")

    def run(progress: Callable[[Progress], None]) -> Evaluation:
        if task is TaskName.qa:
            if pooling or whole or allow_missing or token_vectors is not None or split != "test":
                raise typer.BadParameter("options of a collection's encoder and judgements are not for qa")
            return eval_qa.Asked(
                dataset,
                model,
                retrieve,
                encoder,
                asked,
                index,
                k,
                limit,
                no_answer_margin,
                max_answer,
                offline,
                engine,
            ).evaluation(progress)
        from search.evaluation import evaluate as measure

        if limit:
            raise typer.BadParameter("--limit goes with --task qa or ner")
        if retrieve or encoder or no_answer_margin is not None or max_answer != 30:
            raise typer.BadParameter(
                "--retrieve, --encoder, --no-answer-margin and --max-answer go with --task qa"
            )
        return measure(
            dataset,
            settings=asked,
            index=index,
            model=model,
            pooling=pooling,
            split=split,
            task=task.value if task else None,
            k=k,
            whole_documents=whole,
            allow_missing=allow_missing,
            token_vectors=token_vectors,
            offline=offline,
            engine=engine,
            progress=progress,
        )

    with stopped_gently(quiet), bars(quiet) as progress:
        found = run(progress)
    if file:
        write_file(file, draw.queries(found) + "\n")
        note(f"wrote {file}", quiet)
    if as_json:
        echo(draw.as_json(found, per_query=per_query == "-"))
    elif per_query == "-":
        echo(draw.queries(found))
    else:
        echo(draw.evaluation(found, width=page_width(), colour=colour_on(color)))


@contextmanager
def bars(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A progress bar for indexing, and one for the queries of each setting."""
    from search.cli.progress import progress_bar
    from search.records.reports import Progress

    with ExitStack() as bar:
        before = Progress("", 0, 0)
        show: Callable[[Progress], None] | None = None

        def told(state: Progress) -> None:
            nonlocal before, show
            if (
                (state.stage == "asking") != (before.stage == "asking")
                or state.done < before.done
                or not show
            ):
                bar.close()
                show = bar.enter_context(progress_bar(quiet))
            before = state
            if show:
                show(state)

        yield told
