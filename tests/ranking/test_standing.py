"""Where passages stand in the ranking of everything."""

from pathlib import Path

import numpy as np
import pytest

import search
from search.encoding import Encoder
from search.ranking import Asked, Ranking
from search.ranking.standing import passage_count, standings
from search.store.vectors import LoadedVectors

QUERY = "find the key"


@pytest.fixture
def loaded(notes: Path, tiny_model: Path) -> LoadedVectors:
    return LoadedVectors(search.Index.build(notes, model=str(tiny_model)).path)


@pytest.mark.parametrize("mode", ["dense", "hybrid", "rrf"])
def test_standings_are_the_ranks_of_hits(
    loaded: LoadedVectors, tiny: Encoder, notes: Path, mode: str
) -> None:
    asked = Asked(QUERY, tiny.encode([QUERY])[0])
    index = search.Index.open(notes)
    n = passage_count(loaded)
    hits = index.query(QUERY, k=n, mode=mode)
    found = standings(loaded, asked, Ranking.of(mode), [hit.passage_id for hit in hits[2:4]] + [999])
    assert [(id_, s.rank, s.of, s.scored.score) for id_, s in found.items()] == [
        (hits[2].passage_id, 3, n, hits[2].score),
        (hits[3].passage_id, 4, n, hits[3].score),
    ]


def test_standings_equal_brute_force(loaded: LoadedVectors, tiny: Encoder, notes: Path) -> None:
    (query,) = tiny.encode([QUERY])
    hits = search.Index.open(notes).query(QUERY, k=100)
    texts = {hit.passage_id: f"{hit.context}\n{hit.text}" if hit.context else hit.text for hit in hits}
    cosines = tiny.encode(list(texts.values())) @ query
    found = standings(loaded, Asked(QUERY, query), Ranking.of("dense"), list(texts))
    assert len(found) == len(texts)
    for id_, standing in found.items():
        mine = cosines[list(texts).index(id_)]
        assert standing.scored.cosine == pytest.approx(float(mine), abs=1e-6)
        assert standing.rank == 1 + int(np.sum(cosines > mine + 1e-6))


def test_without_a_word_a_passage_stands_behind_those_that_have_one(loaded: LoadedVectors) -> None:
    asked, ranking = Asked("water sound", None), Ranking.of("lexical")
    found = standings(loaded, asked, ranking, range(1, 100))
    assert len(found) == passage_count(loaded)
    with_words = [s for s in found.values() if s.scored.score > 0]
    assert sorted(s.rank for s in with_words) == [1, 2]
    assert {s.rank for s in found.values() if s.scored.score == 0} == {3}
