"""seewhy label train, seewhy label apply, seewhy label explain, seewhy label remove"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from search.cli.options import MODEL, DeviceOption, EngineOptions, IndexOption, IndexOptions, checkpoint
from search.cli.output import Output
from search.cli.progress import progress_bar, stopped_gently
from search.cli.tag import remove_annotations

VALIDATION = "Cross-validation"

HeadOption = Annotated[
    Path | None,
    typer.Option("--head", metavar="FOLDER", help="A head that `seewhy label train --out` has made."),
]


def label_train(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Labelled examples: CSV or TSV with the columns label and text, or label and passage (ids) or path "
            "of an index.",
        ),
    ],
    index: IndexOptions,
    output: Output,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to keep the head.")] = None,
    name: Annotated[str, typer.Option(help="What is labelled, and the field of filters.")] = "label",
    replace: Annotated[
        bool, typer.Option("--replace", help="With --out: overwrite the head that is there.")
    ] = False,
    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the texts.")] = None,
    label_column: Annotated[str, typer.Option(metavar="NAME", help="The column of the labels.")] = "label",
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Read the beginning of texts that are too long.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="The encoder, where there is no index. Default: all-MiniLM-L6-v2.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    pooling: Annotated[
        str | None, typer.Option(help="mean, cls, pooler, max or mean_sqrt_len.", rich_help_panel=MODEL)
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the division.", rich_help_panel=VALIDATION)] = 5,
    repeats: Annotated[
        int, typer.Option(min=1, help="How often the examples are divided anew.", rich_help_panel=VALIDATION)
    ] = 10,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the division into folds.", rich_help_panel=VALIDATION)
    ] = 0,
    c: Annotated[
        float, typer.Option(help="Inverse strength of the regularisation.", rich_help_panel=VALIDATION)
    ] = 1.0,
) -> None:
    """Train a head on labelled examples: a linear classifier on frozen embeddings. Says how good it is."""
    if replace and not out:
        raise typer.BadParameter("--replace goes with --out")
    if index.index and encoder:
        raise typer.BadParameter("an index has its own encoder: leave --encoder or --index out")
    from search.annotating.label_training import train_labels
    from search.bert.labelling import check_no_head
    from search.evaluating.formats import read_examples
    from search.render import json
    from search.render import training as draw

    if out and not replace:
        check_no_head(out.expanduser())
    examples = read_examples(file.expanduser(), text_column=text_column, label_column=label_column)
    with progress_bar(output.quiet) as progress:
        trained = train_labels(
            examples,
            index=_index_of(index.index, encoder, any(example.text is None for example in examples)),
            model=encoder,
            pooling=pooling,
            name=name,
            folds=folds,
            repeats=repeats,
            seed=seed,
            c=c,
            truncate=truncate,
            source=file.name,
            offline=index.offline,
            engine=index.engine,
            progress=progress,
        )
    kept = trained.head.save(out, replace=replace) if out else None
    output.show(
        text=lambda: draw.label_training(trained.training, **output.style),
        data=lambda: json.document(trained.training, head=None if kept is None else str(kept)),
    )
    if kept is None:
        output.note("note: the head was not kept; name a folder for it with --out")
    else:
        output.note(f"wrote {kept}; label with it: seewhy label apply --head {kept}")


def label_apply(
    engine: EngineOptions,
    output: Output,
    model: Annotated[
        str | None, checkpoint("A checkpoint that was trained to classify texts: label with its classes.")
    ] = None,
    head: HeadOption = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Label this text instead of an index. May be repeated."),
    ] = None,
    index: IndexOption = None,
    name: Annotated[
        str | None, typer.Option(help="The field of filters. Default: the head's name, else label.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Drop the labels of that name that another model or head has given."),
    ] = False,
    device: DeviceOption = None,
) -> None:
    """Label every passage of an index that has no label yet, or texts: by a checkpoint or by a trained head.

    Filters then find it: --where "sentiment=positive". With --text nothing is stored.
    """
    if (model is None) == (head is None):
        raise typer.BadParameter("give one of --model and --head")
    if text and (index or name or replace):
        raise typer.BadParameter("--text labels no index: leave --index, --name and --replace out")
    if device and not model:
        raise typer.BadParameter("--device goes with --model: a head runs on the processor")
    if engine.engine != "auto" and not (head and text):
        raise typer.BadParameter("--engine goes with --head and --text")
    from search.render import json
    from search.render import predictions as draw

    if text:
        from search.bert.labelling import label as labels_of

        given = labels_of(
            text, model=model, head=head, offline=engine.offline, engine=engine.engine, device=device
        )
        output.show(text=lambda: draw.labelling(given, **output.style), data=lambda: json.document(given))
        return
    from search.index import Index

    opened = Index.open(index, offline=engine.offline)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = opened.label(model, head=head, name=name, replace=replace, device=device, progress=progress)
    output.show(text=lambda: draw.labelled_index(report, **output.style), data=lambda: json.document(report))
    output.remarks(report.notes)


def label_explain(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="What is labelled.")],
    engine: EngineOptions,
    output: Output,
    head: HeadOption = None,
) -> None:
    """Say what each word of a text adds to each label of a head."""
    if head is None:
        raise typer.BadParameter("--head is needed: a folder that `seewhy label train --out` has made")
    from search.bert.labelling import explain_label, load_linear_head
    from search.render import json
    from search.render import predictions as draw

    loaded = load_linear_head(str(head))
    explanations = [
        explain_label(text, loaded, offline=engine.offline, engine=engine.engine) for text in texts
    ]
    output.show(
        text=lambda: "\n\n".join(draw.label_explanation(why, **output.style) for why in explanations),
        data=lambda: json.document(explanations),
    )


def label_remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which labels.")],
    output: Output,
    index: IndexOption = None,
) -> None:
    """Remove labels from an index."""
    remove_annotations(index, name, output)


def _index_of(index: str | None, encoder: str | None, needed: bool) -> str | None:
    """The index that examples are of: the one that is named, else the one that is meant where they name passages."""
    if index or encoder or not needed:
        return index
    from search.store.layout import find_index

    return str(find_index(None))
