"""The weight and the rerank that answer judged queries best, and whether that is more than chance: `tune`.

Whatever is best of several on some queries is better there than it will be on others. So the choice is cross-validated:
the queries are dealt into five parts, for each part the best setting of the other four is taken, and what it reaches on
the part counts. That is compared with the default, by query.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.errors import InputError
from search.evaluating.asking import values_of
from search.evaluating.evaluation import evaluate
from search.records.evaluations import Setting, Tuning
from search.records.options import WEIGHT
from search.records.reports import Progress
from search.statistics import compared
from search.store.choices import put_choice

_WEIGHTS = (
    WEIGHT,
    0.5,
    0.6,
    0.7,
    0.8,
    0.85,
    0.9,
    0.95,
    1.0,
)  # the default first: of equals the earlier is taken
_FOLDS = 5


def settings() -> list[Setting]:
    """What is tried: the default, other weights, and the default with a rerank by late interaction."""
    tried = [
        Setting(f"hybrid,weight={weight:g}", {"mode": "hybrid", "weight": weight}) for weight in _WEIGHTS
    ]
    late = {"mode": "hybrid", "weight": WEIGHT, "rerank": "late"}
    return [*tried, Setting(f"hybrid,weight={WEIGHT:g},rerank=late", late)]


def tune(
    dataset: str | Path,
    *,
    save: bool = False,
    index: str | Path | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Tuning:
    """Find the weight and rerank that answer judged queries best.

    Args:
        dataset: as for `search.evaluate`: a file of queries and paths about an index, or a collection.
        save: write the best into the index's settings, so that it is asked with them where nothing else is said.
        index, seed, progress, options: as for `search.evaluate`.

    Raises:
        InputError: what `search.evaluate` raises; fewer than five queries; pairs of sentences.
    """
    evaluation = evaluate(dataset, settings=settings(), index=index, seed=seed, progress=progress, **options)
    if len(evaluation.queries) < _FOLDS:
        raise InputError(
            f"there are {len(evaluation.queries)} judged queries, too few to choose by. Judge {_FOLDS} or more."
        )
    values = np.stack([values_of(one.queries, evaluation.primary) for one in evaluation.settings])
    folds = np.random.default_rng(seed).permutation(values.shape[1]) % _FOLDS
    chosen = cross_validated(values, folds)
    best = evaluation.settings[int(values.mean(axis=1).argmax())]
    comparison = compared(evaluation.primary, ("default", "tuned"), values[0], chosen, seed=seed)
    if save:
        put_choice(Path(evaluation.index), best.setting.options)
    return Tuning(evaluation, best.setting, comparison, _FOLDS, save)


def cross_validated(values: NDArray[np.float64], folds: NDArray[np.int64]) -> NDArray[np.float64]:
    """(queries,) what the setting that is best elsewhere reaches on each query.

    Args:
        values: (settings, queries).
        folds: (queries,) the part that each query is in.
    """
    chosen = np.empty(values.shape[1])
    for fold in np.unique(folds):
        here = folds == fold
        chosen[here] = values[values[:, ~here].mean(axis=1).argmax(), here]
    return chosen
