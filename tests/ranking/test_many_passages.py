"""Rankings of so many passages that only a part of them is sorted."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import search
from tests.conftest import WORDS


@pytest.fixture(scope="module")
def index(tiny_model: Path) -> search.Index:
    """An index of 1,000 short documents, whose keyword scores differ."""
    draw = random.Random(5)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(3, 40))) for _ in range(1_000)]
    index = search.Index.create(model=str(tiny_model))
    index.upsert([{"id": str(number), "text": text} for number, text in enumerate(texts)])
    return index


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
@pytest.mark.parametrize("query", ["water", "open the door with a key or call people over the water"])
def test_the_first_hits_are_those_of_the_whole_ranking(
    index: search.Index, query: str, mode: search.records.options.Mode
) -> None:
    whole = index.query(query, k=1_000, mode=mode, all_copies=True, per_document=0)
    assert len(whole) > 150
    for k in (1, 2, 7, 33, 100, 250):
        hits = index.query(query, k=k, mode=mode, all_copies=True, per_document=0)
        assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in whole[:k]]
    scores = [hit.score for hit in whole]
    assert scores == sorted(scores, reverse=True)
