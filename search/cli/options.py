"""Options that several commands share, each declared once: alone, or in a group that a command takes as one.

A group is a frozen dataclass; `search.cli.commands.spelled_out` makes options of its fields. An option is called as its
parameter is, unless it says otherwise.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.index import Index
    from search.ranking.question import Question
    from search.records import options

HITS_OF_A_DOCUMENT = 3  # so that one document does not fill the first page

# The panels of a long help.
RANKING, SELECTION, MODEL = "Ranking", "Which hits", "Model"


def checkpoint(help_: str) -> Any:
    """--model of a command that reads with another checkpoint than the index's encoder."""
    return typer.Option("--model", metavar="NAME|FOLDER", help=help_)


def top_k(help_: str) -> Any:
    """-k, as the command counts."""
    return typer.Option("--top-k", "-k", min=1, help=help_)


QueryArgument = Annotated[str, typer.Argument(metavar="TEXT", help="The query.")]
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
        "--model",
        metavar="NAME|FOLDER",
        help="The encoder, or NAME@REVISION. Default: the index's, else all-MiniLM-L6-v2.",
        rich_help_panel=MODEL,
    ),
]
PoolingOption = Annotated[
    str | None,
    typer.Option(
        "--pooling",
        help="mean, cls, pooler, max or mean_sqrt_len. Default: the model's own.",
        rich_help_panel=MODEL,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="What the checkpoint runs on: cpu or cuda. Default: a GPU where there is one.",
        rich_help_panel=MODEL,
    ),
]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Never call out to the Hugging Face hub.", rich_help_panel=MODEL)
]
WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        "-w",
        metavar="FILTER",
        help="Only passages that pass, as in: path:docs/** and lang=en and date>=2024-01-01",
    ),
]


@dataclass(frozen=True)
class EngineOptions:
    """What an encoder runs on."""

    offline: OfflineOption = False
    engine: Annotated[str, typer.Option(help="auto, openvino or torch.", rich_help_panel=MODEL)] = "auto"


@dataclass(frozen=True)
class EncoderOptions(EngineOptions):
    """Which encoder, and what it runs on."""

    model: ModelOption = None
    pooling: PoolingOption = None

    @property
    def encoder(self) -> dict[str, Any]:
        """The keyword arguments of `Index.build` and `Encoder`."""
        return {"model": self.model, "pooling": self.pooling, "offline": self.offline, "engine": self.engine}

    def load(self) -> Encoder:
        from search.encoding import Encoder
        from search.encoding.models import DEFAULT_MODEL

        return Encoder(**(self.encoder | {"model": self.model or DEFAULT_MODEL}))


@dataclass(frozen=True)
class IndexOptions(EngineOptions):
    """Which index, and what its encoder runs on."""

    index: IndexOption = None

    def open(self, model: str | None = None, pooling: str | None = None) -> Index:
        """The index; what `model` and `pooling` say has to be what it was made with."""
        from search.index import Index

        return Index.open(self.index, model=model, pooling=pooling, offline=self.offline, engine=self.engine)

    @property
    def as_typed(self) -> str:
        """The index once more, for a command that is to mean the same one."""
        return f" --index {shlex.quote(self.index)}" if self.index else ""


class Mode(str, Enum):
    hybrid = "hybrid"
    dense = "dense"
    lexical = "lexical"


@dataclass(frozen=True)
class RankingOptions:
    """What a score is made of, and which passages have one."""

    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            "-m",
            help="Rank by meaning and words (hybrid), meaning (dense), or words (lexical).",
        ),
    ] = Mode.hybrid
    where: WhereOption = None
    weight: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            min=0.0,
            max=1.0,
            help="What meaning counts in a hybrid score; the words count the rest. Default: 0.75.",
            rich_help_panel=RANKING,
        ),
    ] = None
    phrases: Annotated[
        bool,
        typer.Option(
            "--phrases",
            help='Look for words in "double quotes" as one term, in that order.',
            rich_help_panel=RANKING,
        ),
    ] = False

    @property
    def score(self) -> options.RankingOptions:
        """As `Index.explain` and its like take them."""
        return {"mode": self.mode.value, "weight": self.weight, "phrases": self.phrases}


@dataclass(frozen=True)
class RerankOptions(RankingOptions):
    """How hits are ranked."""

    rerank: Annotated[
        str | None,
        typer.Option(
            metavar="late|MODEL",
            help="Look at the best 30 passages again: by late interaction, or with a cross-encoder.",
        ),
    ] = None

    @property
    def order(self) -> options.RerankOptions:
        """As `Index.hit` takes them: how scores are made, and what looks again."""
        return {**self.score, "rerank": self.rerank}

    def as_typed(self, filtered: bool = True) -> str:
        """The options once more, for a command that is to rank likewise; without the filter on demand."""
        given = {
            f"--mode {self.mode.value}": self.mode is not Mode.hybrid,
            f"--weight {self.weight}": self.weight is not None,
            "--phrases": self.phrases,
            f"--rerank {shlex.quote(self.rerank or '')}": self.rerank is not None,
            f"--where {shlex.quote(self.where or '')}": self.where is not None and filtered,
        }
        return "".join(f" {option}" for option, there in given.items() if there)


@dataclass(frozen=True)
class QuestionOptions:
    """What a query consists of beside its text."""

    also: Annotated[
        list[str] | None,
        typer.Option(
            "--and",
            metavar="TEXT[^W]",
            help="One more text that counts W times as much as the first; may be repeated.",
            rich_help_panel=RANKING,
        ),
    ] = None
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH|ID[^W]",
            help="A passage or document that hits shall be like; may be repeated.",
            rich_help_panel=RANKING,
        ),
    ] = None
    unlike: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH|ID[^W]",
            help="One that hits shall not be like; counts half if no W is given.",
            rich_help_panel=RANKING,
        ),
    ] = None

    def question(self, text: str) -> str | Question:
        """What is asked for: the text alone, or a question of several parts."""
        if not (self.also or self.like or self.unlike):
            return text
        from search.ranking.question import Question

        return Question.of(
            text,
            *map(_weighted, self.also or ()),
            like=list(map(_example, self.like or ())),
            unlike=list(map(_example, self.unlike or ())),
        )

    @property
    def as_typed(self) -> str:
        """The options once more, for a command that is to mean the same query."""
        given = [("--and", self.also), ("--like", self.like), ("--unlike", self.unlike)]
        return "".join(f" {name} {shlex.quote(value)}" for name, values in given for value in values or ())


def passage_id(typed: str) -> int | None:
    """812 for "p812"; None for anything else."""
    number = re.fullmatch(r"p(\d+)", typed.strip())
    return int(number[1]) if number else None


def passage_or_path(typed: str) -> str | int:
    """A passage as it is listed (p812), or a path."""
    id_ = passage_id(typed)
    return typed if id_ is None else id_


def _weighted(typed: str) -> Any:
    """The text, or text and weight: "rotation^0.5"."""
    parts = re.fullmatch(r"(.+)\^(-?\d+(?:\.\d+)?)", typed, re.DOTALL)
    return (parts[1], float(parts[2])) if parts else typed


def _example(typed: str) -> Any:
    example = _weighted(typed)
    if isinstance(example, tuple):
        return passage_or_path(example[0]), example[1]
    return passage_or_path(example)
