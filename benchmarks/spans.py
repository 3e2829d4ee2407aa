"""Questions with gold spans, as in Chroma's chunking evaluation, and how much of them passages cover.

A folder holds corpora/NAME.md, and questions.jsonl {"_id", "corpus_id", "text", "references": [{"content",
"start_index", "end_index"}, ...]} a line. For the figures see Smith and Troynikov 2024, "Evaluating Chunking Strategies
for Retrieval", with characters in place of tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from search.evaluating.formats import Query


@dataclass(frozen=True)
class Span:
    """The characters [start, end) of a document."""

    document: str
    start: int
    end: int


@dataclass(frozen=True)
class Spans:
    """Questions, and the spans of documents in `folder` that answer them."""

    name: str
    folder: Path
    queries: tuple[Query, ...]
    gold: dict[str, tuple[Span, ...]]


def read_spans(folder: Path) -> Spans:
    queries, gold = [], {}
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        document = f"{asked['corpus_id']}.md"
        queries.append(Query(str(asked["_id"]), asked["text"]))
        gold[str(asked["_id"])] = tuple(
            Span(document, one["start_index"], one["end_index"]) for one in asked["references"]
        )
    return Spans(folder.name, folder / "corpora", tuple(queries), gold)


def span_values(found: Sequence[Span], gold: Sequence[Span], k: int = 10) -> dict[str, float]:
    """All metrics of one question, each in [0, 1].

    Args:
        found: spans of the passages that were found, best first; k of them count.
        gold: what had to be found, at least one span.

    Returns:
        recall: share of the gold characters that are in one of the passages;
        precision: share of the passages' characters that are gold;
        iou: gold characters in them, divided by all that are gold or in them;
        whole: share of the gold spans that they cover from end to end;
        mrr: 1 / rank of the first passage that holds a gold character, 0 if none does.

    Example:
        >>> values = span_values([Span("a", 0, 10)], [Span("a", 5, 15)])
        >>> values["recall@10"], values["precision@10"], round(values["iou@10"], 3)
        (0.5, 0.5, 0.333)
    """
    retrieved, wanted = _characters(found[:k]), _characters(gold)
    both = len(retrieved & wanted)
    ranks = [rank for rank, span in enumerate(found[:k], 1) if _characters([span]) & wanted]
    return {
        f"recall@{k}": both / len(wanted),
        f"precision@{k}": both / max(1, len(retrieved)),
        f"iou@{k}": both / len(retrieved | wanted),
        f"whole@{k}": sum(_characters([span]) <= retrieved for span in gold) / len(gold),
        f"mrr@{k}": 1 / ranks[0] if ranks else 0.0,
    }


def _characters(spans: Sequence[Span]) -> set[tuple[str, int]]:
    return {(span.document, place) for span in spans for place in range(span.start, span.end)}
