"""Figures of summed counts: their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from search.annotating.labelled_examples import accuracy, macro_f1
from search.statistics import of_counts

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
