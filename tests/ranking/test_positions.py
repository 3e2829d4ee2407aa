"""Where passages stand in the ranking of everything."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import search
from search.encoding import Encoder
from search.encoding.encoder import with_context
from search.ranking.fusion import Fusion, Scored
from search.ranking.options import Ranking
from search.ranking.question import EncodedQuery
from search.records.shown import shown

QUERY = "find the key"


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


def positions(
    index: search.Index, query: EncodedQuery, mode: str, passages: Iterable[int]
) -> dict[int, tuple[int, Scored]]:
    with index._store.reading() as snapshot:
        return Fusion(snapshot, query, Ranking.of(mode=mode)).positions(passages)


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_positions_are_the_ranks_of_hits(index: search.Index, tiny: Encoder, mode: str) -> None:
    query = EncodedQuery(QUERY, tiny.encode([QUERY])[0])
    n = index.status().passages
    hits = index.query(QUERY, k=n, mode=mode)
    found = positions(index, query, mode, [hit.passage_id for hit in hits[2:4]] + [999])
    assert [(id_, rank, item.score) for id_, (rank, item) in found.items()] == [
        (hits[2].passage_id, 3, hits[2].score),
        (hits[3].passage_id, 4, hits[3].score),
    ]


def test_positions_equal_brute_force(index: search.Index, tiny: Encoder) -> None:
    (query,) = tiny.encode([QUERY])
    hits = index.query(QUERY, k=100)
    texts = {hit.passage_id: with_context(hit.context, shown(hit.text, hit.hidden)) for hit in hits}
    cosines = tiny.encode(list(texts.values())) @ query
    found = positions(index, EncodedQuery(QUERY, query), "dense", list(texts))
    assert len(found) == len(texts)
    for id_, (rank, item) in found.items():
        mine = cosines[list(texts).index(id_)]
        assert item.cosine == pytest.approx(float(mine), abs=1e-6)
        assert rank == 1 + int(np.sum(cosines > mine + 1e-6))


def test_without_a_word_a_passage_stands_behind_those_that_have_one(index: search.Index) -> None:
    found = positions(index, EncodedQuery("water sound", None), "lexical", range(1, 100))
    assert len(found) == index.status().passages
    assert sorted(rank for rank, item in found.values() if item.score > 0) == [1, 2]
    assert {rank for rank, item in found.values() if item.score == 0} == {3}
