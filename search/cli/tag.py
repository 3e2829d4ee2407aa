"""seewhy tag"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from search.cli.index import stopped_gently
from search.cli.options import (
    Colour,
    ColourOption,
    DeviceOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    QuietOption,
    echo,
)
from search.cli.shown import Shown


class TagTaskName(str, Enum):
    ner = "ner"
    pos = "pos"


Task = Annotated[TagTaskName, typer.Option("--task", help="ner: entities. pos: parts of speech.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="A checkpoint that was trained to classify tokens, such as dslim/bert-base-NER.",
        show_default=False,
    ),
]
FreeText = Annotated[
    str | None,
    typer.Option(
        "--text", metavar="TEXT", help="Tag this text instead of an index, and print it.", show_default=False
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="What the annotations are called. Default: the task.",
        show_default=False,
    ),
]
Prefix = Annotated[
    str,
    typer.Option(
        "--prefix", metavar="P", help="Put this before the names of the fields.", show_default=False
    ),
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace", help="Put these in place of annotations of this name that something else made."
    ),
]
Remove = Annotated[bool, typer.Option("--remove", help="Remove the annotations of this name from the index.")]


def tag(
    task: Task = TagTaskName.ner,
    model: Model = None,
    text: FreeText = None,
    index: IndexOption = None,
    name: Name = None,
    prefix: Prefix = "",
    replace: Replace = False,
    remove: Remove = False,
    device: DeviceOption = None,
    offline: OfflineOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Find entities or parts of speech in an index, for filters such as --where "person='Ada Lovelace'".

    Only passages that were not tagged yet are read: a run that is stopped goes on where it was, and after an update
    of the index only new passages are read. With --text nothing is stored, and every word is shown.
    """
    if remove and (text is not None or model or replace or prefix):
        raise typer.BadParameter("--remove goes with --index, --name and --task alone")
    if text is not None and (index or name or prefix or replace):
        raise typer.BadParameter("--text asks no index: leave --index, --name, --prefix and --replace out")
    if remove:
        take_away(index, name or task.value, as_json)
        return
    if not model:
        raise typer.BadParameter(
            "--model is needed: a checkpoint that was trained to classify tokens, such as dslim/bert-base-NER"
        )
    shown = Shown.asked(None, None, as_json, quiet, color)
    if text is not None:
        _tag_text(text, model, task, device, offline, shown)
        return
    from search.cli.progress import progress_bar
    from search.index import Index
    from search.render import json
    from search.render import tags as draw

    opened = Index.open(index, offline=offline)
    with stopped_gently(quiet), progress_bar(quiet) as progress:
        done = opened.tag(
            model,
            task=task.value,
            name=name,
            prefix=prefix,
            replace=replace,
            device=device,
            progress=progress,
        )
    shown.result(text=lambda: draw.report(done, **shown.style), data=lambda: json.document(done))


def _tag_text(
    text: str, model: str, task: TagTaskName, device: str | None, offline: bool, shown: Shown
) -> None:
    """A text that is in no index."""
    from search.bert import tag as tagged
    from search.render import json
    from search.render import tags as draw

    found = tagged(text, model=model, task=task.value, offline=offline, device=device)
    shown.result(text=lambda: draw.tagged(found, **shown.style), data=lambda: json.document(found))


def take_away(index: str | None, name: str, as_json: bool) -> None:
    """`--remove`"""
    from search.index import Index
    from search.render import json
    from search.render import tags as draw

    was = Index.open(index).remove_annotations(name)
    if as_json:
        echo(json.document(was))
    else:
        echo(draw.removed(was))
