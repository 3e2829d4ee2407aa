"""Rank the passages of an index by how well they answer a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from search.errors import IndexDamaged
from search.ranking.freshness import as_of_now
from search.ranking.fusion import Fusion, Scored, in_order
from search.ranking.options import completed, numbered, selected
from search.ranking.verdict import SEEN, verdict
from search.records.contents import StoredPassage
from search.records.hits import Hit, Verdict

if TYPE_CHECKING:
    from search.ranking.options import Selection
    from search.ranking.question import EncodedQuery
    from search.ranking.rerank import Reranker
    from search.records.options import Ranking
    from search.store.calibration import Baseline
    from search.store.protocol import Copied, Ids, Snapshot, Store

Among: TypeAlias = "Callable[[Snapshot], Ids | None]"
"""Tells the ids of the passages to choose from; None for all."""


def everything(snapshot: Snapshot) -> None:
    """All passages; an `Among`."""


def ranked(
    store: Store,
    query: EncodedQuery,
    ranking: Ranking,
    wanted: Selection,
    among: Among = everything,
    reranker: Reranker | None = None,
) -> list[Hit]:
    """The best passages, best first, where they stand now; exact.

    Args:
        wanted: which part of the ranking.
        among: which passages.
        reranker: looks at the best 30 passages again (more where the last that is wanted is behind them), of which the
            best come back; of one document at most `wanted.per_document`. No model runs while the index is read.
    """
    with store.reading() as snapshot:
        fusion = Fusion(snapshot, query, ranking, among(snapshot))
        groups: list[list[Scored]] = []
        for pool in wanted.pools() if reranker else (wanted,):
            depth, head = max(pool.depth, SEEN), None
            while head is None:
                best = fusion.top(depth)
                whole = len(best) < depth
                head = selected(best, whole, pool, snapshot.documents, snapshot.copies)
                depth *= 4
            # No more of a document is shown, and it may have thousands of passages to rerank.
            groups += [group[: wanted.per_document or None] for group in head]
        source, approximate = snapshot.source, snapshot.approximate
        if reranker:
            best = in_order({item.passage: item for group in groups for item in group}.values())
            stored = _stored(snapshot, best)
            copies = snapshot.copies(list(stored))
            prepared = reranker.prepare(snapshot, list(stored.values()))
        else:
            said = verdict(snapshot, query, ranking, fusion, best)
            hits, stored = _hits(snapshot, fusion, groups, ranking, wanted, said)
    if reranker:
        documents = {id_: passage.document for id_, passage in stored.items()}
        reranked = reranker.rerank(best, list(stored.values()), prepared)
        groups = selected(reranked, True, wanted, lambda _: documents, lambda _: copies) or []
        scale = Scale(None, ranking)
        hits = [
            as_hit(rank, stored[item.passage], item, ranking, scale, copies.get(item.passage))
            for rank, item in numbered(groups, wanted)
        ]
    hits = [replace(hit, approximate=True) for hit in hits] if approximate else hits
    return as_of_now(hits, source)


def _hits(
    snapshot: Snapshot,
    fusion: Fusion,
    groups: list[list[Scored]],
    ranking: Ranking,
    wanted: Selection,
    said: Verdict | None,
) -> tuple[list[Hit], dict[int, StoredPassage]]:
    """What is wanted of the selected passages, and these as they are stored."""
    if wanted.group and not snapshot.approximate:  # of a server, the candidates alone
        groups = completed(snapshot, groups, partial(_worth, fusion, wanted))
    chosen = numbered(groups, wanted)
    stored = _stored(snapshot, [item for _, item in chosen])
    scale = Scale(snapshot.random_pairs(), ranking)
    copies = snapshot.copies(list(stored))
    hits = [
        as_hit(rank, stored[item.passage], item, ranking, scale, copies.get(item.passage), said)
        for rank, item in chosen
    ]
    return hits, stored


def _worth(fusion: Fusion, wanted: Selection, passages: Ids) -> list[Scored]:
    """Those of some passages that rank and score enough, best first."""
    least = wanted.min_score
    return [item for item in fusion.among(passages) if least is None or item.score >= least]


def _stored(snapshot: Snapshot, best: Sequence[Scored]) -> dict[int, StoredPassage]:
    """The passages of a ranking, in its order."""
    stored = snapshot.stored([item.passage for item in best])
    if missing := [item.passage for item in best if item.passage not in stored]:
        raise IndexDamaged(f"passage {missing[0]} cannot be found. To fix this, run: seewhy check --repair")
    return {item.passage: stored[item.passage] for item in best}


def scored(
    store: Store, query: EncodedQuery, ranking: Ranking, passage: int, reranker: Reranker | None = None
) -> Hit:
    """One passage of the index as a hit, wherever it ranks; its rank is given as 0.

    Raises:
        IdMissing: the index has no passage of that id.
    """
    with store.reading() as snapshot:
        stored = snapshot.passage(passage)
        item = Fusion(snapshot, query, ranking).score(passage)
        copied = snapshot.copies([passage]).get(passage)
        prepared = reranker.prepare(snapshot, [stored]) if reranker else None
        scale = Scale(None if reranker else snapshot.random_pairs(), ranking)
        source = snapshot.source
    if reranker:
        item = replace(reranker.rerank([item], [stored], prepared)[0], before=None)
    return as_of_now([as_hit(0, stored, item, ranking, scale, copied)], source)[0]


def others_than(passages: Sequence[int], same_document: bool, among: Among) -> Among:
    """Which passages may be similar: not these, nor, unless it is asked for, others of their documents."""

    def others(snapshot: Snapshot) -> Ids:
        excluded = list(passages) if same_document else list(snapshot.siblings(passages))
        return snapshot.without(among(snapshot), excluded)

    return others


class Scale:
    """The sample of random pairs of an index, as scores of one ranking.

    Attributes:
        pairs: how many scores there are; 0 where nothing can be said.
    """

    def __init__(self, baseline: Baseline | None, ranking: Ranking) -> None:
        self._baseline, self._ranking = baseline, ranking
        known = baseline is not None and not ranking.without  # the pairs were measured with all their words
        self._scores = baseline.scores(ranking.weight) if baseline and known else None
        self.pairs = 0 if self._scores is None else len(self._scores)

    def percentile(self, score: float) -> float | None:
        """How many in a hundred random pairs score less."""
        if self._scores is None or not self.pairs:
            return None
        return 100 * int(np.searchsorted(self._scores, score, side="left")) / self.pairs

    def hub(self, passage: int) -> float | None:
        """For how many in a hundred random queries a hub is among the nearest; None for any other passage."""
        if self._baseline is None or not self._ranking.by_meaning or passage not in self._baseline.hubs:
            return None
        return 100 * self._baseline.hubs[passage] / self._baseline.queries


def as_hit(
    rank: int,
    passage: StoredPassage,
    item: Scored,
    ranking: Ranking,
    scale: Scale,
    copied: Copied | None = None,
    said: Verdict | None = None,
) -> Hit:
    """A stored passage with its score."""
    return Hit(
        **vars(passage),
        rank=rank,
        score=item.score,
        cosine=item.cosine,
        lexical=item.lexical,
        ranking=ranking,
        reranked=item.reranked,
        rank_before=item.before,
        percentile=scale.percentile(item.score),
        random_pairs=scale.pairs,
        hub=scale.hub(passage.passage_id),
        copies=copied.documents - 1 if copied else 0,
        verdict=said,
    )
