"""Rank the passages of an index by how well they answer a question."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from search.errors import IndexDamaged
from search.ranking.fusion import Fusion, in_order
from search.ranking.grouping import completed
from search.ranking.percentile import Scale
from search.ranking.ranking import POOL, Asked, Ranking, Scored
from search.ranking.selection import Selection, numbered, selected, stored_vectors
from search.records.hits import Hit
from search.store.snapshot import StoredPassage, documents_of, one_passage, stored_passages
from search.store.vectors import LoadedVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Allowed: TypeAlias = "Callable[[sqlite3.Connection], NDArray[np.int64]]"


class Reranker(Protocol):
    """Looks at the best passages again."""

    def prepare(self, connection: sqlite3.Connection, passages: Sequence[StoredPassage]) -> Any:
        """What is needed of the index, within a read transaction."""
        ...

    def rerank(
        self, best: Sequence[Scored], passages: Sequence[StoredPassage], prepared: Any
    ) -> list[Scored]:
        """The same passages by new scores, best first, each with what it has to say and the rank before."""
        ...


def ranked(
    loaded: LoadedVectors,
    asked: Asked,
    ranking: Ranking,
    wanted: Selection,
    allowed: Allowed | None = None,
    reranker: Reranker | None = None,
) -> list[Hit]:
    """The best passages, best first; exact.

    Args:
        wanted: which part of the ranking.
        allowed: tells the ids of the passages to choose from; None for all.
        reranker: looks at the best 30 passages again (more where the last that is wanted is behind them), of which the
            best come back; of one document at most `wanted.per_document`.
    """
    if reranker:
        return _reranked(loaded, asked, ranking, wanted, allowed, reranker)
    with loaded.reader.reading() as connection:
        fusion = _fusion(connection, loaded, asked, ranking, allowed)
        found = _found(connection, fusion, wanted)
        if wanted.group:
            found = completed(connection, found, partial(_of_these, fusion, wanted))
        chosen = numbered(found, wanted)
        passages = _passages(connection, [item for _, item in chosen])
        scale = Scale(loaded.baseline.get(connection), ranking)
    return [
        as_hit(rank, passage, item, ranking, scale)
        for (rank, item), passage in zip(chosen, passages, strict=True)
    ]


def _of_these(fusion: Fusion, wanted: Selection, passages: NDArray[np.int64]) -> list[Scored]:
    """Those of some passages that rank and score enough, best first."""
    least = wanted.min_score
    return [item for item in fusion.among(passages) if least is None or item.score >= least]


def _reranked(
    loaded: LoadedVectors,
    asked: Asked,
    ranking: Ranking,
    wanted: Selection,
    allowed: Allowed | None,
    reranker: Reranker,
) -> list[Hit]:
    """As `ranked`. The index is read in short transactions, and no model runs in them."""
    pool = Selection(k=max(POOL, wanted.last), per_document=0 if wanted.group else wanted.per_document)
    with loaded.reader.reading() as connection:
        fusion = _fusion(connection, loaded, asked, ranking, allowed)
        chosen = _found(connection, fusion, pool)
        if wanted.group:  # the pool has so many documents as are wanted, too
            chosen += _found(connection, fusion, Selection(k=wanted.last, group=True))
        best = in_order({item.passage: item for group in chosen for item in group}.values())
        passages = _passages(connection, best)
        ids = [passage.id for passage in passages]
        vectors = stored_vectors(connection, ids if wanted.diversity else [])
        prepared = reranker.prepare(connection, passages)
    stored = {passage.id: passage for passage in passages}
    found = selected(
        reranker.rerank(best, passages, prepared),
        True,
        wanted,
        lambda _: {id_: passage.document for id_, passage in stored.items()},
        lambda some: vectors[[ids.index(id_) for id_ in some]],
    )
    scale = Scale(None, ranking)
    return [
        as_hit(rank, stored[item.passage], item, ranking, scale)
        for rank, item in numbered(found or [], wanted)
    ]


def _found(connection: sqlite3.Connection, fusion: Fusion, wanted: Selection) -> list[list[Scored]]:
    """What is wanted of a ranking; see `selected`."""
    documents, vectors = partial(documents_of, connection), partial(stored_vectors, connection)
    depth, found = wanted.depth, None
    while found is None:
        best = fusion.top(depth)
        found = selected(best, len(best) < depth, wanted, documents, vectors)
        depth *= 4
    return found


def _fusion(
    connection: sqlite3.Connection,
    loaded: LoadedVectors,
    asked: Asked,
    ranking: Ranking,
    allowed: Allowed | None,
) -> Fusion:
    return Fusion(connection, loaded, asked, ranking, allowed(connection) if allowed else None)


def _passages(connection: sqlite3.Connection, best: list[Scored]) -> list[StoredPassage]:
    stored = stored_passages(connection, [item.passage for item in best])
    if missing := [item.passage for item in best if item.passage not in stored]:
        raise IndexDamaged(f"passage {missing[0]} cannot be found. Mend the index with: seewhy repair")
    return [stored[item.passage] for item in best]


def scored(
    loaded: LoadedVectors, asked: Asked, ranking: Ranking, passage: int, reranker: Reranker | None = None
) -> Hit:
    """One passage of the index as a hit, wherever it ranks; its rank is given as 0.

    Raises:
        InputError: the index has no passage of that id.
    """
    with loaded.reader.reading() as connection:
        stored = one_passage(connection, passage)
        item = Fusion(connection, loaded, asked, ranking).score(passage)
        prepared = reranker.prepare(connection, [stored]) if reranker else None
        scale = Scale(None if reranker else loaded.baseline.get(connection), ranking)
    if reranker:
        item = replace(reranker.rerank([item], [stored], prepared)[0], before=None)
    return as_hit(0, stored, item, ranking, scale)


def as_hit(rank: int, passage: StoredPassage, item: Scored, ranking: Ranking, scale: Scale) -> Hit:
    """A stored passage with its score."""
    return Hit(
        rank=rank,
        score=item.score,
        cosine=item.cosine,
        lexical=item.lexical,
        mode=ranking.mode,
        path=passage.path,
        document=passage.document,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        line_start=passage.line_start,
        line_end=passage.line_end,
        passage_id=passage.id,
        metadata=passage.metadata,
        context=passage.context,
        page=passage.page,
        weight=ranking.weight,
        phrases=ranking.phrases,
        ranks=item.ranks,
        rerank=ranking.rerank,
        reranked=item.reranked,
        rank_before=item.before,
        percentile=scale.percentile(item.score),
        random_pairs=scale.pairs,
        hub=scale.hub(passage.id),
        annotations=passage.annotations,
    )
