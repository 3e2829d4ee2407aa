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
from search.cli.output import Output, PageOutput, progress_bar, stopped_gently
from search.records.options import Pooling


@dataclass(frozen=True)
class TaggerOptions:
    """Options of tagging; the fields are keywords of `search.bert.tag_index`."""

    task: Annotated[Literal["ner", "pos"], typer.Option(help="ner: entities. pos: parts of speech.")] = (
        "ner"
    )
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace existing tags of this task from another model."),
    ] = False


def tag(
    options: TaggerOptions,
    output: PageOutput,
    model: Annotated[
        str | None,
        checkpoint(
            "A token classification model, such as dslim/bert-base-NER. Default: that of make lab."
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Tag this text instead of an index.")
    ] = None,
    index: IndexOption = None,
    offline: OfflineOption = False,
) -> None:
    """Tag entities or parts of speech in all passages.

    You can then filter by the tags: --where "person='Ada Lovelace'". Only passages without tags are read, so you can
    continue an interrupted run, or tag new passages after an update. With --text, the tag of every word is printed
    and nothing is stored.
    """
    if text is not None and (index or options.replace):
        raise typer.BadParameter("--text uses no index: drop --index and --replace")
    if text is None and output.html:
        raise typer.BadParameter("--html needs --text")
    from search.lab.bert.checkpoint import head_or_small

    name = head_or_small("tag", model)
    from search.lab.render import predictions as draw

    if text is not None:
        from search.lab.bert.tagging import tag as tagged
        from search.lab.render.pages import tags
        from search.render.page import document

        words = tagged(text, model=name, task=options.task, offline=offline)
        output.result(words, draw.tagged, html=lambda: document(tags(words)))
        return
    from search.index import Index
    from search.lab.annotating.passages import tag_index

    opened = Index.open(index, offline=offline)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = tag_index(opened, name, offline=offline, progress=progress, **vars(options))
    output.show(report, draw.tag_report)


head_option = typer.Option("--head", metavar="FOLDER", help="Head from `seewhy lab label train`.")


@dataclass(frozen=True)
class FitOptions:
    """Arguments of `train_labels`, to train and cross-validate a head."""

    name: Annotated[str, typer.Option(help="Name of the labels in filters (NAME=VALUE).")] = "label"
    pooling: Annotated[Pooling | None, model_option(help="mean, cls, pooler, max or mean_sqrt_len.")] = (
        None
    )
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")] = 5


def label_train(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or TSV with the columns label and text, or label and path (an indexed file).",
        ),
    ],
    fit: FitOptions,
    index: IndexOptions,
    output: Output,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="New folder for the head.")] = None,
    encoder: Annotated[
        str | None,
        model_option(
            metavar="NAME|FOLDER", help="Encoder, if no index is used. Default: all-MiniLM-L6-v2."
        ),
    ] = None,
) -> None:
    """Train a head on labelled examples.

    The head is a linear classifier on frozen embeddings. Its accuracy is measured by cross-validation.
    """
    if index.index and encoder:
        raise typer.BadParameter("an index has its own encoder: drop --encoder or --index")
    from search.lab.annotating.labels import train_labels
    from search.lab.bert.labelling import check_no_head
    from search.lab.evaluating.formats import read_examples
    from search.lab.render import training as draw
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
        output.note("note: the head was not saved. To save it, add --out FOLDER")
    else:
        output.note(f"Saved {kept}. Label with: seewhy lab label apply --head {kept}")


def label_apply(
    output: Output,
    model: Annotated[
        str | None,
        checkpoint("A text classification model; its classes are the labels. Default: that of make lab."),
    ] = None,
    head: Annotated[Path | None, head_option] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Label this text instead of an index; may be repeated."),
    ] = None,
    index: IndexOption = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the labels in filters. Default: the name in the head, or label."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace labels of this name from another model or head."),
    ] = False,
    offline: OfflineOption = False,
) -> None:
    """Label texts, or all passages that have no label yet.

    You can then filter by the labels: --where "sentiment=positive". With --text, nothing is stored.
    """
    if model and head:
        raise typer.BadParameter("give either --model or --head")
    if text and (index or name or replace):
        raise typer.BadParameter("--text uses no index: drop --index, --name and --replace")
    from search.lab.bert.checkpoint import head_or_small
    from search.lab.render import predictions as draw

    if head is None:
        model = head_or_small("label", model)
    if text:
        from search.lab.bert.labelling import label as labels_of

        with progress_bar(output.quiet) as progress:
            labelling = labels_of(text, model=model, head=head, offline=offline, progress=progress)
        output.show(labelling, draw.labelling)
        return
    from search.index import Index
    from search.lab.annotating.passages import label_index

    opened = Index.open(index, offline=offline)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = label_index(
            opened,
            model=model,
            head=head,
            name=name,
            replace=replace,
            offline=offline,
            progress=progress,
        )
    output.show(report, draw.labelled_index)


def label_explain(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Texts to label and explain.")],
    engine: EngineOptions,
    output: Output,
    head: Annotated[Path, head_option],
) -> None:
    """Show how much each word of a text adds to each label's score."""
    from search.lab.bert.labelling import explain_label, load_linear_head
    from search.lab.render import predictions as draw

    loaded = load_linear_head(str(head))
    explanations = [
        explain_label(text, loaded, offline=engine.offline, engine=engine.engine) for text in texts
    ]
    output.show(explanations, draw.label_explanations)


def label_remove(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="ner, pos, or the name of the labels to remove.")
    ],
    output: Output,
    index: IndexOption = None,
) -> None:
    """Remove labels, entities or parts of speech from an index."""
    from search.lab.annotating.passages import remove_annotations
    from search.lab.render.predictions import removed

    output.show(remove_annotations(index, name), removed)


def _index_of(index: str | None, encoder: str | None, needed: bool) -> str | None:
    """Return the name or path of the index to use; None if no index is needed.

    Args:
        needed: True if examples are paths; without `index` and `encoder`, the default index is used.
    """
    if index or encoder or not needed:
        return index
    from search.store.layout import find_index

    return str(find_index(None))
