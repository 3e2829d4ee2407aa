"""seewhy lab tag, seewhy lab label train, seewhy lab label apply, seewhy lab label explain, seewhy lab label remove"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from search.cli.options import (
    EngineOptions,
    IndexOption,
    IndexOptions,
    OfflineOption,
    checkpoint,
    model_option,
)
from search.cli.output import Output, progress_bar, stopped_gently


@dataclass(frozen=True)
class TaggerOptions:
    """Tagging task, and treatment of earlier annotations; keywords of `Index.tag`."""

    task: Annotated[Literal["ner", "pos"], typer.Option(help="ner: entities. pos: parts of speech.")] = (
        "ner"
    )
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace annotations of this name by another model."),
    ] = False


def tag(
    tags: TaggerOptions,
    output: Output,
    model: Annotated[
        str, checkpoint("A checkpoint that was trained to classify tokens, such as dslim/bert-base-NER.")
    ],
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Tag this text instead of an index, and print it.")
    ] = None,
    index: IndexOption = None,
    offline: OfflineOption = False,
) -> None:
    """Find entities or parts of speech in all passages.

    Filters such as --where "person='Ada Lovelace'" then find them. Only passages that were not tagged yet are
    read: a run that is stopped goes on where it was, and after an update of the index only new passages are read.
    With --text nothing is stored, and every word is shown.
    """
    if text is not None and (index or tags.replace):
        raise typer.BadParameter("--text asks no index: leave --index and --replace out")
    from search.render import predictions as draw

    if text is not None:
        from search.bert import tag as tagged

        words = tagged(text, model=model, task=tags.task, offline=offline)
        output.show(words, draw.tagged)
        return
    from search.index import Index

    opened = Index.open(index, offline=offline)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = opened.tag(model, progress=progress, **vars(tags))
    output.show(report, draw.tag_report)


head_option = typer.Option(
    "--head", metavar="FOLDER", help="A head that `seewhy lab label train --out` has made."
)


@dataclass(frozen=True)
class FitOptions:
    """Training and cross-validation of a head; keywords of `train_labels`."""

    name: Annotated[str, typer.Option(help="What is labelled, and the field of filters.")] = "label"
    pooling: Annotated[str | None, model_option(help="mean, cls, pooler, max or mean_sqrt_len.")] = None
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5


def label_train(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or TSV with the columns label and text, or label and path of an index.",
        ),
    ],
    fit: FitOptions,
    index: IndexOptions,
    output: Output,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to keep the head.")] = None,
    encoder: Annotated[
        str | None,
        model_option(
            metavar="NAME|FOLDER", help="The encoder, where there is no index. Default: all-MiniLM-L6-v2."
        ),
    ] = None,
) -> None:
    """Train a head on labelled examples: a linear classifier on frozen embeddings. Says how good it is."""
    if index.index and encoder:
        raise typer.BadParameter("an index has its own encoder: leave --encoder or --index out")
    from search.annotating.labels import train_labels
    from search.bert.labelling import check_no_head
    from search.evaluating.formats import read_examples
    from search.render import evaluation as draw
    from search.render import json

    if out:
        check_no_head(out.expanduser())
    examples = read_examples(file.expanduser())
    with progress_bar(output.quiet) as progress:
        trained = train_labels(
            examples,
            index=_index_of(index.index, encoder, any(example.text is None for example in examples)),
            model=encoder,
            source=file.name,
            offline=index.offline,
            engine=index.engine,
            progress=progress,
            **vars(fit),
        )
    kept = trained.head.save(out) if out else None
    output.show(
        trained.training,
        draw.label_training,
        data=lambda: json.document(trained.training, head=None if kept is None else str(kept)),
    )
    if kept is None:
        output.note("note: the head was not kept; name a folder for it with --out")
    else:
        output.note(f"wrote {kept}; label with it: seewhy lab label apply --head {kept}")


def label_apply(
    output: Output,
    model: Annotated[
        str | None, checkpoint("A checkpoint that was trained to classify texts: label with its classes.")
    ] = None,
    head: Annotated[Path | None, head_option] = None,
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
        typer.Option("--replace", help="Drop the labels of that name by another model or head."),
    ] = False,
    offline: OfflineOption = False,
) -> None:
    """Label every passage that has no label yet, or texts.

    By a checkpoint or by a trained head. Filters then find it: --where "sentiment=positive". With --text
    nothing is stored.
    """
    if (model is None) == (head is None):
        raise typer.BadParameter("give one of --model and --head")
    if text and (index or name or replace):
        raise typer.BadParameter("--text labels no index: leave --index, --name and --replace out")
    from search.render import predictions as draw

    if text:
        from search.bert.labelling import label as labels_of

        with progress_bar(output.quiet) as progress:
            labelling = labels_of(text, model=model, head=head, offline=offline, progress=progress)
        output.show(labelling, draw.labelling)
        return
    from search.index import Index

    opened = Index.open(index, offline=offline)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = opened.label(model, head=head, name=name, replace=replace, progress=progress)
    output.show(report, draw.labelled_index)


def label_explain(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="What is labelled.")],
    engine: EngineOptions,
    output: Output,
    head: Annotated[Path, head_option],
) -> None:
    """Say what each word of a text adds to each label of a head."""
    from search.bert.labelling import explain_label, load_linear_head
    from search.render import predictions as draw

    loaded = load_linear_head(str(head))
    explanations = [
        explain_label(text, loaded, offline=engine.offline, engine=engine.engine) for text in texts
    ]
    output.show(explanations, draw.label_explanations)


def label_remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What they are called: label, ner, pos.")],
    output: Output,
    index: IndexOption = None,
) -> None:
    """Remove labels, or entities or parts of speech, from an index."""
    from search.index import Index
    from search.render.predictions import removed

    output.show(Index.open(index).remove_annotations(name), removed)


def _index_of(index: str | None, encoder: str | None, needed: bool) -> str | None:
    """Index that the examples refer to: the named one; else the default one, if they name passages."""
    if index or encoder or not needed:
        return index
    from search.store.layout import find_index

    return str(find_index(None))
