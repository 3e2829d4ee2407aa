"""Metrics against trec_eval, SQuAD's script, scikit-learn, SciPy and brute force."""

import math
import random
import re
import string
from collections import Counter
from itertools import product

import numpy as np
import pytest

from search.evaluating.metrics import ranking_values
from search.lab.evaluating.metrics import answer_values
from search.statistics import (
    accuracy,
    class_counts,
    compared,
    estimated,
    macro_f1,
    mean_of,
    pearson,
    spearman,
)

# Our names, and trec_eval's; its reciprocal rank has no depth, so that one is compared on shortened runs.
NAMES = {
    "ndcg@10": "ndcg_cut_10", "map@100": "map_cut_100", "recall@10": "recall_10", "recall@100": "recall_100",
    "precision@10": "P_10",
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
        results = chance.sample(documents, chance.choice([1, 5, 30, 150]))
        run[query] = {document: float(chance.randrange(40)) / 8 for document in results}
        judged = chance.sample(documents, chance.choice([1, 3, 60]))
        grades = [0] if number % 7 == 0 else [-1, 0, 1, 1, 2, 3]
        judgements[query] = {document: chance.choice(grades) for document in judged}
    return run, judgements


def as_trec_eval_sorts(scores: dict[str, float]) -> list[str]:
    """Documents by score, and equal ones by their name, both falling."""
    return sorted(scores, key=lambda document: (scores[document], document), reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_every_figure_is_that_of_trec_eval(seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, judgements = random_run(seed)
    expected = pytrec_eval.RelevanceEvaluator(judgements, set(NAMES.values())).evaluate(run)
    ranks = pytrec_eval.RelevanceEvaluator(judgements, {"recip_rank"})
    for query, scores in run.items():
        ranked = as_trec_eval_sorts(scores)
        actual = ranking_values(ranked, judgements[query])
        for name, trec_name in NAMES.items():
            assert actual[name] == pytest.approx(expected[query][trec_name], abs=1e-6), (query, name)
        for depth in (10, 100):
            short = {document: scores[document] for document in ranked[:depth]}
            rank = ranks.evaluate({query: short})[query]["recip_rank"]
            assert actual[f"mrr@{depth}"] == pytest.approx(rank, abs=1e-6)
        assert set(actual) == {*NAMES, "mrr@10", "mrr@100"}


def test_figures_are_those_worked_out_by_hand() -> None:
    values = ranking_values(["x", "a", "b", "y"], {"a": 1, "b": 3, "c": 2, "y": 0, "x": -1}, k=3)
    gained = 1 / math.log2(3) + 3 / math.log2(4)
    best = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert values == pytest.approx(
        {
            "ndcg@3": gained / best, "mrr@3": 1 / 2, "mrr@100": 1 / 2, "map@100": (1 / 2 + 2 / 3) / 3,
            "recall@3": 2 / 3, "recall@100": 2 / 3, "precision@3": 2 / 3,
        }
    )  # fmt: skip


def test_figures_stop_at_their_depth() -> None:
    ranked = [f"d{number}" for number in range(300)]
    values = ranking_values(ranked, {"d10": 1, "d120": 1, "d250": 1}, k=10)
    assert (values["recall@10"], values["mrr@10"]) == (0, 0)
    assert values["recall@100"] == pytest.approx(1 / 3)
    assert values["mrr@100"] == pytest.approx(1 / 11)
    deep = ranking_values(ranked, {"d10": 1, "d120": 1, "d250": 1}, k=200)
    assert deep["recall@200"] == pytest.approx(2 / 3)
    assert "recall@100" not in deep
    assert ranking_values([], {"a": 1})["ndcg@10"] == 0


def published_tokens(text: str) -> list[str]:
    """Tokens as the evaluation script of SQuAD 2.0 compares them, step by step."""
    lowered = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", lowered).split()


def published_f1(gold: str, predicted: str) -> float:
    gold_tokens, tokens = published_tokens(gold), published_tokens(predicted)
    overlap = sum((Counter(gold_tokens) & Counter(tokens)).values())
    if len(gold_tokens) == 0 or len(tokens) == 0:
        return float(gold_tokens == tokens)
    if overlap == 0:
        return 0.0
    precision, recall = overlap / len(tokens), overlap / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "f1"),
    [
        ("the Denver Broncos.", ["Denver Broncos"], 1, 1),
        ("Denver", ["Denver Broncos", "Broncos"], 0, 2 / 3),
        ("a b b", ["b b b c"], 0, 2 * (2 / 2) * (2 / 4) / (2 / 2 + 2 / 4)),  # "a" is an article
        ("", ["Denver"], 0, 0),
        ("", [], 1, 1),
        ("Denver", [], 0, 0),
        ("an", ["the"], 1, 1),
        ("1,000", ["1000"], 1, 1),
    ],
)
def test_answer_values_are_those_worked_out_by_hand(
    predicted: str, gold: list[str], exact: float, f1: float
) -> None:
    assert answer_values(predicted, gold) == {"exact_match": exact, "f1": pytest.approx(f1)}


def test_answer_values_are_those_of_the_published_script() -> None:
    chance = random.Random(0)
    words = ["a", "the", "An", "key", "Key!", "lock", "-", "théâtre", "\u00a0", "x"]
    for _ in range(500):
        predicted, gold = (" ".join(chance.choices(words, k=chance.randrange(6))) for _ in range(2))
        values = answer_values(predicted, [gold])
        assert values["f1"] == pytest.approx(published_f1(gold, predicted))
        assert values["exact_match"] == (published_tokens(gold) == published_tokens(predicted))


def test_an_interval_is_that_of_theory_for_many_values() -> None:
    values = np.random.default_rng(1).normal(0.4, 0.2, size=2000)
    estimate = mean_of(values)
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert estimate.mean == pytest.approx(values.mean())
    assert estimate.low == pytest.approx(estimate.mean - 1.96 * error, abs=0.1 * error)
    assert estimate.high == pytest.approx(estimate.mean + 1.96 * error, abs=0.1 * error)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A skewed figure, as reciprocal ranks are: about 95 of 100."""
    chance = np.random.default_rng(2)
    ranks = np.array([1, 1 / 2, 1 / 3, 1 / 10, 0])
    shares = np.array([0.3, 0.2, 0.1, 0.1, 0.3])
    count = 0
    for number in range(200):
        estimate = mean_of(chance.choice(ranks, size=60, p=shares), resamples=400, seed=number)
        count += estimate.low <= float(ranks @ shares) <= estimate.high
    assert 178 <= count <= 199


def test_an_interval_depends_on_the_seed() -> None:
    values = np.random.default_rng(3).random(30)
    assert mean_of(values, seed=5) == mean_of(values, seed=5)
    assert mean_of(values, seed=5) != mean_of(values, seed=6)


@pytest.mark.parametrize("values", [[0.5], [1.0, 1.0, 1.0], [0.0, 0.0]])
def test_values_that_are_all_equal_give_an_interval_without_width(values: list[float]) -> None:
    estimate = mean_of(np.array(values))
    assert estimate.mean == estimate.low == estimate.high == values[0]


def test_an_interval_is_always_finite() -> None:
    """BCa is not defined for some values that hardly differ."""
    for count in (2, 3, 5, 30):
        for odd in (0.0, 0.5):
            estimate = mean_of(np.array([1.0] * (count - 1) + [odd]), resamples=500)
            assert estimate.low <= estimate.mean <= estimate.high


def test_the_paired_test_is_exact_for_few_queries() -> None:
    baseline = np.array([0.1, 0.5, 0.3, 0.9, 0.2, 0.4, 0.6, 0.3])
    other = np.array([0.4, 0.6, 0.2, 1.0, 0.7, 0.5, 0.9, 0.3])
    gaps = other - baseline
    sums = [
        sum(sign * gap for sign, gap in zip(signs, gaps, strict=True))
        for signs in product((1, -1), repeat=8)
    ]
    p = np.mean([abs(total) >= gaps.sum() - 1e-12 for total in sums])
    comparison = compared("ndcg@10", ("a", "b"), baseline, other)
    assert comparison.p == pytest.approx(p)
    assert (comparison.better, comparison.worse, comparison.equal) == (6, 1, 1)
    assert comparison.difference.mean == pytest.approx(gaps.mean())
    assert (comparison.metric, comparison.baseline, comparison.other) == ("ndcg@10", "a", "b")
    back = compared("ndcg@10", ("b", "a"), other, baseline)
    assert (back.p, back.difference.mean) == (pytest.approx(p), pytest.approx(-gaps.mean()))


def test_the_paired_test_tells_a_difference_from_chance_for_many_queries() -> None:
    chance = np.random.default_rng(4)
    baseline = chance.random(200)
    assert compared("m", ("a", "b"), baseline, baseline).p == 1
    assert compared("m", ("a", "b"), baseline, baseline + 0.05 + 0.1 * chance.random(200)).p < 0.001
    assert compared("m", ("a", "b"), baseline, chance.permutation(baseline)).p > 0.05


def test_chance_is_significant_in_about_one_of_twenty_tests() -> None:
    chance = np.random.default_rng(5)
    significant = [
        compared("m", ("a", "b"), chance.random(40), chance.random(40), resamples=199, seed=number).p
        <= 0.05
        for number in range(150)
    ]
    assert 1 <= sum(significant) <= 16


def test_figures_of_columns_are_those_of_scipy_and_scikit_learn() -> None:
    """Values and intervals; the latter against rows that are drawn again one by one."""
    from scipy import stats
    from sklearn.metrics import accuracy_score, f1_score

    chance = np.random.default_rng(6)
    first = chance.integers(0, 3, size=120)  # with ties
    second = np.where(chance.random(120) < 0.7, first, chance.integers(0, 3, size=120))
    counts = class_counts(first, second, 3)
    samples = chance.integers(120, size=(300, 120))
    for figure, columns, reference in (
        (spearman, (first, second), lambda a, b: stats.spearmanr(a, b).statistic),
        (pearson, (first, second), lambda a, b: stats.pearsonr(a, b).statistic),
        (accuracy, counts, accuracy_score),
        (macro_f1, counts, lambda a, b: f1_score(a, b, average="macro")),
    ):
        estimate = estimated(figure, *columns)
        assert estimate.mean == pytest.approx(reference(first, second), abs=1e-12)
        ends = np.quantile([reference(first[rows], second[rows]) for rows in samples], [0.025, 0.975])
        assert (estimate.low, estimate.high) == pytest.approx(ends, abs=0.03)
    groups = np.arange(120) // 4
    by_group = class_counts(first, second, 3, groups)
    assert by_group.shape == (9, 30) and (by_group.sum(axis=1) == counts.sum(axis=1)).all()
    assert estimated(accuracy, *by_group).mean == estimated(accuracy, *counts).mean
