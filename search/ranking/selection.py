"""Selection of the hits to show from a ranking. It changes no score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from search.ranking.fusion import Scored
from search.records.option_tools import complete
from search.records.options import HitsOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from search.records.hits import Hit
    from search.records.options import SelectionOptions
    from search.store.passages import Copied
    from search.store.snapshot import Ids, Snapshot

RERANKED = 30  # best passages that a reranker scores, at least


@dataclass(frozen=True)
class Selection:
    """The part of a ranking that is shown; create one with `Selection.of`.

    In this order: scores below `min_score` are dropped; only the best passage of each copied text is kept; documents
    are limited, or grouped; with `diversity`, hits are chosen one by one from a pool; `offset` hits are skipped and k
    are taken.

    Attributes:
        per_document: maximum number of hits of a document; 0 for no limit. Without `group`, extra hits of a document
            are appended only when fewer than `offset + k` hits remain, so a rank never depends on k (with reranking: up
            to rank 30).
        group: passages of one document are adjacent, documents in the order of their best passages.
        diversity: weight in [0, 1] of the similarity to the hits above: maximal marginal relevance, see `diverse`.
        sort: order of the shown hits; see `search.ranking.sorting`.
        pending: maximum number of pending passages that are encoded for the query.
    """

    k: int
    per_document: int
    group: bool
    offset: int
    min_score: float | None
    diversity: float
    all_copies: bool
    sort: str
    pending: int

    @classmethod
    def of(cls, k: int = 10, **options: Unpack[SelectionOptions]) -> Selection:
        """Create a selection from options of `Index.query`.

        Raises:
            InputError: a value is not a number, or out of range.
        """
        return cls(**complete({"k": k, **options}, HitsOptions))

    @property
    def last(self) -> int:
        """Number of hits (with `group`: of documents) up to the last one to show."""
        return self.offset + self.k

    @property
    def pool(self) -> Selection:
        """The selection from which `diverse` chooses: five times as many hits, but at least 30."""
        return replace(self, k=max(5 * self.last, RERANKED), offset=0) if self.diversity else self

    def ordered(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits to show in the order of `sort`; their ranks do not change."""
        if self.sort == "score":
            return list(hits)
        from search.ranking.sorting import in_order_of

        return in_order_of(hits, self.sort)

    def pools(self) -> tuple[Selection, ...]:
        """Return the selections to rerank: the best 30 passages or more; with `group`, also the documents to show."""
        limit = 0 if self.group else self.per_document
        pool = Selection.of(max(RERANKED, self.pool.last), per_document=limit, all_copies=self.all_copies)
        return (pool, replace(pool, k=self.last, group=True)) if self.group else (pool,)


def select(
    best: Sequence[Scored],
    is_complete: bool,
    selection: Selection,
    document_of: Callable[[Sequence[int]], Mapping[int, object]],
    copies_of: Callable[[Sequence[int]], Mapping[int, Copied]],
) -> list[list[Scored]] | None:
    """Select the first hits of a ranking, single or grouped by document.

    Args:
        best: the beginning of the ranking.
        is_complete: True if `best` is the whole ranking.
        document_of: returns the documents of passages.
        copies_of: returns the copied text of each passage that has copies.

    Returns:
        Groups of hits, at most `selection.last`; without `group`, each has one hit. None if `best` is too short.
    """
    top = list(best)
    if selection.min_score is not None:
        top = [item for item in best if item.score >= selection.min_score]
    is_complete = is_complete or len(top) < len(best)  # the rest scores even less
    if not selection.all_copies:
        copies = copies_of([item.passage for item in top])
        top = without_copies(top, copies) if copies else top
    documents: Mapping[int, object] = {}
    if selection.group or selection.per_document:
        documents = document_of([item.passage for item in top])
    if selection.group:
        groups = _by_document(top, documents)
    else:
        within, extra = _split_by_limit(selection.per_document, top, documents)
        groups = [[item] for item in (within + extra if is_complete else within)]
    return groups[: selection.last] if is_complete or len(groups) >= selection.last else None


def diverse(
    groups: Sequence[list[Scored]], embeddings: NDArray[np.float32], selection: Selection
) -> list[list[Scored]]:
    """Choose hits by maximal marginal relevance (Carbonell and Goldstein 1998, equation 1).

    The first hit is the best one. Each next one maximizes (1 - diversity) * score - diversity * (its highest cosine
    with a hit chosen before). Scores do not change.

    Args:
        groups: the pool, best first; of a group, the first passage counts.
        embeddings: (n, d) embeddings of the first passages, of unit length.
    """
    scores = np.array([group[0].score for group in groups])
    closest, is_left = np.full(len(groups), -1.0), np.ones(len(groups), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < min(selection.last, len(groups)):
        relevance = (1 - selection.diversity) * scores
        if chosen:
            relevance -= selection.diversity * closest
        best = int(np.argmax(np.where(is_left, relevance, -np.inf)))
        chosen.append(best)
        is_left[best] = False
        closest = np.maximum(closest, embeddings @ embeddings[best])
    return [groups[i] for i in chosen]


def without_copies(best: Sequence[Scored], copies: Mapping[int, Copied]) -> list[Scored]:
    """Keep the first passage of each copied text."""
    seen: set[int] = set()
    kept = []
    for item in best:
        copied = copies.get(item.passage)
        if copied is None or copied.text not in seen:
            kept.append(item)
        if copied:
            seen.add(copied.text)
    return kept


def add_siblings(
    snapshot: Snapshot, groups: Sequence[Sequence[Scored]], ranking_of: Callable[[Ids], Sequence[Scored]]
) -> list[list[Scored]]:
    """Add to each group all other ranked passages of its document.

    Args:
        ranking_of: ranks the passages with the given IDs.
    """
    document_of = snapshot.siblings([group[0].passage for group in groups])
    by_document: dict[int, list[Scored]] = {document_of[group[0].passage]: [] for group in groups}
    for item in ranking_of(np.array(list(document_of), dtype=np.int64)):
        by_document[document_of[item.passage]].append(item)
    return list(by_document.values())


def with_ranks(groups: Sequence[Sequence[Scored]], selection: Selection) -> list[tuple[int, Scored]]:
    """Return the hits to show with their ranks, from the result of `select`."""
    limited = [group[: selection.per_document or None] for group in groups]
    skipped = sum(map(len, limited[: selection.offset]))
    return list(enumerate(chain(*limited[selection.offset :]), skipped + 1))


def _split_by_limit(
    limit: int, best: Sequence[Scored], document_of: Mapping[int, object]
) -> tuple[list[Scored], list[Scored]]:
    """Split a ranking into the first `limit` passages of each document, and the others; 0 means no limit."""
    if not limit:
        return list(best), []
    seen: Counter[object] = Counter()
    within: list[Scored] = []
    extra: list[Scored] = []
    for item in best:
        document = document_of.get(item.passage)
        seen[document] += 1
        if seen[document] <= limit:
            within.append(item)
        else:
            extra.append(item)
    return within, extra


def _by_document(best: Sequence[Scored], document_of: Mapping[int, object]) -> list[list[Scored]]:
    """Group passages by document, best first; documents in the order of their best passages."""
    groups: dict[object, list[Scored]] = {}
    for item in best:
        groups.setdefault(document_of.get(item.passage), []).append(item)
    return list(groups.values())
