"""Hits as people name them: a rank of a query, or a passage as it is listed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import HITS_OF_A_DOCUMENT

if TYPE_CHECKING:
    from search.index import Index
    from search.ranking.question import Question
    from search.records.hits import Hit

QueryArgument = Annotated[str, typer.Argument(metavar="TEXT", help="The query.", show_default=False)]


def passage_id(typed: str) -> int | None:
    """812 for "p812"; None for anything else."""
    found = re.fullmatch(r"p(\d+)", typed.strip())
    return int(found[1]) if found else None


def ranked(
    index: Index, text: str | Question, ranks: Sequence[int], k: int, where: str | None, **ranking: Any
) -> dict[int, Hit]:
    """The hits at some ranks of a query, asked for as `seewhy query` asks.

    Args:
        k: how many hits the query asked for, which ranks can depend on.
        where: the filter of that query.
        ranking: see `search.cli.ranking.chosen`.

    Raises:
        InputError: there is no such rank.
    """
    from search.errors import InputError

    if not ranks:
        return {}
    if min(ranks) < 1:
        raise InputError(f"there is no rank {min(ranks)}; the best hit is 1.")
    hits = index.query(text, k=max(k, *ranks), per_document=HITS_OF_A_DOCUMENT, where=where, **ranking)
    if max(ranks) > len(hits):
        raise InputError(f"there is no rank {max(ranks)}: the query has {len(hits)} hits.")
    return {rank: hits[rank - 1] for rank in ranks}
