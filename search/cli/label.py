"""seewhy label"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.index import stopped_gently
from search.cli.options import (
    Colour,
    ColourOption,
    DeviceOption,
    EngineOption,
    IndexOption,
    JsonOption,
    OfflineOption,
    QuietOption,
    note,
    remarks,
)
from search.cli.shown import Shown
from search.cli.tag import take_away

if TYPE_CHECKING:
    from search.records.predictions import LabelExplanation, LabelledIndex, Labelling, LabelTraining

Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="TEXT", help="Label this text instead of an index. May be repeated."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="A checkpoint that was trained to classify texts: label with its classes.",
    ),
]
Head = Annotated[
    Path | None,
    typer.Option("--head", metavar="FOLDER", help="Label with a head that --train --out has made."),
]
Train = Annotated[
    Path | None,
    typer.Option(
        "--train",
        metavar="FILE",
        help="Train a head on labelled examples: CSV or TSV with the columns label and text, or label and passage "
        "(ids) or path of an index.",
    ),
]
TextColumn = Annotated[
    str | None, typer.Option("--text-column", metavar="NAME", help="With --train: the column of the texts.")
]
LabelColumn = Annotated[
    str, typer.Option("--label-column", metavar="NAME", help="With --train: the column of the labels.")
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME|FOLDER",
        help="With --train and without an index: the encoder. Default: all-MiniLM-L6-v2.",
    ),
]
Pooling = Annotated[
    list[str] | None,
    typer.Option(
        "--pooling",
        help="With --train: mean, cls, pooler, max or mean_sqrt_len. Repeated, the others are compared with the first, "
        "which is the head's.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="With --train: where to keep the head.")
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="What is labelled, and the field of filters. Default: the head's name, else label.",
    ),
]
Folds = Annotated[
    int | None,
    typer.Option("--folds", min=2, help="With --train: parts of the cross-validation. Default: 5."),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats", min=1, help="With --train: how often the examples are divided anew. Default: 10."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="With --train: of the division into folds. Default: 0."),
]
Strength = Annotated[
    float | None,
    typer.Option("--c", help="With --train: inverse strength of the regularisation. Default: 1."),
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="With --train: read the beginning of texts that are too long.")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="With --text and --head: what each word adds to each label.")
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Drop the labels of that name that another model or head has given; with --train, the head in --out.",
    ),
]
Remove = Annotated[bool, typer.Option("--remove", help="Remove the labels --name from the index.")]


def label(
    text: Text = None,
    model: Model = None,
    head: Head = None,
    index: IndexOption = None,
    name: Name = None,
    explain: Explain = False,
    replace: Replace = False,
    remove: Remove = False,
    train: Train = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = "label",
    encoder: EncoderOption = None,
    pooling: Pooling = None,
    folds: Folds = None,
    repeats: Repeats = None,
    seed: Seed = None,
    c: Strength = None,
    truncate: Truncate = False,
    out: Out = None,
    offline: OfflineOption = False,
    engine: EngineOption = "auto",
    device: DeviceOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Label the passages of an index, or texts: by a checkpoint, or by a head that is trained here.

    --model or --head labels every passage that has no label yet; filters then find it: --where "sentiment=positive".
    With --text it labels that text. --train makes a head from labelled examples and says how good it is.
    """
    _check_one(train=train, model=model, head=head, remove=remove or None)
    numbers = {"folds": folds, "repeats": repeats, "seed": seed, "c": c}
    given_numbers = {key: value for key, value in numbers.items() if value is not None}
    if train is None:
        _check_training(
            {
                "--text-column": text_column,
                "--label-column": label_column != "label",
                "--encoder": encoder,
                "--pooling": pooling,
                "--out": out,
                "--truncate": truncate,
                **{f"--{key}": True for key in given_numbers},
            }
        )
        if engine != "auto" and not (head and text):
            raise typer.BadParameter("--engine goes with --train, and with --head and --text")
    if text and (train or remove or index or name or replace):
        raise typer.BadParameter("--text goes with --model or --head alone; it labels no index")
    if explain and not (text and head):
        raise typer.BadParameter("--explain needs --text and --head")
    if remove and not name:
        raise typer.BadParameter("--remove needs --name: which labels")
    if replace and (remove or (train and not out)):
        raise typer.BadParameter("--replace goes with --model, with --head, and with --train and --out")
    if device and not model:
        raise typer.BadParameter("--device goes with --model: a head runs on the processor")
    if train and index and encoder:
        raise typer.BadParameter("an index has its own encoder: leave --encoder or --index out")
    shown = Shown.asked(None, None, as_json, quiet, color)
    if train:
        from search.bert.label_training import train_labels
        from search.bert.linear_head import check_no_head
        from search.cli.eval import bars
        from search.evaluating.formats.labels import read_examples

        if out and not replace:
            check_no_head(out.expanduser())
        examples = read_examples(train.expanduser(), text_column=text_column, label_column=label_column)
        with bars(quiet) as progress:
            made = train_labels(
                examples,
                index=_index_of(index, encoder, any(one.text is None for one in examples)),
                model=encoder,
                poolings=pooling or (),
                name=name or "label",
                **given_numbers,  # type: ignore[arg-type]
                truncate=truncate,
                source=train.name,
                offline=offline,
                engine=engine,
                progress=progress,
            )
        kept = made.head.save(out, replace=replace) if out else None
        _show_training(shown, made.training, kept)
    elif remove:
        take_away(index, str(name), as_json)
    elif text and explain:
        from search.bert.label_addends import explain_label
        from search.bert.linear_head import load_linear_head

        loaded = load_linear_head(str(head))
        _show_explanations(
            shown, [explain_label(one, loaded, offline=offline, engine=engine) for one in text]
        )
    elif text:
        from search.bert.labelling import label as labels_of

        _show_texts(
            shown, labels_of(text, model=model, head=head, offline=offline, engine=engine, device=device)
        )
    else:
        from search.annotating.labelling import label_index
        from search.cli.progress import progress_bar

        with stopped_gently(quiet), progress_bar(quiet) as progress:
            done = label_index(
                index,
                model=model,
                head=head,
                name=name,
                replace=replace,
                offline=offline,
                device=device,
                progress=progress,
            )
        _show_index(shown, done)


