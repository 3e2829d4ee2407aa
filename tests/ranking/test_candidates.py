"""Candidates, which a page ranks again by itself: parts of scores, and a bound that holds for all other passages."""

import random
from typing import Any

import pytest

import search
from search import InputError
from search.index import searcher_of
from tests.ranking.conftest import WORDS


def test_parts_of_candidates_add_up_to_scores_and_the_bound_holds(index: search.Index) -> None:
    rng = random.Random(8)
    for _ in range(20):
        query = " ".join(rng.sample(WORDS, rng.randint(1, 5)))
        weight, n = rng.choice([0.0, 0.3, 0.75, 1.0]), rng.choice([1, 10, 100, 1000])
        terms = searcher_of(index).candidates(query).terms
        without = rng.sample(terms, rng.randint(0, len(terms)))
        options: dict[str, Any] = {
            "weight": weight,
            "where": f"id>={rng.choice([0, 299])}",
            "without": without,
        }
        candidates = searcher_of(index).candidates(query, n, **options)
        assert sorted(candidates.without) == sorted(without)
        pool = {candidate.passage_id: candidate for candidate in candidates.pool}
        assert list(pool) == sorted(pool)
        whole = index.query(query, 1000, **options, per_document=0, all_copies=True)
        numbers = [number for number, term in enumerate(candidates.terms) if term not in without]
        for hit in whole:
            if candidate := pool.get(hit.passage_id):
                words = sum(candidate.addends[number] for number in numbers) / candidates.scale
                assert weight * (candidate.cosine or 0) + (1 - weight) * words == pytest.approx(hit.score)
            else:
                assert hit.score <= candidates.bound.score
                assert (hit.cosine or -1) <= candidates.bound.cosine
                assert (hit.lexical or 0) <= candidates.bound.lexical
        every_passage = index.query(query, 1000, mode="dense", where=options["where"], all_copies=True)
        assert candidates.whole == (len(pool) == len(every_passage))
        assert {hit.passage_id for hit in whole[:n]} <= set(pool)


def test_each_mode_and_a_whole_pool_have_their_own_bounds(index: search.Index) -> None:
    words = searcher_of(index).candidates("open the door", 400, mode="lexical")
    assert {candidate.cosine for candidate in words.pool} == {None}
    assert (words.weight, words.bound.cosine, words.bound.lexical, words.bound.score) == (
        0.0,
        1.0,
        0.0,
        0.0,
    )
    meaning = searcher_of(index).candidates("open the door", 5, mode="dense")
    assert (meaning.weight, meaning.terms, meaning.bound.lexical, len(meaning.pool)) == (1.0, (), 0.0, 5)
    assert (
        meaning.bound.cosine
        == meaning.bound.score
        == min(candidate.cosine or 0 for candidate in meaning.pool)
    )
    whole = searcher_of(index).candidates("open the door", 1000)
    assert whole.whole and (whole.bound.cosine, whole.bound.lexical, whole.bound.score) == (
        -1.0,
        0.0,
        -1.0,
    )
    empty = searcher_of(index).candidates("open the door", where="id<0")
    assert empty.whole and empty.pool == ()
    assert empty.generation == index.generation


def test_candidates_have_words_and_cosines_whatever_the_weight(index: search.Index) -> None:
    by_meaning = searcher_of(index).candidates("open the door", 20, weight=1, without=["door"])
    assert by_meaning.without == ("door",)
    assert {"open", "door"} <= set(by_meaning.terms)
    assert all(
        candidate.cosine is not None
        for candidate in searcher_of(index).candidates("open the door", 20, weight=0).pool
    )


def test_counted_words_are_those_of_the_candidates(index: search.Index) -> None:
    query = 'the doors, "open door" zebra'
    options: list[dict[str, Any]] = [
        {},
        {"weight": 1, "without": ["door"]},
        {"mode": "lexical", "without": ["doors", "open door"]},
        {"mode": "dense"},
    ]
    for parameters in options:
        candidates = searcher_of(index).candidates(query, 1, **parameters)
        assert searcher_of(index).counted_words(query, **parameters) == (
            candidates.terms,
            candidates.without,
        )
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
def test_invalid_options_are_refused(index: search.Index, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        searcher_of(index).candidates("open the door", **options)
