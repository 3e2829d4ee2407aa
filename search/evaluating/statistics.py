"""Values of queries -> means with intervals, and whether two settings differ by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.records.evaluations import Comparison, JudgedQuery, Latency, Measured, Setting
from search.statistics import compared, mean_of, pearson, spearman

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["compared", "comparisons", "mean_of", "measured", "pearson", "spearman"]


def measured(
    setting: Setting, queries: Sequence[JudgedQuery], latency: Latency, *, seed: int = 0
) -> Measured:
    """The mean of every figure over the queries, at least one, with its interval."""
    metrics = {name: mean_of(_values(queries, name), seed=seed) for name in queries[0].values}
    return Measured(setting, metrics, tuple(queries), latency)


def comparisons(settings: Sequence[Measured], *, seed: int = 0) -> tuple[Comparison, ...]:
    """Every setting after the first with the first, for each metric."""
    return tuple(
        compared(
            metric,
            (settings[0].setting.name, other.setting.name),
            _values(settings[0].queries, metric),
            _values(other.queries, metric),
            seed=seed,
        )
        for other in settings[1:]
        for metric in other.metrics
    )


def _values(queries: Sequence[JudgedQuery], metric: str) -> NDArray[np.float64]:
    return np.array([query.values[metric] for query in queries], dtype=np.float64)
