"""seewhy train"""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import OfflineOption
from search.cli.output import DrawnOutput, note
from search.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.records.evaluations import TrainingReport


class LossName(str, Enum):
    multiple_negatives = "multiple-negatives"
    cosent = "cosent"
    angle = "angle"
    cosine = "cosine"


class PrecisionName(str, Enum):
    fp32 = "fp32"
    bf16 = "bf16"


EXAMPLES, STEPS = "Examples", "Steps"


def train(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Where the model goes; nothing may be there yet.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or JSONL with query, passage (and negative), or with sentence1, sentence2 and score; or a "
            "folder in BEIR layout.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME|FOLDER",
            help="The encoder to train, or NAME@REVISION. Default: all-MiniLM-L6-v2.",
        ),
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Examples to measure with; of a BEIR folder the split dev or test. Default: a share of DATA.",
        ),
    ] = None,
    dev_share: Annotated[
        float,
        typer.Option(
            "--dev-share",
            min=0.0,
            max=0.5,
            help="The share held out, to measure and choose a checkpoint with; with --dev to choose alone.",
        ),
    ] = 0.1,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Which judgements of a BEIR folder: qrels/SPLIT.tsv. Default: train, or the only one.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None,
    loss: Annotated[
        LossName | None,
        typer.Option("--loss", help="Default: multiple-negatives; for scores cosine.", show_default=False),
    ] = None,
    negatives: Annotated[
        str | None,
        typer.Option(
            "--negatives",
            metavar="INDEX",
            help="Take hard negatives from this index: passages near a query that are not its own.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None,
    negatives_per_pair: Annotated[
        int | None,
        typer.Option(
            "--negatives-per-pair",
            min=1,
            help="With --negatives: how many. Default: 1.",
            show_default=False,
            rich_help_panel=EXAMPLES,
        ),
    ] = None,
    adapt: Annotated[
        str | None,
        typer.Option(
            "--adapt",
            metavar="FOLDER|INDEX",
            help="Instead of DATA: learn from these passages, without labels.",
        ),
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="How often every example is seen.")] = 1,
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, help="Examples a step.", rich_help_panel=STEPS)
    ] = 16,
    lr: Annotated[
        float | None,
        typer.Option(
            "--lr",
            help="The highest learning rate. Default: 2e-05, with --adapt 3e-05.",
            show_default=False,
            rich_help_panel=STEPS,
        ),
    ] = None,
    warmup: Annotated[
        float,
        typer.Option(
            "--warmup", help="The share of the steps in which it rises to that.", rich_help_panel=STEPS
        ),
    ] = 0.1,
    checkpoint_steps: Annotated[
        int | None,
        typer.Option(
            "--checkpoint-steps",
            min=1,
            metavar="STEPS",
            help="Steps between evaluations, each with a checkpoint. Default: four an epoch.",
            rich_help_panel=STEPS,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            "--patience",
            min=1,
            help="Stop after so many evaluations without a better one. Default: never.",
            rich_help_panel=STEPS,
        ),
    ] = None,
    precision: Annotated[
        PrecisionName,
        typer.Option("--precision", help="fp32; bf16 on a GPU, which is quicker.", rich_help_panel=STEPS),
    ] = PrecisionName.fp32,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of all that is random.", rich_help_panel=STEPS)
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint of a run that was stopped.")
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="Throw away a run that was stopped, and begin anew.", rich_help_panel=STEPS
        ),
    ] = False,
    offline: OfflineOption = False,
    *,
    output: DrawnOutput,
) -> None:
    """Fine-tune the encoder on examples, or adapt it to passages, and say what it was worth.

    Held-out data is measured before and after. The result is a folder that `seewhy index --model` takes; a model
    card in it says what it was made of. --png draws the learning curve, --html a page with all figures.
    """
    if (data is None) == (adapt is None):
        raise typer.BadParameter("give DATA to learn from, or --adapt FOLDER|INDEX: one of the two")
    if adapt is not None and not adapt.strip():
        raise typer.BadParameter("--adapt is empty: name a folder or an index")
    if adapt is not None and (given := _labelled(dev, split, loss, negatives, negatives_per_pair)):
        raise typer.BadParameter(f"{given} is for examples: leave it out with --adapt")
    if negatives_per_pair is not None and negatives is None:
        raise typer.BadParameter("--negatives-per-pair needs --negatives INDEX")
    if resume and restart:
        raise typer.BadParameter("--resume and --restart exclude each other")
    common: dict[str, Any] = {
        "model": model, "dev_share": dev_share, "epochs": epochs, "batch_size": batch_size, "warmup": warmup,
        "checkpoint_steps": checkpoint_steps, "patience": patience,
        "precision": precision.value, "seed": seed, "resume": resume, "restart": restart, "offline": offline,
    }  # fmt: skip
    if lr is not None:
        common["lr"] = lr
    with _stopped(out, restart, output.quiet), progress_bar(output.quiet) as progress:
        if data is None:
            done = _adapted(str(adapt), out, {**common, "progress": progress})
        else:
            named: dict[str, Any] = {
                "dev": dev,
                "split": split,
                "loss": loss.value if loss else None,
            }
            named |= {**common, "progress": progress, "negatives_per_pair": negatives_per_pair or 1}
            done = _trained(data, out, negatives, named)
    _show(done, output)


def _labelled(
    dev: Path | None,
    split: str | None,
    loss: LossName | None,
    negatives: str | None,
    negatives_per_pair: int | None,
) -> str:
    """The first option that is for examples alone; "" if none is given."""
    given = {
        "--dev": dev,
        "--split": split,
        "--loss": loss,
        "--negatives": negatives,
        "--negatives-per-pair": negatives_per_pair,
    }
    return next((name for name, value in given.items() if value is not None), "")


def _trained(data: Path, out: Path, negatives: str | None, named: dict[str, Any]) -> TrainingReport:
    from search.training import train as run

    index = None
    if negatives is not None:
        from search.index import Index

        index = Index.open(negatives, offline=named["offline"])
    return run(data, out, negatives=index, **named)


def _adapted(source: str, out: Path, named: dict[str, Any]) -> TrainingReport:
    from search.training import adapt as run

    return run(source, out, **named)


@contextmanager
def _stopped(out: Path, restart: bool, quiet: bool) -> Iterator[None]:
    """Ctrl-C: say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        note(f"seewhy: stopped. {_how_to_go_on(out, restart)}", quiet)
        raise


def _how_to_go_on(out: Path, restart: bool) -> str:
    from search.errors import InputError
    from search.training.work import WorkFolder

    try:
        kept = WorkFolder(out).checkpoint() is not None
    except InputError:
        kept = False
    if not kept:
        return "Nothing was kept yet; run it again."
    instead = ", without --restart," if restart else ""
    return f"The same command with --resume{instead} goes on from the last checkpoint."


def _show(done: TrainingReport, output: DrawnOutput) -> None:
    from search.render import json, page, picture
    from search.render import training as draw

    output.result(
        text=lambda: draw.training(done, **output.style),
        data=lambda: json.document(done),
        png=lambda: picture.training(done),
        html=lambda: page.training(done),
        text_anyway=True,
    )
