"""seewhy train"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from search.cli.options import OfflineOption, checkpoint
from search.cli.output import Output, PngOption, check_drawable, note, progress_bar, write_file


class LossName(str, Enum):
    multiple_negatives = "multiple-negatives"
    cosent = "cosent"
    angle = "angle"
    cosine = "cosine"


STEPS = "Steps"


@dataclass(frozen=True)
class StepOptions:
    """How the steps are made; the keywords of `search.bert.train`."""

    epochs: Annotated[int, typer.Option(min=1, help="How often every example is seen.")] = 1
    batch_size: Annotated[int, typer.Option(min=1, help="Examples a step.", rich_help_panel=STEPS)] = 16
    lr: Annotated[float, typer.Option(min=0.0, help="The highest learning rate.", rich_help_panel=STEPS)] = (
        2e-05
    )
    warmup: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="The share of the steps in which it rises to that.", rich_help_panel=STEPS
        ),
    ] = 0.1
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of all that is random.", rich_help_panel=STEPS)
    ] = 0


def train(
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
    from search.render import picture
    from search.render import training as draw

    check_drawable(png)
    try:
        with progress_bar(output.quiet) as progress:
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
    except KeyboardInterrupt:
        again = "The same command with --resume goes on from the last checkpoint, if any."
        note(f"seewhy: stopped. {again}", output.quiet)
        raise
    if png:
        write_file(png, picture.training(report))
        output.note(f"wrote {png}")
    output.show(report, draw.training)
