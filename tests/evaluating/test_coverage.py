"""Figures of spans against sets of characters."""

import random

import pytest

from search.evaluating.dataset import Span
from search.evaluating.metrics import merged, span_values


def characters(spans: list[Span]) -> set[tuple[str, int]]:
    return {(span.document, place) for span in spans for place in range(span.start, span.end)}


@pytest.mark.parametrize("seed", range(100))
def test_against_sets_of_characters(seed: int) -> None:
    chance = random.Random(seed)

    def some(count: int) -> list[Span]:
        starts = [(chance.choice("ab"), chance.randrange(60)) for _ in range(count)]
        return [Span(document, start, start + chance.randrange(1, 25)) for document, start in starts]

    found, gold, k = some(chance.randrange(0, 8)), some(chance.randrange(1, 4)), 5
    retrieved, wanted = characters(found[:k]), characters(gold)
    values = span_values(found, gold, k)
    assert values["recall@5"] == pytest.approx(len(retrieved & wanted) / len(wanted))
    assert values["precision@5"] == pytest.approx(len(retrieved & wanted) / max(1, len(retrieved)))
    assert values["iou@5"] == pytest.approx(len(retrieved & wanted) / len(retrieved | wanted))
    whole = [span for span in gold if characters([span]) <= retrieved]
    assert values["whole@5"] == pytest.approx(len(whole) / len(gold))
    ranks = [rank for rank, span in enumerate(found[:k], 1) if characters([span]) & wanted]
    assert values["mrr@5"] == pytest.approx(1 / ranks[0] if ranks else 0)


def test_the_same_place_of_another_document_does_not_count() -> None:
    values = span_values([Span("a", 0, 10)], [Span("b", 0, 10)])
    assert set(values.values()) == {0}


def test_merged_spans_neither_touch_nor_overlap() -> None:
    assert merged([Span("a", 5, 9), Span("a", 0, 3), Span("a", 3, 6), Span("b", 1, 2), Span("a", 12, 13)]) == [
        Span("a", 0, 9), Span("a", 12, 13), Span("b", 1, 2)
    ]  # fmt: skip
