"""The hybrid ranking against brute force: exact, whatever the lists of the two sides look like."""

import random
import sqlite3
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import search
from search import InputError
from tests.bm25 import brute_force
from tests.ranking.conftest import WORDS


def everything(index: search.Index, query: str) -> dict[int, tuple[float, float]]:
    """Cosine and word part of every passage, worked out apart from the ranking."""
    (vector,) = index.encoder.encode([query], role="query")
    with sqlite3.connect(index.path / "index.db") as connection:
        rows = connection.execute(
            "SELECT id, text, vector FROM passages JOIN embeddings ON passage = id"
        ).fetchall()
    words = brute_force(tuple((id_, text) for id_, text, _ in rows))
    terms = words.discriminative(dict.fromkeys(query.split()))
    bm25, scale = words.scores(terms), words.scale(terms)
    return {
        id_: (float(np.frombuffer(blob, "<f4") @ vector), bm25.get(id_, 0) / scale)
        for id_, _, blob in rows
    }


@pytest.mark.parametrize("more", [100, 1])  # candidates beyond the k that are looked at first
def test_the_hybrid_ranking_equals_brute_force(index: search.Index, more: int) -> None:
    rng = random.Random(more)
    with mock.patch("search.ranking.fusion._EXTRA", more):
        for _ in range(15):
            query = " ".join(rng.choices([*WORDS, "zebra"], k=rng.randint(1, 4)))
            weight = rng.choice([0.02, 0.3, 0.75, 0.98])
            k = rng.choice([1, 3, 10, 399, 1000])
            parts = everything(index, query)
            scores = {id_: weight * cosine + (1 - weight) * word for id_, (cosine, word) in parts.items()}
            hits = index.query(query, k=k, weight=weight, all_copies=True)
            best = sorted(scores.values(), reverse=True)[:k]
            assert [hit.score for hit in hits] == pytest.approx(best, abs=1e-6)
            for hit in hits:
                cosine, word = parts[hit.passage_id]
                assert (hit.cosine, hit.lexical) == pytest.approx((cosine, word), abs=1e-6)
                assert hit.score == pytest.approx(
                    weight * hit.cosine + (1 - weight) * hit.lexical, abs=1e-12
                )
            order = [(-hit.score, hit.passage_id) for hit in hits]
            assert order == sorted(order)


def test_lexical_finds_only_what_has_a_word(index: search.Index) -> None:
    hits = index.query("rotate zebra", k=1000, mode="lexical")
    parts = everything(index, "rotate zebra")
    assert {hit.passage_id for hit in hits} == {id_ for id_, (_, word) in parts.items() if word}
    assert {hit.cosine for hit in hits} == {None}
    assert (
        hits[0].lexical
        == hits[0].score
        == pytest.approx(max(word for _, word in parts.values()), abs=1e-6)
    )
    assert 0.5 < hits[0].score < 1.0  # it says more than the one word that there is
    assert index.query("zebra", mode="lexical") == []
    assert len(index.query("zebra")) == 10
    assert {hit.lexical for hit in index.query("zebra")} == {0.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "best"}, "unknown mode 'best'. Choose one of: hybrid, dense, lexical"),
        ({"mode": None}, "unknown mode 'None'"),
        ({"weight": 1.5}, "weight is 1.5; the maximum is 1"),
        ({"weight": float("nan")}, "weight is not a number"),
        ({"mode": "dense", "weight": 0.5}, "applies only to mode 'hybrid'"),
    ],
)
def test_invalid_modes_and_weights_are_refused(
    index: search.Index, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        index.query("open", **options)  # type: ignore[arg-type]


def test_an_open_index_answers_after_a_rebuild_with_another_model(
    notes: Path, tiny_model: Path, other_model: Path
) -> None:
    index = search.Index.build(notes, model=str(tiny_model))
    index.query("find the key")
    search.Index.build(notes, model=str(other_model), rebuild=True)
    fresh = search.Index.open(index.path).query("find the key")
    assert index.query("find the key") == fresh
    search.Index.build(notes, model=str(other_model), rebuild=True, dim=8)
    assert index.query("find the key") == search.Index.open(index.path).query("find the key")


def test_invalid_queries_and_scores_are_refused(index: search.Index) -> None:
    with pytest.raises(InputError, match="a list of texts with weights"):
        index.query(("keys", 1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="min_score is not a number"):
        index.query("keys", min_score=float("nan"))
