"""How hits are ranked, as options of the commands that ask a query."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from search.records.hits import Expansion


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


ExpandOption = Annotated[
    str | None,
    typer.Option(
        "--expand",
        metavar="MODEL",
        help="Look also for words that may stand for rare ones, by this checkpoint for masked words.",
    ),
]


def chosen(
    mode: Mode, weight: float | None, phrases: bool, expand: str | None, rerank: str | None = None
) -> dict[str, Any]:
    """The keyword arguments of `Index.query` and its like."""
    found: dict[str, Any] = {"mode": mode.value, "weight": weight, "phrases": phrases, "expand": expand}
    return found | ({"rerank": rerank} if rerank else {})


def looked_for(expansions: Sequence[Expansion]) -> str:
    """What an expansion came to, in a sentence."""
    if not expansions:
        return "no word of the query is rare enough, or none is known for it: nothing else was looked for."
    words: dict[str, list[str]] = {}
    for one in expansions:
        words.setdefault(one.of, []).append(one.word)
    return "; ".join(f"beside '{of}' was looked for: {', '.join(found)}" for of, found in words.items())
