"""How good a ranking is, by judgements of its documents.

The conventions are those of trec_eval, which BEIR uses: a grade of 1 or more is relevant, a document without
judgement is not, gains of nDCG are the grades themselves, and a query without any relevant document scores 0
everywhere. One thing differs: the order is that of the ranking, ties included, where trec_eval sorts equal scores
anew by the name of the document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEPTH = 100  # documents that are ranked for a query, at least


def ranking_values(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> dict[str, float]:
    """Every figure of one query.

    Args:
        ranked: documents, best first, none twice.
        grades: of the documents that were judged; 0 or less is not relevant.
        k: the depth that most figures look at; recall and MAP look also at `DEPTH`, or at k if that is more.

    Raises:
        ValueError: a document is ranked twice.

    Example:
        >>> ranking_values(["a", "b"], {"b": 1})["mrr@10"]
        0.5
    """
    if len(set(ranked)) < len(ranked):
        raise ValueError("a document is ranked twice.")
    deep = max(DEPTH, k)
    gains = np.maximum([grades.get(document, 0) for document in ranked], 0).astype(np.float64)
    ideal = np.array(
        sorted((grade for grade in grades.values() if grade > 0), reverse=True), dtype=np.float64
    )
    return {
        f"ndcg@{k}": ndcg(gains, ideal, k),
        f"mrr@{k}": reciprocal_rank(gains, k),
        f"mrr@{deep}": reciprocal_rank(gains, deep),
        f"map@{deep}": average_precision(gains, ideal, deep),
        f"recall@{k}": recall(gains, ideal, k),
        f"recall@{deep}": recall(gains, ideal, deep),
        "success@1": success(gains, 1),
        f"success@{k}": success(gains, k),
        f"precision@{k}": precision(gains, k),
    }


def ndcg(gains: NDArray[np.float64], ideal: NDArray[np.float64], k: int) -> float:
    """Discounted gain of the first k, as a share of the best that can be (Järvelin and Kekäläinen 2002).

    Args:
        gains: (n,) grades of the ranked documents, best rank first, 0 for what is not relevant.
        ideal: (r,) grades of all relevant documents, highest first.

    Returns:
        In [0, 1]: sum of grade / log2(rank + 1), divided by that of the ideal ranking; 0 if nothing is relevant.
    """
    best = _discounted(ideal[:k])
    return _discounted(gains[:k]) / best if best else 0.0


def reciprocal_rank(gains: NDArray[np.float64], k: int) -> float:
    """1 / rank of the first relevant document among k, 0 if there is none."""
    places = np.flatnonzero(gains[:k])
    return 1.0 / float(places[0] + 1) if len(places) else 0.0


def average_precision(gains: NDArray[np.float64], ideal: NDArray[np.float64], k: int) -> float:
    """Mean over all relevant documents of the precision at their rank; 0 for those not among k."""
    places = np.flatnonzero(gains[:k])
    return float((np.arange(1, len(places) + 1) / (places + 1)).sum() / len(ideal)) if len(ideal) else 0.0


def recall(gains: NDArray[np.float64], ideal: NDArray[np.float64], k: int) -> float:
    """Share of the relevant documents that are among the first k; 0 if nothing is relevant."""
    return float(np.count_nonzero(gains[:k]) / len(ideal)) if len(ideal) else 0.0


def success(gains: NDArray[np.float64], k: int) -> float:
    """1 if a relevant document is among the first k, else 0."""
    return float(np.any(gains[:k] > 0))


def precision(gains: NDArray[np.float64], k: int) -> float:
    """Share of k ranks that hold a relevant document; ranks that nothing was found for count as wrong."""
    return float(np.count_nonzero(gains[:k]) / k)


def _discounted(gains: NDArray[np.float64]) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())
