"""How well passages cover gold spans, character by character.

After Smith and Troynikov 2024, "Evaluating Chunking Strategies for Retrieval" (Chroma), with characters in place of
tokens and each character counted once, however many passages hold it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from search.evaluating.dataset import Span


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
