"""seewhy eval FILE --task ner"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from search.records.entities import EntityEvaluation
    from search.records.reports import Progress

Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="A=B",
        help="ner: take the model's type A for the file's type B, or for O, which is none; may be repeated.",
        show_default=False,
    ),
]
Predictions = Annotated[
    Path | None,
    typer.Option(
        "--predictions",
        metavar="FILE",
        help="ner: write the words with the labels that were predicted, in CoNLL format.",
        show_default=False,
    ),
]
Predicted = Annotated[
    Path | None,
    typer.Option(
        "--predicted",
        metavar="FILE",
        help="ner: score the labels of this file instead of --model.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Asked:
    """What was typed that scoring entities has a use for."""

    dataset: Path
    model: str | None
    predicted: Path | None
    map: list[str]
    limit: int | None
    offline: bool

    def evaluation(self, progress: Callable[[Progress], None] | None) -> EntityEvaluation:
        from search.evaluating.ner import evaluate_entities

        if (self.model is None) == (self.predicted is None):
            raise typer.BadParameter(
                "ner takes either --model, a checkpoint that finds entities, or --predicted"
            )
        pairs = [one.partition("=") for one in self.map]
        if wrong := [one for one, (old, _, new) in zip(self.map, pairs, strict=True) if not (old and new)]:
            raise typer.BadParameter(f"--map takes A=B, such as PER=person, and not '{wrong[0]}'")
        olds = [old for old, _, _ in pairs]
        if twice := [old for old in dict.fromkeys(olds) if olds.count(old) > 1]:
            raise typer.BadParameter(f"--map says of '{twice[0]}' more than once what it is")
        return evaluate_entities(
            self.dataset,
            model=self.model,
            predicted=self.predicted,
            mapping={old: new for old, _, new in pairs},
            limit=self.limit,
            offline=self.offline,
            progress=progress,
        )


def show(
    found: EntityEvaluation, predictions: Path | None, as_json: bool, quiet: bool, width: int, colour: bool
) -> None:
    """Print the figures, and write the predictions where that was asked for."""
    from search.cli.files import write_file
    from search.cli.options import echo, note
    from search.evaluating.formats.conll import as_conll
    from search.render import entities as draw

    if predictions:
        write_file(predictions, as_conll(found.predictions))
        note(f"wrote {predictions}", quiet)
    echo(draw.as_json(found) if as_json else draw.entities(found, width=width, colour=colour))