def _check_one(**asked: object) -> None:
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        there = f"there are {' and '.join(f'--{name}' for name in given)}" if given else "none is given"
        raise typer.BadParameter(f"give one of --model, --head, --train and --remove; {there}")


def _check_training(only: Mapping[str, object]) -> None:
    if given := [name for name, value in only.items() if value]:
        raise typer.BadParameter(f"{given[0]} goes with --train")


def _index_of(index: str | None, encoder: str | None, needed: bool) -> str | None:
    """The index that examples are of: the one that is named, else the one that is meant where they name passages."""
    if index or encoder or not needed:
        return index
    from search.store.layout import find_index

    return str(find_index(None))


def _show_texts(shown: Shown, found: Labelling) -> None:
    from search.render import labels

    shown.result(text=lambda: labels.labelling(found, **shown.style), data=lambda: labels.as_json(found))


def _show_index(shown: Shown, found: LabelledIndex) -> None:
    from search.render import labels

    shown.result(text=lambda: labels.labelled_index(found, **shown.style), data=lambda: labels.as_json(found))
    remarks(found.notes, shown.quiet)


def _show_training(shown: Shown, found: LabelTraining, kept: Path | None) -> None:
    from search.render import label_report, labels

    shown.result(
        text=lambda: label_report.training(found, **shown.style),
        data=lambda: labels.as_json(found, head=None if kept is None else str(kept)),
    )
    if kept is None:
        note("note: the head was not kept; name a folder for it with --out", shown.quiet)
    else:
        note(f"wrote {kept}; label with it: seewhy label --head {kept}", shown.quiet)


def _show_explanations(shown: Shown, found: list[LabelExplanation]) -> None:
    from search.render import labels

    shown.result(
        text=lambda: "\n\n".join(labels.explanation(one, **shown.style) for one in found),
        data=lambda: labels.explanations_json(found),
    )
