"""Means, intervals, correlations and paired tests, against theory, scipy, and brute force."""

from itertools import product

import numpy as np
import pytest

from search.statistics import compared, mean_of, pearson, spearman


def test_an_interval_is_that_of_theory_for_many_values() -> None:
    values = np.random.default_rng(1).normal(0.4, 0.2, size=2000)
    found = mean_of(values)
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.low == pytest.approx(found.mean - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(found.mean + 1.96 * error, abs=0.1 * error)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of a skewed figure, as reciprocal ranks are: about 95 of 100."""
    chance = np.random.default_rng(2)
    ranks = np.array([1, 1 / 2, 1 / 3, 1 / 10, 0])
    shares = np.array([0.3, 0.2, 0.1, 0.1, 0.3])
    held = 0
    for number in range(200):
        found = mean_of(chance.choice(ranks, size=60, p=shares), resamples=400, seed=number)
        held += found.low <= float(ranks @ shares) <= found.high
    assert 178 <= held <= 199


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    values = np.random.default_rng(3).random(30)
    assert mean_of(values, seed=5) == mean_of(values, seed=5)
    assert mean_of(values, seed=5) != mean_of(values, seed=6)


@pytest.mark.parametrize("values", [[0.5], [1.0, 1.0, 1.0], [0.0, 0.0]])
def test_values_that_are_all_equal_give_an_interval_without_width(values: list[float]) -> None:
    found = mean_of(np.array(values))
    assert found.mean == found.low == found.high == values[0]


def test_an_interval_is_always_finite() -> None:
    """BCa is not defined for some values that hardly differ."""
    for count in (2, 3, 5, 30):
        for odd in (0.0, 0.5):
            found = mean_of(np.array([1.0] * (count - 1) + [odd]), resamples=500)
            assert found.low <= found.mean <= found.high


def test_the_paired_test_is_exact_for_few_queries() -> None:
    baseline = np.array([0.1, 0.5, 0.3, 0.9, 0.2, 0.4, 0.6, 0.3])
    other = np.array([0.4, 0.6, 0.2, 1.0, 0.7, 0.5, 0.9, 0.3])
    gaps = other - baseline
    sums = [
        sum(sign * gap for sign, gap in zip(signs, gaps, strict=True)) for signs in product((1, -1), repeat=8)
    ]
    p = np.mean([abs(one) >= gaps.sum() - 1e-12 for one in sums])
    found = compared("ndcg@10", ("a", "b"), baseline, other)
    assert found.p == pytest.approx(p)
    assert (found.better, found.worse, found.equal) == (6, 1, 1)
    assert found.difference.mean == pytest.approx(gaps.mean())
    assert (found.metric, found.baseline, found.other) == ("ndcg@10", "a", "b")
    back = compared("ndcg@10", ("b", "a"), other, baseline)
    assert (back.p, back.difference.mean) == (pytest.approx(p), pytest.approx(-gaps.mean()))


def test_the_paired_test_for_many_queries() -> None:
    chance = np.random.default_rng(4)
    baseline = chance.random(200)
    assert compared("m", ("a", "b"), baseline, baseline).p == 1
    assert compared("m", ("a", "b"), baseline, baseline + 0.05 + 0.1 * chance.random(200)).p < 0.001
    assert compared("m", ("a", "b"), baseline, chance.permutation(baseline)).p > 0.05


def test_chance_is_found_significant_as_seldom_as_it_should() -> None:
    chance = np.random.default_rng(5)
    found = [
        compared("m", ("a", "b"), chance.random(40), chance.random(40), resamples=199, seed=number).p <= 0.05
        for number in range(150)
    ]
    assert 1 <= sum(found) <= 16


def test_correlations_are_those_of_scipy() -> None:
    from scipy import stats

    chance = np.random.default_rng(6)
    first = chance.integers(0, 8, size=120).astype(float)  # with ties
    second = first + chance.normal(0, 2, size=120).round()
    for ours, theirs in ((spearman, stats.spearmanr), (pearson, stats.pearsonr)):
        found = ours(first, second, resamples=300)
        assert found.mean == pytest.approx(theirs(first, second).statistic, abs=1e-12)
        assert found.low < found.mean < found.high
        assert found.high - found.low < 0.35
