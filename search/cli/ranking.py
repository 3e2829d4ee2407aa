"""How hits are ranked, as options of the commands that ask a query."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer


class Mode(str, Enum):
    hybrid = "hybrid"
    dense = "dense"
    lexical = "lexical"
    rrf = "rrf"


ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        "-m",
        help="Rank by meaning and words (hybrid), meaning (dense), words (lexical), or both ranks (rrf).",
    ),
]
WeightOption = Annotated[
    float | None,
    typer.Option(
        "--weight",
        metavar="W",
        min=0.0,
        max=1.0,
        help="What meaning counts in a hybrid score; the words count the rest. Default: 0.75.",
        show_default=False,
    ),
]
PhrasesOption = Annotated[
    bool, typer.Option("--phrases", help='Look for words in "double quotes" as one term, in that order.')
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


RerankOption = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="late|MODEL",
        help="Look at the best 30 passages again: by late interaction, or with a cross-encoder.",
    ),
]


def chosen(mode: Mode, weight: float | None, phrases: bool, rerank: str | None = None) -> dict[str, Any]:
    """The keyword arguments of `Index.query` and its like."""
    found: dict[str, Any] = {"mode": mode.value, "weight": weight, "phrases": phrases}
    return found | ({"rerank": rerank} if rerank else {})
