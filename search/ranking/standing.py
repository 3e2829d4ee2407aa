"""Where passages stand in the ranking of everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from search.ranking.fusion import Fusion
from search.ranking.ranking import Asked, Ranking, Scored
from search.store.database import one_meta
from search.store.vectors import LoadedVectors


@dataclass(frozen=True)
class Standing:
    """A passage in the ranking of everything: 1 is the best, `of` is how many there are."""

    scored: Scored
    rank: int
    of: int


def standings(
    loaded: LoadedVectors, asked: Asked, ranking: Ranking, passages: Iterable[int]
) -> dict[int, Standing]:
    """Where passages stand for a query, best first; exact, and in the order in which a query ranks.

    A passage that is not in the index is not in the result. One without any word of the query stands behind all
    others where only words count.
    """
    wanted = frozenset(passages)
    with loaded.reader.reading() as connection:
        total = one_meta(connection, "passages")
        fusion = Fusion(connection, loaded, asked, ranking)
        best = fusion.top(max(1, total))
        found = {
            item.passage: Standing(item, rank, total)
            for rank, item in enumerate(best, start=1)
            if item.passage in wanted
        }
        there = connection.execute("SELECT id FROM passages").fetchall() if len(found) < len(wanted) else []
        for (id_,) in there:
            if id_ in wanted and id_ not in found:
                found[id_] = Standing(fusion.score(id_), len(best) + 1, total)
        return found


def passage_count(loaded: LoadedVectors) -> int:
    """How many passages the index holds."""
    with loaded.reader.reading() as connection:
        return int(one_meta(connection, "passages"))
