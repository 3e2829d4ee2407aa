"""What a page gets to rank again by itself: the parts of scores, and a bound that holds for all other passages."""

import random
from typing import Any

import pytest

import search
from search import InputError
from search.index import searcher_of
from tests.ranking.conftest import WORDS


def test_parts_are_those_of_scores_and_the_bound_holds(index: search.Index) -> None:
    rng = random.Random(8)
    for _ in range(20):
        query = " ".join(rng.sample(WORDS, rng.randint(1, 5)))
        weight, n = rng.choice([0.0, 0.3, 0.75, 1.0]), rng.choice([1, 10, 100, 1000])
        every = searcher_of(index).candidates(query).terms
        without = rng.sample(every, rng.randint(0, len(every)))
        asked: dict[str, Any] = {
            "weight": weight,
            "where": f"id>={rng.choice([0, 299])}",
            "without": without,
        }
        found = searcher_of(index).candidates(query, n, **asked)
        assert sorted(found.without) == sorted(without)
        pool = {one.passage_id: one for one in found.pool}
        assert list(pool) == sorted(pool)
        whole = index.query(query, 1000, **asked, per_document=0, all_copies=True)
        kept = [number for number, term in enumerate(found.terms) if term not in without]
        for hit in whole:
            if one := pool.get(hit.passage_id):
                words = sum(one.addends[number] for number in kept) / found.scale
                assert weight * (one.cosine or 0) + (1 - weight) * words == pytest.approx(hit.score)
            else:
                assert hit.score <= found.bound.score
                assert (hit.cosine or -1) <= found.bound.cosine
                assert (hit.lexical or 0) <= found.bound.lexical
        every_passage = index.query(query, 1000, mode="dense", where=asked["where"], all_copies=True)
        assert found.whole == (len(pool) == len(every_passage))
        assert {hit.passage_id for hit in whole[:n]} <= set(pool)


def test_other_modes_and_what_is_exhausted(index: search.Index) -> None:
    words = searcher_of(index).candidates("open the door", 400, mode="lexical")
    assert {one.cosine for one in words.pool} == {None}
    assert (words.weight, words.bound.cosine, words.bound.lexical, words.bound.score) == (
        0.0,
        1.0,
        0.0,
        0.0,
    )
    meaning = searcher_of(index).candidates("open the door", 5, mode="dense")
    assert (meaning.weight, meaning.terms, meaning.bound.lexical, len(meaning.pool)) == (1.0, (), 0.0, 5)
    assert meaning.bound.cosine == meaning.bound.score == min(one.cosine or 0 for one in meaning.pool)
    whole = searcher_of(index).candidates("open the door", 1000)
    assert whole.whole and (whole.bound.cosine, whole.bound.lexical, whole.bound.score) == (
        -1.0,
        0.0,
        -1.0,
    )
    none = searcher_of(index).candidates("open the door", where="id<0")
    assert none.whole and none.pool == ()
    assert none.generation == index.generation


def test_words_are_there_whatever_the_weight(index: search.Index) -> None:
    by_meaning = searcher_of(index).candidates("open the door", 20, weight=1, without=["door"])
    assert by_meaning.without == ("door",)
    assert {"open", "door"} <= set(by_meaning.terms)
    assert all(
        one.cosine is not None
        for one in searcher_of(index).candidates("open the door", 20, weight=0).pool
    )


def test_counted_words_are_those_of_the_candidates(index: search.Index) -> None:
    query = 'the doors, "open door" zebra'
    options: list[dict[str, Any]] = [
        {},
        {"weight": 1, "without": ["door"]},
        {"mode": "lexical", "without": ["doors", "open door"]},
        {"mode": "dense"},
    ]
    for asked in options:
        found = searcher_of(index).candidates(query, 1, **asked)
        assert searcher_of(index).counted_words(query, **asked) == (found.terms, found.without)
    assert searcher_of(index).counted_words(search.Question.of("door", ("zebra open", 0.5))) == (
        ("door", "open"),
        (),
    )
    with pytest.raises(InputError, match="'zebra' is not a keyword"):
        searcher_of(index).counted_words(query, without=["zebra"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"without": ["zebra"]}, "'zebra' is not a keyword"),
        ({"mode": "best"}, "unknown mode 'best'"),
    ],
)
def test_what_cannot_be_asked(index: search.Index, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        searcher_of(index).candidates("open the door", **options)
