"""Options that several commands share, and what they mean for output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from enum import Enum
from typing import Annotated

import typer

NARROWEST, WIDEST = 40, 100
HITS_OF_A_DOCUMENT = 3  # so that one document does not fill the first page


class Colour(str, Enum):
    auto = "auto"
    always = "always"
    never = "never"


IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        "-i",
        metavar="NAME|PATH",
        help="Which index. Default: $SEEWHY_INDEX, the index of the folder you are in, or the only one.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME|FOLDER", help="The encoder, or NAME@REVISION. Default: the index's."
    ),
]
PoolingOption = Annotated[
    str | None,
    typer.Option("--pooling", help="mean, cls, pooler, max or mean_sqrt_len. Default: the model's own."),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="What the checkpoint runs on: cpu or cuda. Default: a GPU where there is one.",
        show_default=False,
    ),
]
EngineOption = Annotated[str, typer.Option("--engine", help="auto, openvino or torch.")]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help="fp32, or bf16 or fp16: quicker on a GPU, a little less exact. Default: the index's.",
    ),
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Never call out to the Hugging Face hub.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
JsonlOption = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes; results only.")]
ColourOption = Annotated[
    Colour, typer.Option("--color", help="auto: on a terminal, unless NO_COLOR is set.", show_default=True)
]


def colour_on(choice: Colour) -> bool:
    """Whether stdout gets colours."""
    if choice != Colour.auto:
        return choice == Colour.always
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def page_width() -> int:
    """Characters a line: the terminal's, within reason; 80 where there is none."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


def echo(text: str) -> None:
    """A result, to stdout."""
    if text:
        typer.echo(text, color=True)  # whether there are colours was decided when it was rendered


def note(text: str, quiet: bool = False) -> None:
    """Anything that is no result, to stderr."""
    if not quiet:
        typer.echo(text, err=True)


def remarks(sentences: Iterable[str], quiet: bool = False) -> None:
    """What the library has to say beside a result, a note each."""
    for sentence in sentences:
        note(f"note: {sentence}", quiet)
