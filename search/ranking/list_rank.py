"""Ranks in the list of a query's hits, whatever its length; also of a passage whose text would be another one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from search.ranking.fusion import Fusion, Scored, in_order
from search.ranking.selection import select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.ranking.question import EncodedQuery
    from search.ranking.selection import Selection
    from search.records.option_tools import Ranking
    from search.store.passages import Copied
    from search.store.snapshot import Ids, Snapshot

_STEP = 4  # times as many passages are ranked next, if those that were ranked are too few


class ListRanks:
    """Ranks in the list that a query returns, without reranking, `group` and `diversity`.

    Args:
        selection: the selection of the hits; the list may be longer than its k.
        among: IDs of the passages that may be ranked; None for all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        query: EncodedQuery,
        ranking: Ranking,
        selection: Selection,
        among: Ids | None = None,
    ) -> None:
        self._snapshot, self._ranking, self._selection = snapshot, ranking, selection
        self.fusion = Fusion(snapshot, query, ranking, among)
        self._best: list[Scored] = []
        self._is_whole = False

    def rank(
        self, targets: Collection[int], most: int | None = None, moved: Scored | None = None
    ) -> int | None:
        """Return the rank of the first of some passages, or of a copy that is listed instead of it.

        Args:
            targets: IDs of the passages.
            most: number of hits to look at; None for the whole list.
            moved: one passage with another score than it has in the index, as if its text were another one and no copy.

        Returns:
            The rank, from 1; None if it is higher than `most`, or if none of the passages is ranked at all.
        """
        texts = {copied.text for copied in self._copies(targets, moved).values()}
        k = most or self._selection.k
        while True:
            listed, is_whole = self._listed(k, moved)
            copies = self._copies([item.passage for item in listed], moved) if texts else {}
            for rank, item in enumerate(listed, 1):
                copied = copies.get(item.passage)
                if item.passage in targets or (copied and copied.text in texts):
                    return rank
            if is_whole or most is not None:
                return None
            k *= _STEP

    def _copies(self, passages: Collection[int], moved: Scored | None) -> Mapping[int, Copied]:
        copies = self._snapshot.copies(passages)
        return {id_: copied for id_, copied in copies.items() if not moved or id_ != moved.passage}

    def _listed(self, k: int, moved: Scored | None) -> tuple[list[Scored], bool]:
        """Return the first k hits, and True if there are no others."""
        selection = replace(self._selection, k=k)
        depth = _STEP * k
        while True:
            best, is_whole = self._ranked(depth, moved)
            groups = select(
                best, is_whole, selection, self._snapshot.documents, lambda ids: self._copies(ids, moved)
            )
            if groups is not None:
                return [group[0] for group in groups], len(groups) < k
            depth *= _STEP

    def _ranked(self, depth: int, moved: Scored | None) -> tuple[list[Scored], bool]:
        """Return at least the best `depth` passages if there are so many, and True if there are no others."""
        if len(self._best) < depth and not self._is_whole:
            passages = self._snapshot.facts.passages
            self._best = self.fusion.top(max(1, min(depth, passages)))
            self._is_whole = depth >= passages or len(self._best) < depth
        if moved is None:
            return self._best, self._is_whole
        others = [item for item in self._best if item.passage != moved.passage]
        is_ranked = moved.score > 0 or self._ranking.by_meaning
        is_above = self._is_whole or (-moved.score, moved.passage) < (
            -others[-1].score,
            others[-1].passage,
        )
        # A passage that falls below the last one is further down, among those that are not read.
        return in_order([*others, *([moved] if is_ranked and is_above else [])]), self._is_whole
