"""Estimates with intervals by `scipy.stats.bootstrap`, and whether two differ by more than chance.

    mean_of(values)              a mean, with its BCa interval
    estimated(figure, *columns)  any figure of rows (a correlation, accuracy, macro F1), with its percentile interval
    compared(...)                two settings on the same queries, a paired randomization test
    accuracy, macro_f1           figures of `class_counts`

Every resampling has a seed, so the same data give the same interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.records.evaluations import Comparison, Estimate

Figure = Callable[..., Any]  # (columns, axis=) -> their figure along the axis
_AT_ONCE = 5_000_000  # values that are held in memory together


def mean_of(values: NDArray[np.float64], *, resamples: int = 9999, seed: int = 0) -> Estimate:
    """The mean over queries and its 95 % interval.

    The bootstrap resamples queries: the interval says how the mean would vary with other queries of the kind. It is
    bias-corrected and accelerated (BCa, Efron 1987), or the percentile interval where that is not defined.
    """
    return estimated(np.mean, values, method="BCa", resamples=resamples, seed=seed)


def estimated(
    figure: Figure,
    *columns: NDArray[Any],
    method: str = "percentile",
    resamples: int = 1999,
    seed: int = 0,
) -> Estimate:
    """A figure of rows and its 95 % interval; rows are drawn again whole.

    Args:
        columns: (n,) each, n >= 1. Rows that are all alike give an interval without width.
    """
    from scipy.stats import bootstrap

    value = float(figure(*columns, axis=-1))
    if all(np.ptp(column) == 0 for column in columns):
        return Estimate(value, value, value)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")  # that BCa is not defined
        found = bootstrap(
            columns,
            figure,
            paired=len(columns) > 1,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _AT_ONCE // len(columns[0])),
            method=method,
            rng=np.random.default_rng(seed),
        )
    low, high = found.confidence_interval
    if not np.isfinite([low, high]).all():  # resamples of one value only have no correlation
        low, high = np.nanquantile(found.bootstrap_distribution, [0.025, 0.975])
    return Estimate(value, float(low), float(high))


def compared(
    metric: str,
    names: tuple[str, str],
    baseline: NDArray[np.float64],
    other: NDArray[np.float64],
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> Comparison:
    """Two settings on the same queries.

    The p-value is that of Fisher's randomization test with paired samples, which Smucker, Allan and Carterette 2007 ("A
    Comparison of Statistical Significance Tests for Information Retrieval Evaluation") recommend: if the two do not
    differ, each query's values could as well be exchanged. It is exact for few queries.

    Args:
        names: of the baseline and of the other.
        baseline, other: (n,) values of the same queries in the same order.
    """
    from scipy.stats import permutation_test

    gaps = other - baseline
    p = 1.0
    if np.any(gaps) and len(gaps) > 1:
        p = permutation_test(
            (other, baseline),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _AT_ONCE // len(gaps)),
            rng=np.random.default_rng(seed),
        ).pvalue
    better, worse = int(np.sum(gaps > 0)), int(np.sum(gaps < 0))
    difference = mean_of(gaps, resamples=resamples, seed=seed)
    return Comparison(metric, *names, difference, float(p), better, worse, len(gaps) - better - worse)


def pearson(x: NDArray[np.float64], y: NDArray[np.float64], axis: int = -1) -> Any:
    """Pearson's correlation along an axis."""
    from scipy.stats import pearsonr

    return pearsonr(x, y, axis=axis).statistic


def spearman(x: NDArray[np.float64], y: NDArray[np.float64], axis: int = -1) -> Any:
    """Spearman's correlation along an axis; ties have their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(x, axis=axis), rankdata(y, axis=axis), axis)


def class_counts(
    truth: NDArray[np.int64],
    said: NDArray[np.int64],
    classes: int,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """(3 c, n) of each example, or group of examples: what is rightly said to be of a class, said to be, and is."""
    groups = np.arange(len(truth)) if groups is None else groups
    counts = np.zeros((3, classes, groups.max() + 1), dtype=np.int64)
    right = truth == said
    for row, (numbers, of) in enumerate(((truth[right], groups[right]), (said, groups), (truth, groups))):
        np.add.at(counts[row], (numbers, of), 1)
    return counts.reshape(3 * classes, -1)


def accuracy(*counts: NDArray[np.int64], axis: int = -1) -> Any:
    """The share that is right, of `class_counts`."""
    hits, _, true = _sums(counts, axis)
    return hits.sum(axis=0) / true.sum(axis=0)


def macro_f1(*counts: NDArray[np.int64], axis: int = -1) -> Any:
    """The mean of the classes' F1, of `class_counts`; without classes that are neither there nor said."""
    hits, said, true = _sums(counts, axis)
    with np.errstate(invalid="ignore"):
        return np.nanmean(2 * hits / (said + true), axis=0)


def _sums(counts: tuple[NDArray[np.int64], ...], axis: int) -> list[NDArray[np.int64]]:
    return np.split(np.stack([np.sum(one, axis=axis) for one in counts]), 3)
