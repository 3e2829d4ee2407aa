"""How good the answer to a query is: a ranking by judgements of its documents, passages by gold spans.

For rankings the conventions are those of trec_eval, which BEIR uses: a grade of 1 or more is relevant, a document
without judgement is not, gains of nDCG are the grades themselves, and a query without any relevant document scores 0
everywhere. One thing differs: the order is that of the ranking, ties included, where trec_eval sorts equal scores
anew by the name of the document.

For spans see Smith and Troynikov 2024, "Evaluating Chunking Strategies for Retrieval" (Chroma), with characters in
place of tokens and each character counted once, however many passages hold it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from search.evaluating.dataset import Span

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


def span_values(found: Sequence[Span], gold: Sequence[Span], k: int = 10) -> dict[str, float]:
    """Every figure of one question.

    Args:
        found: spans of the passages that were found, best first.
        gold: what had to be found, at least one span.
        k: how many passages count.

    Returns:
        recall: share of the gold characters that are in one of the first k passages;
        precision: share of these passages' characters that are gold;
        iou: gold characters in them, divided by all that are gold or in them;
        whole: share of the gold spans that they cover from end to end;
        mrr: 1 / rank of the first passage that holds a gold character, 0 if none does. All in [0, 1].

    Example:
        >>> values = span_values([Span("a", 0, 10)], [Span("a", 5, 15)])
        >>> values["recall@10"], values["precision@10"], round(values["iou@10"], 3)
        (0.5, 0.5, 0.333)
    """
    retrieved, wanted = merged(found[:k]), merged(gold)
    both, all_wanted, all_retrieved = shared(retrieved, wanted), size(wanted), size(retrieved)
    whole = sum(shared(merged([span]), retrieved) == span.end - span.start for span in gold)
    first = next((rank for rank, span in enumerate(found[:k], 1) if shared(merged([span]), wanted)), None)
    return {
        f"recall@{k}": both / all_wanted,
        f"precision@{k}": both / all_retrieved if all_retrieved else 0.0,
        f"iou@{k}": both / (all_wanted + all_retrieved - both),
        f"whole@{k}": whole / len(gold),
        f"mrr@{k}": 1 / first if first else 0.0,
    }


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same characters in spans that neither touch nor overlap, in order."""
    by_document: dict[str, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.document, span.start, span.end)):
        mine = by_document[span.document]
        if mine and span.start <= mine[-1].end:
            mine[-1] = Span(span.document, mine[-1].start, max(mine[-1].end, span.end))
        else:
            mine.append(span)
    return [span for mine in by_document.values() for span in mine]


def size(spans: Iterable[Span]) -> int:
    """Characters in spans of which none overlap."""
    return sum(span.end - span.start for span in spans)


def shared(some: Sequence[Span], others: Sequence[Span]) -> int:
    """Characters that are in both; within each, no spans overlap."""
    return sum(
        max(0, min(a.end, b.end) - max(a.start, b.start))
        for a in some
        for b in others
        if a.document == b.document
    )
