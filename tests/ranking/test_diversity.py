"""Maximal marginal relevance: hits unlike those above them, with the scores that they have."""

from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder, Index, Indexes, InputError
from tests.conftest import WORDS

QUERY = "turn the key"


@pytest.fixture(scope="module")
def index(tiny: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Index:
    texts = {f"d{i}": " ".join(WORDS[i : i + 6]) for i in range(60)}
    index = Index.create(tmp_path_factory.mktemp("diversity") / "index", encoder=tiny)
    index.upsert({"id": name, "text": text} for name, text in texts.items())
    return index


def by_definition(index: Index, diversity: float, k: int) -> list[int]:
    """Carbonell and Goldstein 1998, equation 1, over the best 50."""
    pool = index.query(QUERY, 50)
    _, rows = index.embeddings([hit.passage_id for hit in pool])
    cosines = rows @ rows.T
    selection = [0]
    while len(selection) < k:
        rest = [i for i in range(len(pool)) if i not in selection]
        selection.append(
            max(
                rest,
                key=lambda i: (1 - diversity) * pool[i].score - diversity * cosines[i, selection].max(),
            )
        )
    return [pool[i].passage_id for i in selection]


@pytest.mark.parametrize("diversity", [0.2, 0.6, 1.0])
def test_hits_are_those_of_the_definition(index: Index, diversity: float) -> None:
    hits = index.query(QUERY, 10, diversity=diversity, explain=True)
    assert [hit.passage_id for hit in hits] == by_definition(index, diversity, 10)
    assert [hit.rank for hit in hits] == list(range(1, 11))
    scores = {hit.passage_id: hit.score for hit in index.query(QUERY, 60)}
    for hit in hits:
        assert hit.score == scores[hit.passage_id]
        assert hit.explanation and hit.explanation.addends == pytest.approx(hit.score, abs=1e-5)


def test_a_diverse_ranking_can_be_paged_reranked_and_grouped(index: Index) -> None:
    ids = [hit.passage_id for hit in index.query(QUERY, 6, diversity=0.5)]
    assert [hit.passage_id for hit in index.query(QUERY, 3, offset=3, diversity=0.5)] == ids[3:]
    plain = index.query(QUERY, 6)
    assert [hit.passage_id for hit in index.query(QUERY, 6, diversity=0)] == [
        hit.passage_id for hit in plain
    ]
    for options in ({"rerank": "late"}, {"group": True}):
        hits = index.query(QUERY, 6, diversity=0.9, **options)
        best = index.query(QUERY, 6, **options)
        assert hits[0].passage_id == best[0].passage_id
        rows = [index.embeddings([hit.passage_id for hit in ranking])[1] for ranking in (hits, best)]
        assert np.sum(rows[0] @ rows[0].T) < np.sum(rows[1] @ rows[1].T)


def test_an_invalid_diversity_and_several_indexes_are_refused(index: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="diversity"):
        index.query(QUERY, diversity=1.5)
    with pytest.raises(InputError, match="single index"):
        Indexes([index, search.Index.create(tmp_path / "x", encoder=index.encoder)]).query(
            QUERY, diversity=0.5
        )
