"""Rank the passages of an index by how well they answer a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import InputError
from search.ranking.fusion import Fusion, Scored, in_order
from search.ranking.selection import add_siblings, diverse, select, with_ranks, without_copies
from search.ranking.verdict import FIRST_HITS, about_identifiers, answerability
from search.records.contents import StoredPassage
from search.records.hits import Hit, Verdict
from search.store.freshness import with_file_status
from search.store.passages import existing

if TYPE_CHECKING:
    from search.ranking.question import EncodedQuery
    from search.ranking.rerank import Reranker
    from search.ranking.selection import Selection
    from search.records.option_tools import Ranking
    from search.store.conditions import Where
    from search.store.null_distribution import Baseline
    from search.store.passages import Copied
    from search.store.snapshot import Ids, Snapshot, Store


def require_same_passage(hit: Hit, passage: StoredPassage) -> None:
    """Raise InputError if a hit is of another index than a passage with its ID, or of an earlier state."""
    if (hit.visible_text, hit.context) != (passage.visible_text, passage.context):
        raise InputError(
            f"passage {hit.passage_id} of this index differs from the hit. Pass hits of a query to this index."
        )


def ranked(
    store: Store,
    query: EncodedQuery,
    ranking: Ranking,
    selection: Selection,
    where: Where | None = None,
    reranker: Reranker | None = None,
) -> list[Hit]:
    """Rank passages exactly, best first, with the current status of their files.

    Args:
        selection: the part of the ranking to return.
        where: filter for the passages to rank; None for all.
        reranker: computes new scores for the best 30 passages, or for more if more are shown, with at most
            `selection.per_document` of a document. No model runs while the index is read.
    """
    if reranker:
        return _reranked(store, query, ranking, selection, where, reranker)
    with store.reading() as snapshot:
        hits = rank_passages(snapshot, query, ranking, selection, snapshot.passing(where))
    return with_file_status(hits)


def rank_passages(
    snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, selection: Selection, among: Ids | None
) -> list[Hit]:
    """Return the best passages of a snapshot as hits, without the current status of their files.

    Args:
        among: the passages to rank; None for all.
    """
    fusion = Fusion(snapshot, query, ranking, among)
    best, groups = _head(snapshot, fusion, selection.pool if selection.diversity else selection, among)
    verdict = answerability(snapshot, query, ranking, fusion, best, among)
    if selection.group and not snapshot.approximate:  # a server ranks only its candidates
        groups = add_siblings(snapshot, groups, partial(_passing, fusion, selection))
    if selection.diversity and groups:
        groups = diverse(groups, snapshot.embeddings([group[0].passage for group in groups]), selection)
    chosen = with_ranks(groups, selection)
    stored = existing(snapshot, [item.passage for _, item in chosen])
    scale = ScoreScale(snapshot.random_pairs(), ranking, snapshot.copies(stored), snapshot.approximate)
    return [scale.hit(rank, stored[item.passage], item, verdict) for rank, item in chosen]


def _head(
    snapshot: Snapshot, fusion: Fusion, selection: Selection, among: Ids | None
) -> tuple[list[Scored], list[list[Scored]]]:
    """Return the first passages of a ranking, and the groups of hits selected from it.

    If near-copies leave too few hits, the passages are ranked again without them.
    """
    is_reduced = selection.per_document or selection.group or not selection.all_copies
    depth = max(4 * selection.last if is_reduced else selection.last, FIRST_HITS)
    first = best = fusion.top(depth)
    while True:
        head = select(best, len(best) < depth, selection, snapshot.documents, snapshot.copies)
        if head is not None:
            return first, head
        rest = among if selection.all_copies else _without_near_copies(snapshot, best, among)
        if rest is among:
            depth *= 4
        among = rest
        best = fusion.top(depth, among)


def _without_near_copies(snapshot: Snapshot, best: Sequence[Scored], among: Ids | None) -> Ids | None:
    """Return `among` without near-copies of the best passages; `among` itself if it has none."""
    copies = snapshot.copies([item.passage for item in best])
    near = snapshot.near_copies(copies.values())
    if not len(near):
        return among
    near = np.setdiff1d(near, [item.passage for item in without_copies(best, copies)])
    candidates = snapshot.ids() if among is None else among
    rest = candidates[~np.isin(candidates, near)]
    return among if len(rest) == len(candidates) else rest


def _reranked(
    store: Store,
    query: EncodedQuery,
    ranking: Ranking,
    selection: Selection,
    where: Where | None,
    reranker: Reranker,
) -> list[Hit]:
    """Rank as `ranked` does, then rescore the best passages."""
    with store.reading() as snapshot:
        among = snapshot.passing(where)
        fusion = Fusion(snapshot, query, ranking, among)
        pool: dict[int, Scored] = {}
        for reranked_selection in selection.pools():
            # Passages beyond the limit of a document are not shown, so they are not reranked: there may be thousands.
            for group in _head(snapshot, fusion, reranked_selection, among)[1]:
                pool |= {item.passage: item for item in group[: selection.per_document or None]}
        best = in_order(pool.values())
        verdict = about_identifiers(snapshot, query, best, among)
        stored = existing(snapshot, [item.passage for item in best])
        copies = snapshot.copies(stored)
        prepared, approximate = reranker.prepare(snapshot, list(stored.values())), snapshot.approximate
        rows = (
            dict(zip(stored, snapshot.embeddings(list(stored)), strict=True))
            if selection.diversity
            else {}
        )
    documents = {id_: passage.document for id_, passage in stored.items()}
    reranked = reranker.rerank(best, list(stored.values()), prepared)
    groups = select(reranked, True, selection.pool, lambda _: documents, lambda _: copies) or []
    if rows and groups:
        groups = diverse(groups, np.stack([rows[group[0].passage] for group in groups]), selection)
    scale = ScoreScale(None, ranking, copies, approximate)
    return with_file_status(
        [
            scale.hit(rank, stored[item.passage], item, verdict)
            for rank, item in with_ranks(groups, selection)
        ]
    )


def _passing(fusion: Fusion, selection: Selection, passages: Ids) -> list[Scored]:
    """Rank some passages, best first, without those below the minimum score."""
    least = selection.min_score
    return [item for item in fusion.among(passages) if least is None or item.score >= least]


def scored(
    store: Store, query: EncodedQuery, ranking: Ranking, passage: int, reranker: Reranker | None = None
) -> Hit:
    """Return one passage of the index as a hit with its score, and rank 0.

    Raises:
        IdMissing: the index has no passage with this ID.
    """
    with store.reading() as snapshot:
        stored = snapshot.passage(passage)
        item = Fusion(snapshot, query, ranking).score(passage)
        hit = hit_of(snapshot, item, ranking)
        prepared: Any = reranker.prepare(snapshot, [stored]) if reranker else None
    if reranker:
        item = replace(reranker.rerank([item], [stored], prepared)[0], before=None)
        hit = replace(ScoreScale(None, ranking).hit(0, stored, item), copies=hit.copies)
    return with_file_status([hit])[0]


def hit_of(snapshot: Snapshot, item: Scored, ranking: Ranking, rank: int = 0) -> Hit:
    """Return one passage of the index as a hit, without the current status of its file.

    Raises:
        IdMissing: the index has no passage with this ID.
    """
    scale = ScoreScale(snapshot.random_pairs(), ranking, snapshot.copies([item.passage]))
    return scale.hit(rank, snapshot.passage(item.passage), item)


class ScoreScale:
    """Null distribution of the scores of a ranking: the scores of random pairs of a query and a passage.

    Attributes:
        scores: (n,) scores of the random pairs, lowest first; empty if there is no sample for this ranking.
    """

    def __init__(
        self,
        baseline: Baseline | None,
        ranking: Ranking,
        copies: Mapping[int, Copied] | None = None,
        approximate: bool = False,
    ) -> None:
        self.scores = np.empty(0)
        self._ranking, self._copies, self._approximate = ranking, copies or {}, approximate
        if baseline and not ranking.without:  # no word was ignored in the random pairs
            self.scores = baseline.scores(ranking.weight)

    def hit(self, rank: int, passage: StoredPassage, item: Scored, verdict: Verdict | None = None) -> Hit:
        """Return a stored passage as a hit with its score and percentile."""
        below, pairs = int(np.searchsorted(self.scores, item.score)), len(self.scores)
        copied = self._copies.get(passage.passage_id)
        return Hit(
            **vars(passage),
            rank=rank,
            score=item.score,
            cosine=item.cosine,
            lexical=item.lexical,
            ranking=self._ranking,
            reranked=item.reranked,
            rank_before=item.before,
            percentile=100 * below / pairs if pairs else None,
            random_pairs=pairs,
            copies=copied.passages - 1 if copied else 0,
            verdict=verdict,
            approximate=self._approximate,
        )
