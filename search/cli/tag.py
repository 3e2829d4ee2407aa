"""seewhy tag"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from search.cli.options import DeviceOption, IndexOption, OfflineOption, checkpoint
from search.cli.output import Output
from search.cli.progress import progress_bar, stopped_gently


class TagTaskName(str, Enum):
    ner = "ner"
    pos = "pos"


def tag(
    output: Output,
    task: Annotated[TagTaskName, typer.Option(help="ner: entities. pos: parts of speech.")] = TagTaskName.ner,
    model: Annotated[
        str | None,
        checkpoint("A checkpoint that was trained to classify tokens, such as dslim/bert-base-NER."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Tag this text instead of an index, and print it.")
    ] = None,
    index: IndexOption = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the annotations are called, and their fields begin with.",
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Put these in place of annotations of this name that something else made."
        ),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the annotations of this name from the index.")
    ] = False,
    device: DeviceOption = None,
    offline: OfflineOption = False,
) -> None:
    """Find entities or parts of speech in an index, for filters such as --where "person='Ada Lovelace'".

    Only passages that were not tagged yet are read: a run that is stopped goes on where it was, and after an update
    of the index only new passages are read. With --text nothing is stored, and every word is shown.
    """
    if remove and (text is not None or model or replace):
        raise typer.BadParameter("--remove goes with --index, --name and --task alone")
    if text is not None and (index or name or replace):
        raise typer.BadParameter("--text asks no index: leave --index, --name and --replace out")
    if remove:
        remove_annotations(index, name or task.value, output)
        return
    if not model:
        raise typer.BadParameter(
            "--model is needed: a checkpoint that was trained to classify tokens, such as dslim/bert-base-NER"
        )
    from search.render import json
    from search.render import predictions as draw

    if text is not None:
        from search.bert import tag as tagged

        words = tagged(text, model=model, task=task.value, offline=offline, device=device)
        output.show(text=lambda: draw.tagged(words, **output.style), data=lambda: json.document(words))
        return
    from search.index import Index

    opened = Index.open(index, offline=offline)
    with stopped_gently(output.quiet), progress_bar(output.quiet) as progress:
        report = opened.tag(
            model,
            task=task.value,
            name=name,
            replace=replace,
            device=device,
            progress=progress,
        )
    output.show(text=lambda: draw.tag_report(report, **output.style), data=lambda: json.document(report))


def remove_annotations(index: str | None, name: str, output: Output) -> None:
    """Remove annotations from an index, and say what there was."""
    from search.index import Index
    from search.render import json
    from search.render import predictions as draw

    was = Index.open(index).remove_annotations(name)
    output.show(text=lambda: draw.removed(was), data=lambda: json.document(was))
