"""Figures of summed counts: their intervals, and whether two differ."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from search.annotating.labelled_examples import accuracy, macro_f1
from search.statistics import compared_counts, of_counts

Counts = NDArray[np.float64]


def counted(cells: list[int]) -> Counts:
    """Two classes, cells of a confusion matrix: 0 and 3 are right. Hits, predictions and truth of each class."""
    found = np.zeros((len(cells), 6))
    for row, cell in enumerate(cells):
        true, said = divmod(cell, 2)
        found[row, said] = true == said
        found[row, 2 + said] = found[row, 4 + true] = 1
    return found


def test_interval_is_that_of_resampled_examples() -> None:
    """Against a bootstrap that draws the examples one by one."""
    chance = np.random.default_rng(3)
    cells = chance.choice(4, p=[0.4, 0.1, 0.2, 0.3], size=120)
    counts = counted(cells.tolist())
    drawn = chance.integers(120, size=(4000, 120))
    for figure in (accuracy, macro_f1):
        found = of_counts(counts, figure)
        sums = np.array([counts[rows].sum(axis=0) for rows in drawn])
        low, high = np.quantile(figure(sums), [0.025, 0.975])
        assert found.mean == pytest.approx(figure(counts.sum(axis=0)[None])[0])
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.012)


def test_examples_of_one_kind_have_no_interval() -> None:
    found = of_counts(counted([0, 0, 0]), accuracy)
    assert (found.mean, found.low, found.high) == (1.0, 1.0, 1.0)


def test_p_value_is_that_of_all_exchanges() -> None:
    """Seven examples: every one of the 128 ways to exchange them is looked at by hand."""
    first = counted([0, 0, 1, 1, 3, 2, 1])
    other = counted([0, 0, 0, 0, 3, 3, 0])
    right = (first[:, :2].sum(axis=1), other[:, :2].sum(axis=1))
    found = compared_counts("accuracy", ("a", "b"), first, other, right, accuracy)
    assert found.difference.mean == pytest.approx(4 / 7)
    assert (found.better, found.worse, found.equal) == (4, 0, 3)
    gaps = []
    for exchanged in product((False, True), repeat=7):
        mask = np.array(exchanged)[:, None]
        a, b = np.where(mask, other, first), np.where(mask, first, other)
        gaps.append(accuracy(b.sum(axis=0)[None])[0] - accuracy(a.sum(axis=0)[None])[0])
    exact = np.mean(np.abs(gaps) >= 4 / 7 - 1e-12)
    assert found.p == pytest.approx(exact, abs=0.015)


def test_equal_ways_do_not_differ() -> None:
    counts = counted([0, 1, 2, 3])
    right = counts[:, :2].sum(axis=1)
    found = compared_counts("macro_f1", ("a", "b"), counts, counts, (right, right), macro_f1)
    assert (found.difference.mean, found.p, found.equal) == (0.0, 1.0, 4)
