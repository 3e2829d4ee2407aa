"""seewhy lab probe: what a linear classifier reads from each layer of a model"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from search.cli.options import OfflineOption, checkpoint
from search.cli.output import PictureOutput, progress_bar


def probe(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or JSONL with the columns text and label; or CoNLL, a word and its label on each line.",
        ),
    ],
    output: PictureOutput,
    model: Annotated[
        str | None, checkpoint("Model; NAME@REVISION pins a revision. Default: all-MiniLM-L6-v2.")
    ] = None,
    folds: Annotated[
        int, typer.Option(metavar="N", min=2, help="Number of folds of the cross-validation.")
    ] = 5,
    most: Annotated[
        int,
        typer.Option(
            "--examples", metavar="N", min=1, help="Use a sample of at most N texts or words of a file."
        ),
    ] = 5000,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Seed of folds, control and samples.")
    ] = 0,
    offline: OfflineOption = False,
) -> None:
    """Measure what a linear classifier reads from each layer of a model.

    Prints the accuracy on held-out examples by layer, beside the most frequent label and a control task with random
    labels. --png draws a line for each file. A column group keeps texts in the same fold.
    """
    from search.encoding.models import DEFAULT_MODEL
    from search.lab.evaluating.probing import probe as measured
    from search.lab.render.probing import layer_probes

    with progress_bar(output.quiet) as progress:
        probes = measured(
            [file.expanduser() for file in files],
            model=model or DEFAULT_MODEL,
            folds=folds,
            most=most,
            seed=seed,
            offline=offline,
            progress=progress,
        )

    def picture() -> bytes:
        from search.lab.render import charts

        return charts.layer_probes(probes)

    output.drawn(probes, layer_probes, picture)
