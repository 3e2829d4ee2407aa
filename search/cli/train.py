"""seewhy lab train encoder, seewhy lab train classify, seewhy lab train tag, seewhy lab train read"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from search.cli.options import DeviceOption, OfflineOption, checkpoint, panel
from search.cli.output import Output, PngOption, check_drawable, note, progress_bar, write_file

if TYPE_CHECKING:
    from search.records.evaluations import TrainingReport


class LossName(str, Enum):
    multiple_negatives = "multiple-negatives"
    cosent = "cosent"
    angle = "angle"
    cosine = "cosine"


STEPS = "Steps"


WarmupOption = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, help="The share of the steps in which it rises to that.", rich_help_panel=STEPS
    ),
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Of all that is random.", rich_help_panel=STEPS)
]


@dataclass(frozen=True)
class StepOptions:
    """How the steps are made; the keywords of `search.bert.train`."""

    epochs: Annotated[int, typer.Option(min=1, help="How often every example is seen.")] = 1
    batch_size: Annotated[int, typer.Option(min=1, help="Examples a step.", rich_help_panel=STEPS)] = 16
    lr: Annotated[float, typer.Option(min=0.0, help="The highest learning rate.", rich_help_panel=STEPS)] = (
        2e-05
    )
    warmup: WarmupOption = 0.1
    seed: SeedOption = 0


def train_encoder(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the model goes; nothing may be there yet.")
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or JSONL with query, passage (and negative), or with sentence1, sentence2 and score.",
        ),
    ],
    model: Annotated[
        str | None, checkpoint("The encoder to train, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Examples to measure with. Default: a share of DATA.",
        ),
    ] = None,
    loss: Annotated[
        LossName | None, typer.Option(help="Default: multiple-negatives; for scores cosine.")
    ] = None,
    dev_share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.5,
            help="The share held out, to measure and choose a checkpoint with; with --dev to choose alone.",
        ),
    ] = 0.1,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the last checkpoint of a run that was stopped, if any."),
    ] = False,
    png: PngOption = None,
    offline: OfflineOption = False,
    *,
    steps: StepOptions,
    output: Output,
) -> None:
    """Fine-tune the encoder on examples, and say what it was worth.

    Held-out data is measured before and after. The result is a folder that `seewhy index --model` takes; a model
    card in it says what it was made of. --png draws the learning curve.
    """
    from search import training

    check_drawable(png)
    with _stopped(output), progress_bar(output.quiet) as progress:
        report = training.train(
            data,
            out,
            model=model,
            dev=dev,
            dev_share=dev_share,
            loss=loss,
            resume=resume,
            offline=offline,
            progress=progress,
            **vars(steps),
        )
    _show(report, png, output)


@contextmanager
def _stopped(output: Output) -> Iterator[None]:
    """Ctrl-C: say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        again = "The same command with --resume goes on from the last checkpoint, if any."
        note(f"seewhy: stopped. {again}", output.quiet)
        raise


def _show(report: TrainingReport, png: Path | None, output: Output) -> None:
    """Print what a training did, and draw its curve if that was asked for."""
    from search.render import training as draw

    if png:
        from search.render import picture

        write_file(png, picture.training(report))
        output.note(f"wrote {png}")
    output.show(report, draw.training)


head_option, held_option = panel("Head"), panel("Held out")
OutOption = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where the model goes; nothing may be there yet.")
]


@dataclass(frozen=True)
class HeadOptions:
    """How a head is trained; keywords of `search.bert.train_classifier`."""

    model: Annotated[
        str | None, checkpoint("The checkpoint to train. Default: the encoder all-MiniLM-L6-v2.")
    ] = None
    freeze: Annotated[
        str | None,
        head_option(
            metavar="N|all",
            help="Leave the embeddings and the first N layers as they are; all: the whole encoder.",
        ),
    ] = None
    epochs: Annotated[int, typer.Option(min=1, help="How often every example is seen at most.")] = 4
    patience: Annotated[
        int,
        head_option(
            metavar="N",
            min=1,
            help="Stop after N evaluations in a row that bring nothing; there are two an epoch.",
        ),
    ] = 3
    dev: Annotated[
        Path | None, held_option(metavar="FILE", help="Measure with this file. Default: a share of DATA.")
    ] = None
    dev_share: Annotated[
        float,
        held_option(
            min=0.0,
            max=0.5,
            help="The share held out to choose a checkpoint by, and, without --dev, to measure.",
        ),
    ] = 0.1
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the last checkpoint of a run that was stopped, if any."),
    ] = False
    png: PngOption = None
    batch_size: Annotated[int, typer.Option(min=1, help="Examples a step.", rich_help_panel=STEPS)] = 16
    lr: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="The highest learning rate. Default: 1e-4; with --freeze all 1e-2.",
            rich_help_panel=STEPS,
        ),
    ] = None
    warmup: WarmupOption = 0.1
    seed: SeedOption = 0
    precision: Annotated[
        Literal["fp32", "bf16"],
        typer.Option(
            help="Of the arithmetic; bf16 is quicker where there are units for it.", rich_help_panel=STEPS
        ),
    ] = "fp32"
    device: DeviceOption = None
    offline: OfflineOption = False


BalancedOption = Annotated[
    Literal["balanced"] | None,
    head_option(
        "--class-weights", help="balanced: every class counts alike, however rare. Default: every example."
    ),
]


def _train_head(
    train: Callable[..., TrainingReport],
    data: Path,
    out: Path,
    head: HeadOptions,
    output: Output,
    **more: Any,
) -> None:
    """Train, show, and say what the result is for."""
    given = {**vars(head), **more}
    png, freeze = given.pop("png"), given.pop("freeze")
    check_drawable(png)
    if freeze not in (None, "all") and not freeze.isdecimal():
        raise typer.BadParameter(f"--freeze takes a number of layers, or all, and not '{freeze}'")
    layers = int(freeze) if freeze and freeze != "all" else freeze
    with _stopped(output), progress_bar(output.quiet) as progress:
        report = train(data, out, freeze=layers, progress=progress, **given)
    _show(report, png, output)


def train_classify(
    out: OutOption,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV, TSV or JSONL with the columns text and label.")
    ],
    head: HeadOptions,
    output: Output,
    class_weights: BalancedOption = None,
    text_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the texts.")] = None,
    label_column: Annotated[str, typer.Option(metavar="NAME", help="The column of the labels.")] = "label",
) -> None:
    """Train a classifier of texts on BERT, with all of it or with layers frozen.

    The result is a folder for `seewhy lab label apply --model`. Held-out texts are measured before and after.
    """
    from search.bert import train_classifier

    more = {"class_weights": class_weights, "text_column": text_column, "label_column": label_column}
    _train_head(train_classifier, data, out, head, output, **more)


def train_tag(
    out: OutOption,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Words with their labels, in CoNLL format.")],
    head: HeadOptions,
    output: Output,
    class_weights: BalancedOption = None,
) -> None:
    """Train a tagger of entities on BERT.

    The result is a folder for `seewhy lab tag --model` and `seewhy eval-ner --model`.
    """
    from search.bert import train_tagger

    _train_head(train_tagger, data, out, head, output, class_weights=class_weights)


def train_read(
    out: OutOption,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Questions with answers in paragraphs: SQuAD's JSON.")
    ],
    head: HeadOptions,
    output: Output,
) -> None:
    """Train a reader that answers questions with spans of a text.

    The result is a folder for `seewhy lab ask --model` and `seewhy eval-qa --model`.
    """
    from search.bert import train_reader

    _train_head(train_reader, data, out, head, output)
