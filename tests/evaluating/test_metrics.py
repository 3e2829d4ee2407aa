"""Figures of rankings against trec_eval itself, and against numbers worked by hand."""

import math
import random

import numpy as np
import pytest

from search.evaluating.metrics import ranking_values

# Our names, and trec_eval's; its reciprocal rank has no depth, so that one is compared on shortened runs.
NAMES = {
    "ndcg@10": "ndcg_cut_10", "map@100": "map_cut_100", "recall@10": "recall_10", "recall@100": "recall_100",
    "success@1": "success_1", "success@10": "success_10", "precision@10": "P_10",
}  # fmt: skip
Run = dict[str, dict[str, float]]
Judgements = dict[str, dict[str, int]]


def random_run(seed: int) -> tuple[Run, Judgements]:
    """Queries of every kind: ties, grades up to 3 and below 0, relevant documents that are not found, none relevant."""
    chance = random.Random(seed)
    run: Run = {}
    judgements: Judgements = {}
    documents = [f"d{number}" for number in range(300)]
    for number in range(20):
        query = f"q{number}"
        found = chance.sample(documents, chance.choice([1, 5, 30, 150]))
        run[query] = {document: float(chance.randrange(40)) / 8 for document in found}
        judged = chance.sample(documents, chance.choice([1, 3, 60]))
        grades = [0] if number % 7 == 0 else [-1, 0, 1, 1, 2, 3]
        judgements[query] = {document: chance.choice(grades) for document in judged}
    return run, judgements


def as_trec_eval_sorts(scores: dict[str, float]) -> list[str]:
    """By score, and equal ones by their name, both falling."""
    return sorted(scores, key=lambda document: (scores[document], document), reverse=True)


@pytest.mark.parametrize("seed", range(25))
def test_every_figure_is_that_of_trec_eval(seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, judgements = random_run(seed)
    theirs = pytrec_eval.RelevanceEvaluator(judgements, set(NAMES.values())).evaluate(run)
    ranks = pytrec_eval.RelevanceEvaluator(judgements, {"recip_rank"})
    for query, scores in run.items():
        ranked = as_trec_eval_sorts(scores)
        ours = ranking_values(ranked, judgements[query])
        for name, name_there in NAMES.items():
            assert ours[name] == pytest.approx(theirs[query][name_there], abs=1e-6), (query, name)
        for depth in (10, 100):
            short = {document: scores[document] for document in ranked[:depth]}
            rank = ranks.evaluate({query: short})[query]["recip_rank"]
            assert ours[f"mrr@{depth}"] == pytest.approx(rank, abs=1e-6)
        assert set(ours) == {*NAMES, "mrr@10", "mrr@100"}


def test_the_random_runs_hold_what_they_should() -> None:
    """Without ties, and queries that nothing is relevant to, the comparison would say little."""
    run, judgements = random_run(0)
    ties = [query for query, scores in run.items() if len(set(scores.values())) < len(scores)]
    hopeless = [query for query, grades in judgements.items() if max(grades.values()) < 1]
    assert len(ties) >= 5
    assert hopeless
    assert any(set(judgements[query]) - set(run[query]) for query in run)
    assert {grade for grades in judgements.values() for grade in grades.values()} == {-1, 0, 1, 2, 3}


def test_by_hand() -> None:
    found = ranking_values(["x", "a", "b", "y"], {"a": 1, "b": 3, "c": 2, "y": 0, "x": -1}, k=3)
    gained = 1 / math.log2(3) + 3 / math.log2(4)
    best = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx(
        {
            "ndcg@3": gained / best, "mrr@3": 1 / 2, "mrr@100": 1 / 2, "map@100": (1 / 2 + 2 / 3) / 3,
            "recall@3": 2 / 3, "recall@100": 2 / 3, "success@1": 0, "success@3": 1, "precision@3": 2 / 3,
        }
    )  # fmt: skip


def test_depths() -> None:
    ranked = [f"d{number}" for number in range(300)]
    found = ranking_values(ranked, {"d10": 1, "d120": 1, "d250": 1}, k=10)
    assert (found["recall@10"], found["mrr@10"], found["success@10"]) == (0, 0, 0)
    assert found["recall@100"] == pytest.approx(1 / 3)
    assert found["mrr@100"] == pytest.approx(1 / 11)
    deep = ranking_values(ranked, {"d10": 1, "d120": 1, "d250": 1}, k=200)
    assert deep["recall@200"] == pytest.approx(2 / 3)
    assert "recall@100" not in deep
    assert ranking_values([], {"a": 1})["ndcg@10"] == 0


def test_a_document_that_is_ranked_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        ranking_values(["a", "b", "a"], {"a": 1})


def test_values_are_plain_numbers_between_0_and_1() -> None:
    run, judgements = random_run(99)
    for query, scores in run.items():
        for value in ranking_values(as_trec_eval_sorts(scores), judgements[query]).values():
            assert type(value) is float
            assert 0 <= value <= 1
            assert not np.isnan(value)
