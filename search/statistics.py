"""Figures with intervals, and whether two of them differ by more than chance.

    mean_of(values)             a mean, its BCa bootstrap interval
    compared(...)               two settings on the same queries, a paired randomization test
    of_counts(counts, figure)   a figure of summed counts (accuracy, macro F1), its bootstrap interval
    spearman, pearson           correlations, their intervals

Every resampling has a seed, so the same data give the same interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.records.evaluations import Comparison, Estimate

_AT_ONCE = 500  # resamples that are held in memory together


def mean_of(values: NDArray[np.float64], *, resamples: int = 9999, seed: int = 0) -> Estimate:
    """The mean over queries and its 95 % interval.

    The bootstrap resamples queries: the interval says how the mean would vary with other queries of the kind. It is
    bias-corrected and accelerated (BCa, Efron 1987), or the percentile interval where that is not defined. One query,
    or queries that all have one value, give an interval without width.

    Args:
        values: (n,) one of each query, n >= 1.
    """
    mean = float(np.mean(values))
    if np.ptp(values) == 0:
        return Estimate(mean, mean, mean)
    for method in ("BCa", "percentile"):
        low, high = _bootstrap((values,), np.mean, method, resamples, seed)
        if np.isfinite(low) and np.isfinite(high):
            break
    return Estimate(mean, low, high)


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
            batch=_AT_ONCE,
            rng=np.random.default_rng(seed),
        ).pvalue
    return Comparison(
        metric=metric,
        baseline=names[0],
        other=names[1],
        difference=mean_of(gaps, resamples=resamples, seed=seed),
        p=float(p),
        better=int(np.count_nonzero(gaps > 0)),
        worse=int(np.count_nonzero(gaps < 0)),
        equal=int(np.count_nonzero(gaps == 0)),
    )


def spearman(
    first: NDArray[np.float64], second: NDArray[np.float64], *, resamples: int = 1999, seed: int = 0
) -> Estimate:
    """Spearman's rank correlation of (n,) and (n,), ties with their mean rank, and its percentile interval."""

    def statistic(x: Any, y: Any, axis: int = -1) -> Any:
        from scipy.stats import rankdata

        return _correlation(rankdata(x, axis=axis), rankdata(y, axis=axis), axis)

    return _correlated(statistic, first, second, resamples, seed)


def pearson(
    first: NDArray[np.float64], second: NDArray[np.float64], *, resamples: int = 1999, seed: int = 0
) -> Estimate:
    """Pearson's correlation of (n,) and (n,), and its percentile interval."""
    return _correlated(_correlation, first, second, resamples, seed)


def _correlated(
    statistic: Any, first: NDArray[np.float64], second: NDArray[np.float64], resamples: int, seed: int
) -> Estimate:
    low, high = _bootstrap((first, second), statistic, "percentile", resamples, seed)
    return Estimate(float(statistic(first, second)), low, high)


def _correlation(x: Any, y: Any, axis: int = -1) -> Any:
    x = x - np.mean(x, axis=axis, keepdims=True)
    y = y - np.mean(y, axis=axis, keepdims=True)
    scale = np.sqrt(np.sum(x * x, axis=axis) * np.sum(y * y, axis=axis))
    return np.sum(x * y, axis=axis) / scale


def _bootstrap(
    data: tuple[NDArray[np.float64], ...], statistic: Any, method: str, resamples: int, seed: int
) -> tuple[float, float]:
    """Low and high end of the 95 % interval; NaN where BCa is not defined."""
    from scipy.stats import bootstrap

    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")  # that BCa is not defined: who asked looks at it
        found = bootstrap(
            data,
            statistic,
            paired=len(data) > 1,
            vectorized=True,
            axis=-1,
            confidence_level=0.95,
            n_resamples=resamples,
            batch=_AT_ONCE,
            method=method,
            rng=np.random.default_rng(seed),
        )
    if method == "percentile":  # without resamples of one value only, which have no correlation
        low, high = np.nanquantile(found.bootstrap_distribution, [0.025, 0.975])
        return float(low), float(high)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def of_counts(
    counts: NDArray[np.float64],
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> Estimate:
    """A figure of counts that are summed over examples, and its 95 % percentile bootstrap interval.

    For figures that are no mean over examples, as the macro F1 of a confusion matrix. Examples are resampled, so the
    interval says how the figure would vary with other examples of the kind.

    Args:
        counts: (n, k), what each example (or group of examples that belong together) adds to k counts.
        figure: (r, k) sums -> (r,) values.

    Example:
        >>> share = lambda sums: sums[:, 0] / sums.sum(axis=1)
        >>> of_counts(np.array([[1.0, 0.0], [1.0, 0.0]]), share)
        Estimate(mean=1.0, low=1.0, high=1.0)
    """
    value = float(figure(counts.sum(axis=0)[None])[0])
    found = np.concatenate([figure(sums) for sums in _resampled(counts, resamples, seed)])
    low, high = np.nanquantile(found, [0.025, 0.975])
    return Estimate(value, float(low), float(high))


def _resampled(counts: NDArray[np.float64], resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """(r, k) sums of n rows that are drawn with replacement, some resamples at once.

    Rows that are alike are drawn together: how often each kind of row comes up is multinomial.
    """
    kinds, many = np.unique(counts, axis=0, return_counts=True)
    chance = np.random.default_rng(seed)
    for start in range(0, resamples, _AT_ONCE):
        size = min(_AT_ONCE, resamples - start)
        yield chance.multinomial(len(counts), many / len(counts), size=size) @ kinds
