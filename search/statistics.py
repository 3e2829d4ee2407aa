"""Estimates with intervals by `scipy.stats.bootstrap`, and significance tests of differences.

    mean_of(values)              mean with its BCa interval
    estimated(figure, *columns)  any metric (a correlation, accuracy, macro F1) with its percentile interval
    compared(...)                two settings on the same queries, by a paired randomization test
    accuracy, macro_f1           metrics of `class_counts`

Every resampling has a seed, so the same data give the same interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.records.evaluations import Comparison, Estimate

MetricFn = Callable[..., Any]  # (columns, axis=) -> the metric along the axis
_VALUES_IN_MEMORY = 5_000_000  # values in memory at a time


def mean_of(values: NDArray[np.float64], *, resamples: int = 9999, seed: int = 0) -> Estimate:
    """Return the mean over queries with its 95 % interval.

    The bootstrap resamples queries: the interval shows how the mean would vary with similar queries. It is
    bias-corrected and accelerated (BCa, Efron 1987), or the percentile interval if BCa is not defined.
    """
    return estimated(np.mean, values, method="BCa", resamples=resamples, seed=seed)


def estimated(
    figure: MetricFn,
    *columns: NDArray[Any],
    method: str = "percentile",
    resamples: int = 1999,
    seed: int = 0,
) -> Estimate:
    """Return a metric with its 95 % bootstrap interval; whole rows are resampled.

    Args:
        figure: function that computes the metric from the columns, along the dimension `axis`.
        columns: arrays with a value for each of n >= 1 rows. If all rows are equal, the interval has width 0.
    """
    from scipy.stats import bootstrap

    value = float(figure(*columns, axis=-1))
    if all(np.ptp(column) == 0 for column in columns):
        return Estimate(value, value, value)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")  # "BCa is not defined"; see below
        result = bootstrap(
            columns,
            figure,
            paired=len(columns) > 1,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _VALUES_IN_MEMORY // len(columns[0])),
            method=method,
            rng=np.random.default_rng(seed),
        )
    low, high = result.confidence_interval
    if not np.isfinite(
        [low, high]
    ).all():  # no BCa, or a resample that repeats one value and so has no correlation
        low, high = np.nanquantile(result.bootstrap_distribution, [0.025, 0.975])
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
    """Compare two settings on the same queries.

    The p-value is that of Fisher's randomization test with paired samples, which Smucker, Allan and Carterette 2007 ("A
    Comparison of Statistical Significance Tests for Information Retrieval Evaluation") recommend: under the null
    hypothesis, the two values of each query can be swapped. For few queries the p-value is exact.

    Args:
        names: names of the baseline and of the other setting.
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
            batch=max(1, _VALUES_IN_MEMORY // len(gaps)),
            rng=np.random.default_rng(seed),
        ).pvalue
    better, worse = int(np.sum(gaps > 0)), int(np.sum(gaps < 0))
    difference = mean_of(gaps, resamples=resamples, seed=seed)
    return Comparison(metric, *names, difference, float(p), better, worse, len(gaps) - better - worse)


def pearson(x: NDArray[np.float64], y: NDArray[np.float64], axis: int = -1) -> Any:
    """Pearson correlation along an axis."""
    from scipy.stats import pearsonr

    return pearsonr(x, y, axis=axis).statistic


def spearman(x: NDArray[np.float64], y: NDArray[np.float64], axis: int = -1) -> Any:
    """Spearman correlation along an axis; ties get their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(x, axis=axis), rankdata(y, axis=axis), axis)


def class_counts(
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    classes: int,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Count true positives, predictions and examples of each class, separately for each example or group of examples.

    Args:
        truth, predicted: (m,) class numbers of the examples.
        classes: number of classes, c.
        groups: (m,) group numbers below n; None makes each example a group.

    Returns:
        (3 c, n): c rows of true positives, c rows of predictions, c rows of examples.
    """
    groups = np.arange(len(truth)) if groups is None else groups
    counts = np.zeros((3, classes, groups.max() + 1), dtype=np.int64)
    right = truth == predicted
    for row, (ids, of) in enumerate(
        ((truth[right], groups[right]), (predicted, groups), (truth, groups))
    ):
        np.add.at(counts[row], (ids, of), 1)
    return counts.reshape(3 * classes, -1)


def accuracy(*counts: NDArray[np.int64], axis: int = -1) -> Any:
    """Share of correct predictions, from `class_counts`."""
    hits, _, true = _sums(counts, axis)
    return hits.sum(axis=0) / true.sum(axis=0)


def macro_f1(*counts: NDArray[np.int64], axis: int = -1) -> Any:
    """Mean F1 of the classes, from `class_counts`; classes without examples and predictions are left out."""
    hits, predicted, true = _sums(counts, axis)
    with np.errstate(invalid="ignore"):
        return np.nanmean(2 * hits / (predicted + true), axis=0)


def _sums(counts: tuple[NDArray[np.int64], ...], axis: int) -> list[NDArray[np.int64]]:
    return np.split(np.stack([np.sum(row, axis=axis) for row in counts]), 3)
