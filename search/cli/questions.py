"""Queries of several parts, as options of the commands that ask a query."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.hits import passage_id

if TYPE_CHECKING:
    from search.ranking.question import Question

AndOption = Annotated[
    list[str] | None,
    typer.Option(
        "--and",
        metavar="TEXT[^W]",
        help="One more text that counts W times as much as the first; may be repeated.",
        show_default=False,
    ),
]
LikeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--like",
        metavar="PATH|ID[^W]",
        help="A passage or document that hits shall be like; may be repeated.",
        show_default=False,
    ),
]
UnlikeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unlike",
        metavar="PATH|ID[^W]",
        help="One that hits shall not be like; counts half if no W is given.",
        show_default=False,
    ),
]


def question(
    text: str, also: list[str] | None, like: list[str] | None, unlike: list[str] | None
) -> str | Question:
    """What is asked for: the text alone, or a question of several parts."""
    if not (also or like or unlike):
        return text
    from search.ranking.question import Question

    return Question.of(
        text,
        *map(_weighted, also or ()),
        like=[_example(one) for one in like or ()],
        unlike=[_example(one) for one in unlike or ()],
    )


def as_typed(also: list[str] | None, like: list[str] | None, unlike: list[str] | None) -> str:
    """The options once more, for a command that is to mean the same query."""
    given = [("--and", also), ("--like", like), ("--unlike", unlike)]
    return "".join(f" {name} {shlex.quote(value)}" for name, values in given for value in values or ())


def what_of(typed: str) -> str | int:
    """A passage as it is listed (p812), or a path."""
    id_ = passage_id(typed)
    return typed if id_ is None else id_


def _weighted(typed: str) -> Any:
    """The text, or text and weight: "rotation^0.5"."""
    found = re.fullmatch(r"(.+)\^(-?\d+(?:\.\d+)?)", typed, re.DOTALL)
    return (found[1], float(found[2])) if found else typed


def _example(typed: str) -> Any:
    found = _weighted(typed)
    return (what_of(found[0]), found[1]) if isinstance(found, tuple) else what_of(found)
