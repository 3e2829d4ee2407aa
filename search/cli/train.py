"""seewhy lab train encoder, seewhy lab train classify, seewhy lab train tag, seewhy lab train read"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from search.cli.options import DeviceOption, OfflineOption, checkpoint, panel
from search.cli.output import Output, PngOption, check_drawable, note, progress_bar, write_file

if TYPE_CHECKING:
    from search.records.evaluations import TrainingReport

step_option, held_option = panel("Steps"), panel("Held out")
OutOption = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where the model goes; nothing may be there yet.")
]


@dataclass(frozen=True)
class TrainOptions:
    """How a model is trained; `search.records.options.TrainOptions`."""

    model: Annotated[str | None, checkpoint("The checkpoint to train. Default: all-MiniLM-L6-v2.")] = None
    freeze: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            help="Leave the embeddings and the first N layers as they are; all: the whole encoder.",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the last checkpoint of a run that was stopped, if any."),
    ] = False
    png: PngOption = None
    dev: Annotated[
        Path | None, held_option(metavar="FILE", help="Measure with this file. Default: a tenth of DATA.")
    ] = None
    epochs: Annotated[
        int | None, step_option(min=1, help="How often every example is seen at most. Default: 1; heads 4.")
    ] = None
    batch_size: Annotated[int, step_option(min=1, help="Examples a step.")] = 16
    lr: Annotated[
        float | None,
        step_option(
            min=0.0, help="The highest learning rate. Default: 2e-5; heads 1e-4, with --freeze all 1e-2."
        ),
    ] = None
    seed: Annotated[int, step_option(min=0, max=2**32 - 1, help="Of all that is random.")] = 0
    precision: Annotated[
        Literal["fp32", "bf16"],
        step_option(help="Of the arithmetic; bf16 is quicker where there are units for it."),
    ] = "fp32"
    device: DeviceOption = None
    offline: OfflineOption = False


def train_encoder(
    out: OutOption,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or JSONL with query, passage (and negative), or with sentence1, sentence2 and score.",
        ),
    ],
    options: TrainOptions,
    output: Output,
) -> None:
    """Fine-tune the encoder on examples, and say what it was worth.

    Held-out data is measured before and after. The result is a folder that `seewhy index --model` takes; a model
    card in it says what it was made of. --png draws the learning curve.
    """
    from search.bert import train

    _train(train, data, out, options, output)


def train_classify(
    out: OutOption,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV, TSV or JSONL with the columns text and label.")
    ],
    options: TrainOptions,
    output: Output,
) -> None:
    """Train a classifier of texts on BERT, with all of it or with layers frozen.

    The result is a folder for `seewhy lab label apply --model`. Held-out texts are measured before and after.
    """
    from search.bert import train_classifier

    _train(train_classifier, data, out, options, output)


def train_tag(
    out: OutOption,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Words with their labels, in CoNLL format.")],
    options: TrainOptions,
    output: Output,
) -> None:
    """Train a tagger of entities on BERT.

    The result is a folder for `seewhy lab tag --model` and `seewhy eval --task entities --model`.
    """
    from search.bert import train_tagger

    _train(train_tagger, data, out, options, output)


def train_read(
    out: OutOption,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Questions with answers in paragraphs: SQuAD's JSON.")
    ],
    options: TrainOptions,
    output: Output,
) -> None:
    """Train a reader that answers questions with spans of a text.

    The result is a folder for `seewhy lab ask --model` and `seewhy eval --task answers --model`.
    """
    from search.bert import train_reader

    _train(train_reader, data, out, options, output)


def _train(
    train: Callable[..., TrainingReport],
    data: Path,
    out: Path,
    options: TrainOptions,
    output: Output,
    **more: Any,
) -> None:
    """Train, and show what it was worth."""
    from search.render import evaluation as draw

    given = {**vars(options), **more}
    png, freeze = given.pop("png"), given.pop("freeze")
    check_drawable(png)
    if freeze not in (None, "all") and not freeze.isdecimal():
        raise typer.BadParameter(f"--freeze takes a number of layers, or all, and not '{freeze}'")
    layers = int(freeze) if freeze and freeze != "all" else freeze
    try:
        with progress_bar(output.quiet) as progress:
            report = train(data, out, freeze=layers, progress=progress, **given)
    except KeyboardInterrupt:
        again = "The same command with --resume goes on from the last checkpoint, if any."
        note(f"seewhy: stopped. {again}", output.quiet)
        raise
    if png:
        from search.render import picture

        write_file(png, picture.training(report))
        output.note(f"wrote {png}")
    output.show(report, draw.training)
