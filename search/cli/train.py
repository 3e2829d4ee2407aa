"""seewhy lab train"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from search.cli.options import OfflineOption, checkpoint, panel
from search.cli.output import Output, note, progress_bar

step_option, held_option = panel("Steps"), panel("Held out")
_TRAINERS = {
    "encoder": "train",
    "classify": "train_classifier",
    "tag": "train_tagger",
    "read": "train_reader",
}


@dataclass(frozen=True)
class TrainerOptions:
    """Options of training; see `search.records.options.TrainOptions`."""

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
        typer.Option(
            "--resume", help="Go on from the last checkpoint of a run that was stopped, if any."
        ),
    ] = False
    dev: Annotated[
        Path | None, held_option(metavar="FILE", help="Measure with this file. Default: a tenth of DATA.")
    ] = None
    epochs: Annotated[
        int | None,
        step_option(min=1, help="How often every example is seen at most. Default: 1; heads 4."),
    ] = None
    batch_size: Annotated[int, step_option(min=1, help="Examples a step.")] = 16
    lr: Annotated[
        float | None,
        step_option(
            min=0.0, help="The highest learning rate. Default: 2e-5; heads 1e-4, with --freeze all 1e-2."
        ),
    ] = None
    seed: Annotated[int, step_option(min=0, max=2**32 - 1, help="Of all that is random.")] = 0
    offline: OfflineOption = False


def train(
    kind: Annotated[
        Literal["encoder", "classify", "tag", "read"],
        typer.Argument(
            metavar="WHAT",
            help="encoder, or a head on it: classify (texts), tag (entities), read (answers).",
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or JSONL of pairs, or of texts with labels; tag: CoNLL; read: SQuAD's JSON.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="Where the model goes; nothing may be there yet."),
    ],
    options: TrainerOptions,
    output: Output,
) -> None:
    """Train the encoder, or a head on it, on examples, and say what it was worth.

    Held-out data is measured before and after. The result is a folder for `seewhy index --model`; of a head for
    `seewhy lab label apply`, `lab tag` or `lab ask`, and `seewhy eval`.
    """
    import search.bert as bert
    from search.render import evaluation as draw

    keywords: dict[str, Any] = dict(vars(options))
    if (freeze := keywords["freeze"]) not in (None, "all"):
        if not freeze.isdecimal():
            raise typer.BadParameter(f"--freeze takes a number of layers, or all, and not '{freeze}'")
        keywords["freeze"] = int(freeze)
    try:
        with progress_bar(output.quiet) as progress:
            report = getattr(bert, _TRAINERS[kind])(data, out, progress=progress, **keywords)
    except KeyboardInterrupt:
        again = "The same command with --resume goes on from the last checkpoint, if any."
        note(f"seewhy: stopped. {again}", output.quiet)
        raise
    output.show(report, draw.training)
