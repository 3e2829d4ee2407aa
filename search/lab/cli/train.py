"""seewhy lab train"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from search.cli.options import OfflineOption, checkpoint, panel
from search.cli.output import Output, progress_bar

step_option, held_option = panel("Steps"), panel("Held out")
_TRAINERS = {
    "encoder": "train",
    "classify": "train_classifier",
    "tag": "train_tagger",
    "read": "train_reader",
}


@dataclass(frozen=True)
class TrainerOptions:
    """Options of training; see `search.lab.records.training.TrainOptions`."""

    model: Annotated[str | None, checkpoint("The checkpoint to train. Default: all-MiniLM-L6-v2.")] = None
    freeze: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            help="Freeze the embeddings and the first N layers; 'all' freezes the encoder.",
        ),
    ] = None
    dev: Annotated[
        Path | None, held_option(metavar="FILE", help="Evaluate on this file. Default: a tenth of DATA.")
    ] = None
    epochs: Annotated[
        int | None,
        step_option(min=1, help="Maximum number of epochs. Default: 1 for the encoder, 4 for a head."),
    ] = None
    batch_size: Annotated[int, step_option(min=1, help="Examples per step.")] = 16
    lr: Annotated[
        float | None,
        step_option(
            min=0.0, help="Peak learning rate. Default: 2e-5; for heads 1e-4 (--freeze all: 1e-2)."
        ),
    ] = None
    seed: Annotated[int, step_option(min=0, max=2**32 - 1, help="Random seed.")] = 0
    offline: OfflineOption = False


def train(
    kind: Annotated[
        Literal["encoder", "classify", "tag", "read"],
        typer.Argument(
            metavar="WHAT",
            help="Train the encoder, or a head to classify texts, tag entities or read answers.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="New folder for the model."),
    ],
    options: TrainerOptions,
    output: Output,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Pairs or labelled texts as CSV, TSV or JSONL; for tag CoNLL; for read SQuAD JSON.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Dataset of the Hugging Face hub, or a folder, instead of DATA."
        ),
    ] = None,
) -> None:
    """Train an encoder or a head on examples, and measure the gain.

    The model is evaluated on held-out data before and after. Use an encoder with `seewhy index --model FOLDER`, a head
    with `seewhy lab label apply`, `lab tag`, `lab ask` or `seewhy eval`.
    """
    from search.lab import training
    from search.lab.render import training as draw

    keywords: dict[str, Any] = dict(vars(options))
    if (freeze := keywords["freeze"]) not in (None, "all"):
        if not freeze.isdecimal():
            raise typer.BadParameter(f"--freeze takes a number of layers or 'all', not '{freeze}'")
        keywords["freeze"] = int(freeze)
    if (data is None) == (dataset is None):
        raise typer.BadParameter("give either DATA or --dataset NAME")
    with TemporaryDirectory() as folder, progress_bar(output.quiet) as progress:
        if dataset:
            from search.lab.training.hub import dataset_file

            data = dataset_file(dataset, Path(folder))
        report = getattr(training, _TRAINERS[kind])(data, out, progress=progress, **keywords)
    output.show(report, draw.training)
