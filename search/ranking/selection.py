"""Which part of a ranking is shown, and in which order; the scores stay what they are.

*Diversity* is maximal marginal relevance (Carbonell and Goldstein 1998). Of the passages that are left, the one with
the highest

    (1 - D) * score / highest score  -  D * (highest cosine with a passage that was taken before)

is taken next, where D is the diversity. 0 is the ranking as it is; at 1 the scores count no more after the first. The
scores are divided by the highest one, as those of some modes are far smaller than cosines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.ranking.fusion import Scored, in_order
from search.ranking.options import VARIED, Selection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.protocol import Ids, Snapshot


def selected(
    best: Sequence[Scored],
    whole: bool,
    wanted: Selection,
    document_of: Callable[[Sequence[int]], Mapping[int, object]],
    vectors_of: Callable[[Sequence[int]], NDArray[np.float32]],
) -> list[list[Scored]] | None:
    """What is wanted of a ranking, from its beginning on: hits, each alone, or those of a document together.

    Args:
        best: the beginning of the ranking; `whole` if there is no more.
        document_of, vectors_of: documents and embeddings of passages.

    Returns:
        At most `wanted.last`; None where more of the ranking has to be looked at.
    """
    worth = [item for item in best if wanted.min_score is None or item.score >= wanted.min_score]
    whole = whole or len(worth) < len(best)  # what is behind scores even less
    if wanted.diversity and worth:
        first = worth[:VARIED]
        vectors = vectors_of([item.passage for item in first])
        order = diverse_order([item.score for item in first], vectors, wanted.diversity)
        worth[:VARIED] = [first[i] for i in order]
    groups = [[item] for item in worth]
    if wanted.group:
        groups = _by_document(worth, document_of([item.passage for item in worth]))
    elif wanted.per_document:
        documents = document_of([item.passage for item in worth])
        within, others = _within(wanted.per_document, worth, documents)
        groups = [[item] for item in (within + others if whole else within)]
    return groups[: wanted.last] if whole or len(groups) >= wanted.last else None


def completed(
    snapshot: Snapshot, groups: Sequence[Sequence[Scored]], ranking_of: Callable[[Ids], Sequence[Scored]]
) -> list[list[Scored]]:
    """Groups of passages, each with all other passages of its document that rank at all.

    Args:
        ranking_of: ranks the passages of some ids.
    """
    document_of = snapshot.siblings([group[0].passage for group in groups])
    complete: dict[int, list[Scored]] = {document_of[group[0].passage]: [] for group in groups}
    for item in ranking_of(np.array(list(document_of), dtype=np.int64)):
        complete[document_of[item.passage]].append(item)
    return list(complete.values())


def numbered(groups: Sequence[Sequence[Scored]], wanted: Selection) -> list[tuple[int, Scored]]:
    """The hits that are wanted, with their ranks, of what `selected` gave."""
    shown = [group[: wanted.per_document or None] for group in groups]
    before = sum(map(len, shown[: wanted.offset]))
    return list(enumerate((item for group in shown[wanted.offset :] for item in group), before + 1))


def diverse_order(scores: Sequence[float], vectors: NDArray[np.float32], diversity: float) -> list[int]:
    """In which order passages are taken; of equal ones the first.

    Args:
        scores: n scores, best first.
        vectors: (n, d) their embeddings, unit length.
        diversity: D, in [0, 1].

    Example:
        >>> same, other = [1.0, 0.0], [0.0, 1.0]
        >>> diverse_order([0.9, 0.8, 0.7], np.array([same, same, other], dtype=np.float32), 0.5)
        [0, 2, 1]
    """
    if not scores:
        return []
    relevance = np.array(scores, dtype=np.float64)
    if relevance[0] > 0:
        relevance = relevance / relevance[0]
    wide = vectors.astype(np.float64)
    order = [0]
    closest = wide @ wide[0]
    left = np.ones(len(scores), dtype=bool)
    left[0] = False
    while left.any():
        worth = np.where(left, (1 - diversity) * relevance - diversity * closest, -np.inf)
        # Rounded, as equal vectors may get products that differ in the last digit.
        chosen = int(np.argmax(np.round(worth, 9)))
        order.append(chosen)
        left[chosen] = False
        closest = np.maximum(closest, wide @ wide[chosen])
    return order


def _within(
    most: int, best: Sequence[Scored], document_of: Mapping[int, object]
) -> tuple[list[Scored], list[Scored]]:
    """The first `most` passages of each document, and all others; both in the order of the ranking."""
    seen: Counter[object] = Counter()
    kept: list[Scored] = []
    others: list[Scored] = []
    for item in best:
        document = document_of[item.passage]
        seen[document] += 1
        (kept if seen[document] <= most else others).append(item)
    return kept, others


def _by_document(best: Sequence[Scored], document_of: Mapping[int, object]) -> list[list[Scored]]:
    """The passages of each document, best first; documents in the order in which they come up."""
    groups: dict[object, list[Scored]] = {}
    for item in best:
        groups.setdefault(document_of[item.passage], []).append(item)
    return [in_order(items) for items in groups.values()]
