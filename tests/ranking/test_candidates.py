"""What a page gets to rank again by itself: the parts of scores, and a bound that holds for all other passages."""

import json
import random
from typing import Any

import numpy as np
import pytest

import search
from search import InputError
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.records.options import Ranking
from search.render.json import plain
from tests.ranking.conftest import WORDS


def of_all(index: search.Index, query: str) -> tuple[list[int], Any, Any]:
    """Ids, cosines and addends to BM25 of all passages."""
    (embedding,) = index.encoder.encode([query], role="query")
    with index._store.reading() as snapshot:
        ids = snapshot.ids()
        matches = Fusion(snapshot, EncodedQuery(query, embedding), Ranking.of()).matches
        return ids.tolist(), snapshot.cosines(embedding, ids), matches.addends(ids)


def test_parts_are_those_of_scores_and_the_bound_holds(index: search.Index) -> None:
    rng = random.Random(8)
    for _ in range(40):
        query = " ".join(rng.sample(WORDS, rng.randint(1, 5)))
        weight, n = rng.choice([0.0, 0.3, 0.75, 1.0]), rng.choice([1, 10, 100, 1000])
        first = rng.choice([1, 1, 300])
        every = index.candidates(query).terms
        without = rng.sample(every, rng.randint(0, len(every)))
        asked: dict[str, Any] = {"weight": weight, "where": f"id>={first - 1}", "without": without}
        found = index.candidates(query, n, **asked)
        assert sorted(found.without) == sorted(without)
        there = {one.passage_id: one for one in found.pool}
        assert list(there) == sorted(there)
        kept = [number for number, term in enumerate(found.terms) if term not in without]
        ids, cosines, addends = of_all(index, query)
        none = np.zeros(len(ids))
        words, said = (sum(addends[:, some].T, start=none) / found.scale for some in (slice(None), kept))
        scores = weight * cosines + (1 - weight) * said
        others = [row for row, id_ in enumerate(ids) if id_ >= first and id_ not in there]
        for row, id_ in enumerate(ids):
            if id_ in there:
                assert there[id_].cosine == cosines[row] and there[id_].addends == tuple(addends[row])
        assert found.whole == (not others)
        for row in others:
            assert cosines[row] <= found.bound.cosine
            assert words[row] <= found.bound.lexical
            assert scores[row] <= found.bound.score
        hits = index.query(query, n, **asked, per_document=0, all_copies=True)
        assert {hit.passage_id for hit in hits} <= set(there)
        assert [hit.score for hit in hits] == [scores[ids.index(hit.passage_id)] for hit in hits]


def test_other_modes_and_what_is_exhausted(index: search.Index) -> None:
    words = index.candidates("open the door", 400, mode="lexical")
    assert {one.cosine for one in words.pool} == {None}
    assert (words.weight, words.bound.cosine, words.bound.lexical, words.bound.score) == (0.0, 1.0, 0.0, 0.0)
    meaning = index.candidates("open the door", 5, mode="dense")
    assert (meaning.weight, meaning.terms, meaning.bound.lexical, len(meaning.pool)) == (1.0, (), 0.0, 5)
    assert meaning.bound.cosine == meaning.bound.score == min(one.cosine or 0 for one in meaning.pool)
    whole = index.candidates("open the door", 1000)
    assert whole.whole and (whole.bound.cosine, whole.bound.lexical, whole.bound.score) == (-1.0, 0.0, -1.0)
    none = index.candidates("open the door", where="id<0")
    assert none.whole and none.pool == ()
    assert none.generation == index.generation
    for found in (words, meaning, whole, none):
        assert json.loads(json.dumps(plain(found), allow_nan=False))["mode"] == found.mode


def test_words_are_there_whatever_the_weight(index: search.Index) -> None:
    by_meaning = index.candidates("open the door", 20, weight=1, without=["door"])
    assert by_meaning.without == ("door",)
    assert {"open", "door"} <= set(by_meaning.terms)
    assert all(one.cosine is not None for one in index.candidates("open the door", 20, weight=0).pool)


def test_counted_words_are_those_of_the_candidates(index: search.Index) -> None:
    query = 'the doors, "open door" zebra'
    options: list[dict[str, Any]] = [
        {},
        {"weight": 1, "without": ["door"]},
        {"mode": "lexical", "phrases": True, "without": ["doors", "open door"]},
        {"mode": "dense"},
    ]
    for asked in options:
        found = index.candidates(query, 1, **asked)
        assert index.counted_words(query, **asked) == (found.terms, found.without)
    assert index.counted_words(search.Question.of("door", ("zebra open", 0.5))) == (("door", "open"), ())
    with pytest.raises(InputError, match="'zebra' is no word"):
        index.counted_words(query, without=["zebra"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"without": ["zebra"]}, "'zebra' is no word"),
        ({"mode": "best"}, "no mode 'best'"),
    ],
)
def test_what_cannot_be_asked(index: search.Index, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        index.candidates("open the door", **options)
