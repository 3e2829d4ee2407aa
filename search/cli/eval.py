"""seewhy eval, seewhy eval-qa, seewhy eval-ner"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.index import TokenVectors
from search.cli.options import EncoderOptions, EngineOptions, OfflineOption, checkpoint, top_k
from search.cli.output import Output, check_writable, echo, progress_bar, stopped_gently, write_file

if TYPE_CHECKING:
    from search.records.evaluations import Evaluation


Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="MODE[,KEY=VALUE]",
        help="How to ask, with more keywords of Index.query after commas. Repeated, the settings are compared "
        "with the first.",
    ),
]
TopK = Annotated[int, top_k("The depth that figures such as nDCG@10 look at.")]
PerQuery = Annotated[
    bool,
    typer.Option(
        "--per-query",
        help="Print the figures of every query as CSV instead of the table; with --json add them to it.",
    ),
]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Only N of the data, spread evenly.")
]


@dataclass(frozen=True)
class DataOptions(EncoderOptions):
    """Which data is asked about, and how it is indexed; the keywords of `search.evaluate`."""

    k: TopK = 10
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
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="A folder in BEIR layout; one with corpora/ and questions.jsonl; SQuAD's JSON; a CSV or TSV file "
            "with query, path (and relevance), or with sentence1, sentence2 and score.",
        ),
    ],
    data: DataOptions,
    output: Output,
    mode: Modes = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Two ways to ask, B compared with A.")
    ] = None,
    per_query: PerQuery = False,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune", help="Find the weight and rerank that answer best, and whether that is beyond chance."
        ),
    ] = False,
    save: Annotated[
        bool, typer.Option("--save", help="With --tune: write them into the index's settings.")
    ] = False,
) -> None:
    """Ask judged queries, and say how good the answers are.

    Prints nDCG, MRR, MAP, recall, success and precision with 95 % intervals; for gold spans recall, precision and
    IoU by character; for pairs of sentences correlations.

    A collection is indexed first, apart from your own indexes. A file of queries and paths is about an index of yours.
    """
    if mode and compare:
        raise typer.BadParameter("--mode and --compare exclude each other; --mode may be repeated.")
    if tune and (mode or compare or per_query or data.whole_documents):
        raise typer.BadParameter("--tune tries settings of its own: leave out the other ways to ask.")
    if save and not tune:
        raise typer.BadParameter("--save belongs to --tune.")
    if tune:
        _tune(dataset, data, save, output)
        return
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        from search.evaluating.evaluation import evaluate as measure

        evaluation = measure(dataset, settings=compare or mode or (), progress=progress, **vars(data))
    _show(evaluation, per_query, output)


def _tune(dataset: Path, data: DataOptions, save: bool, output: Output) -> None:
    from search.evaluating.tuning import tune
    from search.render import evaluation as draw

    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        tuned = tune(dataset, save=save, progress=progress, **vars(data))
    output.show(tuned, draw.tuning, data=lambda: draw.tuning_json(tuned))


@dataclass(frozen=True)
class ReadingOptions(EngineOptions):
    """Which reader answers which questions, and from what; the keywords of `evaluate_answers`."""

    model: Annotated[
        str | None, checkpoint("The reader: a checkpoint that was trained for answer spans. Needed.")
    ] = None
    limit: Limit = None
    no_answer_margin: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            help="By how much a span has to score more than no answer. Default: 0 where some questions have no "
            "answer, else the best span always counts.",
        ),
    ] = None
    max_answer: Annotated[int, typer.Option(metavar="N", min=1, help="Most tokens of an answer.")] = 30
    retrieve: Annotated[
        bool,
        typer.Option(
            "--retrieve",
            help="Answer from an index of all paragraphs, too; the options of retrieval say how.",
        ),
    ] = False
    k: Annotated[int, top_k("How many passages are read.")] = 10
    encoder: Annotated[
        str | None,
        typer.Option(metavar="NAME|FOLDER", help="The encoder of the index. Default: all-MiniLM-L6-v2."),
    ] = None
    index: Annotated[
        str | None, typer.Option("--index", "-i", metavar="NAME|PATH", help="Where to keep the index.")
    ] = None


def evaluate_qa(
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="Questions with gold answers: SQuAD's JSON.")
    ],
    reading: ReadingOptions,
    output: Output,
    per_query: PerQuery = False,
    mode: Modes = None,
) -> None:
    """Ask a reader questions whose answers are known.

    Exact match and F1. The right paragraph is given; with --retrieve the paragraph has to be found, too, and the
    two are compared.
    """
    from search.bert.answering import READERS

    if not reading.model:
        raise typer.BadParameter(f"--model is needed: a checkpoint trained for answer spans ({READERS})")
    if (mode or reading.index or reading.encoder or reading.k != 10) and not reading.retrieve:
        raise typer.BadParameter("-k, --mode, --index and --encoder say how to retrieve: add --retrieve")
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        from search.evaluating.evaluation import evaluate_answers

        evaluation = evaluate_answers(dataset, settings=mode or (), progress=progress, **vars(reading))
    _show(evaluation, per_query, output)


def evaluate_ner(
    dataset: Annotated[
        Path, typer.Argument(metavar="FILE", help="Words with their labels, in CoNLL format.")
    ],
    model: Annotated[
        str | None, checkpoint("A checkpoint that finds entities, such as dslim/bert-base-NER. Needed.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="A=B",
            help="Take the model's type A for the file's type B, or for O, which is none; may be repeated.",
        ),
    ] = None,
    limit: Limit = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the words with the labels that were predicted, in CoNLL format."
        ),
    ] = None,
    offline: OfflineOption = False,
    *,
    output: Output,
) -> None:
    """Compare entities that a model finds with known ones.

    Precision, recall and F1, with intervals.
    """
    from search.evaluating.entities import as_conll, evaluate_entities
    from search.render import evaluation as draw

    if not model:
        raise typer.BadParameter("--model is needed: a checkpoint that finds entities")
    check_writable(predictions)
    with progress_bar(output.quiet) as progress:  # nothing is kept of one that is stopped
        evaluation = evaluate_entities(
            dataset,
            model=model,
            mapping=_mapping(map_ or []),
            limit=limit,
            offline=offline,
            progress=progress,
        )
    if predictions:
        write_file(predictions, as_conll(evaluation.predictions))
        output.note(f"wrote {predictions}")
    output.show(evaluation, draw.entities, data=lambda: draw.entities_json(evaluation))


def _show(evaluation: Evaluation, per_query: bool, output: Output) -> None:
    from search.render import csv
    from search.render import evaluation as draw

    if per_query and not output.as_json:
        echo(csv.queries(evaluation))
    else:
        output.show(evaluation, draw.evaluation, data=lambda: draw.as_json(evaluation, per_query=per_query))


def _mapping(given: list[str]) -> dict[str, str]:
    """Types of the model -> types of the file, as they were typed: "PER=person"."""
    mapping: dict[str, str] = {}
    for typed in given:
        old, _, new = typed.partition("=")
        if not (old and new):
            raise typer.BadParameter(f"--map takes A=B, such as PER=person, and not '{typed}'")
        if old in mapping:
            raise typer.BadParameter(f"--map says of '{old}' more than once what it is")
        mapping[old] = new
    return mapping
