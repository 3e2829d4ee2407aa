"""What is kept of terms: only of one state of the words, and no more than fits."""

import os
from pathlib import Path

import numpy as np

from search import Index
from search.store.lexicon import KeptTerms, Postings, summed


def postings(*pairs: tuple[int, float]) -> Postings:
    return Postings(np.array([id_ for id_, _ in pairs]), np.array([score for _, score in pairs]))


def test_sums_by_passage() -> None:
    found = summed([postings((2, 1.0), (5, 0.5)), postings((1, 0.25), (5, 2.0)), postings()])
    assert found.ids.tolist() == [1, 2, 5] and found.scores.tolist() == [0.25, 1.0, 2.5]
    assert len(summed([]).ids) == 0
    some = found.among(np.array([2, 3, 5]))
    assert some.ids.tolist() == [2, 5] and some.scores.tolist() == [1.0, 2.5]


WATER, COUNT = ("postings", "water"), ("count", "water")


def test_another_state_has_nothing_of_the_one_before() -> None:
    kept = KeptTerms()
    kept.keep("one", WATER, postings((1, 1.0)))
    kept.keep("one", COUNT, 1)
    assert kept.get("one", WATER) is not None and kept.get("one", COUNT) == 1
    assert kept.get("two", WATER) is None and kept.get("two", COUNT) is None
    kept.keep("two", ("count", "lock"), 3)
    assert kept.get("one", WATER) is None and kept.get("one", COUNT) is None
    assert kept.get("two", ("count", "lock")) == 3


def test_what_was_not_asked_for_longest_is_dropped() -> None:
    kept = KeptTerms(most=64)  # two terms of two passages each, 32 entries in all
    a, b, c, common = (("postings", name) for name in ("a", "b", "c", "far too common"))
    kept.keep(1, a, postings((1, 1.0), (2, 1.0)))
    kept.keep(1, b, postings((1, 1.0), (2, 1.0)))
    assert kept.get(1, a) is not None
    kept.keep(1, c, postings((3, 1.0)))
    assert kept.get(1, b) is None
    assert kept.get(1, a) is not None and kept.get(1, c) is not None
    kept.keep(1, common, postings(*((i, 1.0) for i in range(65))))
    assert kept.get(1, common) is None and kept.get(1, a) is not None


def test_an_index_that_changed_is_asked_anew(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model))
    for text in ("the water and the lock", "a long sound"):
        for number in range(3):
            assert index.query(text, k=50) == Index.open(index.path).query(text, k=50)
            (notes / f"more{number}.txt").write_text(f"Water, {text} {number}.")
            index.update()
        for number in range(3):
            os.remove(notes / f"more{number}.txt")  # noqa: PTH107
    index.update()
    assert index.query("water lock", k=50) == Index.open(index.path).query("water lock", k=50)
