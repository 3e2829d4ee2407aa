"""seewhy train"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import OfflineOption, checkpoint
from search.cli.output import DrawnOutput, note
from search.cli.progress import progress_bar
from search.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


class LossName(str, Enum):
    multiple_negatives = "multiple-negatives"
    cosent = "cosent"
    angle = "angle"
    cosine = "cosine"


class PrecisionName(str, Enum):
    fp32 = "fp32"
    bf16 = "bf16"


EXAMPLES, STEPS = "Examples", "Steps"


@dataclass(frozen=True)
class ExampleOptions:
    """What is for labelled examples alone."""

    dev: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Examples to measure with; of a BEIR folder the split dev or test. Default: a share of DATA.",
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            help="Which judgements of a BEIR folder: qrels/SPLIT.tsv. Default: train, or the only one.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None
    loss: Annotated[LossName | None, typer.Option(help="Default: multiple-negatives; for scores cosine.")] = (
        None
    )
    negatives: Annotated[
        str | None,
        typer.Option(
            metavar="INDEX",
            help="Take hard negatives from this index: passages near a query that are not its own.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None
    negatives_per_pair: Annotated[
        int | None,
        typer.Option(min=1, help="With --negatives: how many. Default: 1.", rich_help_panel=EXAMPLES),
    ] = None

    def keywords(self, offline: bool) -> dict[str, Any]:
        """As `search.bert.train` takes them."""
        from search.index import Index

        return {
            "dev": self.dev,
            "split": self.split,
            "loss": self.loss.value if self.loss else None,
            "negatives": Index.open(self.negatives, offline=offline) if self.negatives is not None else None,
            "negatives_per_pair": self.negatives_per_pair or 1,
        }


@dataclass(frozen=True)
class StepOptions:
    """How the steps are made; the keywords of `search.bert.train`."""

    epochs: Annotated[int, typer.Option(min=1, help="How often every example is seen.")] = 1
    batch_size: Annotated[int, typer.Option(min=1, help="Examples a step.", rich_help_panel=STEPS)] = 16
    lr: Annotated[float, typer.Option(help="The highest learning rate.", rich_help_panel=STEPS)] = 2e-05
    warmup: Annotated[
        float, typer.Option(help="The share of the steps in which it rises to that.", rich_help_panel=STEPS)
    ] = 0.1
    checkpoint_steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="STEPS",
            help="Steps between evaluations, each with a checkpoint. Default: four an epoch.",
            rich_help_panel=STEPS,
        ),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Stop after so many evaluations without a better one. Default: never.",
            rich_help_panel=STEPS,
        ),
    ] = None
    precision: Annotated[
        PrecisionName, typer.Option(help="fp32; bf16 on a GPU, which is quicker.", rich_help_panel=STEPS)
    ] = PrecisionName.fp32
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.", rich_help_panel=STEPS)] = 0


def train(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the model goes; nothing may be there yet.")
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or JSONL with query, passage (and negative), or with sentence1, sentence2 and score; or a "
            "folder in BEIR layout.",
        ),
    ],
    model: Annotated[
        str | None, checkpoint("The encoder to train, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
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
        bool, typer.Option("--resume", help="Go on from the last checkpoint of a run that was stopped.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away a run that was stopped, and begin anew.")
    ] = False,
    offline: OfflineOption = False,
    *,
    examples: ExampleOptions,
    steps: StepOptions,
    output: DrawnOutput,
) -> None:
    """Fine-tune the encoder on examples, and say what it was worth.

    Held-out data is measured before and after. The result is a folder that `seewhy index --model` takes; a model
    card in it says what it was made of. --png draws the learning curve, --html a page with all figures.
    """
    if examples.negatives_per_pair is not None and examples.negatives is None:
        raise typer.BadParameter("--negatives-per-pair needs --negatives INDEX")
    if resume and restart:
        raise typer.BadParameter("--resume and --restart exclude each other")
    from search import training
    from search.render import json, page, picture
    from search.render import training as draw

    with _stopped(out, restart, output.quiet), progress_bar(output.quiet) as progress:
        run: dict[str, Any] = {
            "model": model,
            "dev_share": dev_share,
            "resume": resume,
            "restart": restart,
            "offline": offline,
            "progress": progress,
            **vars(steps),
            "precision": steps.precision.value,
        }
        report = training.train(data, out, **run, **examples.keywords(offline))
    output.result(
        text=lambda: draw.training(report, **output.style),
        data=lambda: json.document(report),
        png=lambda: picture.training(report),
        html=lambda: page.training(report),
        text_anyway=True,
    )


@contextmanager
def _stopped(out: Path, restart: bool, quiet: bool) -> Iterator[None]:
    """Ctrl-C: say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        note(f"seewhy: stopped. {_how_to_go_on(out, restart)}", quiet)
        raise


def _how_to_go_on(out: Path, restart: bool) -> str:
    from search.training.work import WorkFolder

    try:
        kept = WorkFolder(out).checkpoint() is not None
    except InputError:
        kept = False
    if not kept:
        return "Nothing was kept yet; run it again."
    instead = ", without --restart," if restart else ""
    return f"The same command with --resume{instead} goes on from the last checkpoint."
