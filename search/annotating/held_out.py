"""Predictions on examples that were held out -> how good a classifier is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.records.evaluations import Comparison
from search.records.predictions import Calibration, CalibrationBin, ClassFigures
from search.statistics import compared_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINS = 10


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What heads said of examples that they had not seen.

    Attributes:
        truth: (n,) numbers of the true classes.
        groups: (n,) numbers of the groups that the examples belong to, from 0.
        probabilities: (repeats, n, c).
        fits: iterations that each fit took.
    """

    truth: NDArray[np.int64]
    groups: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    fits: tuple[int, ...]

    @property
    def classes(self) -> int:
        return int(self.probabilities.shape[2])

    @property
    def predicted(self) -> NDArray[np.int64]:
        """(repeats, n)"""
        return self.probabilities.argmax(axis=2)

    def by_group(self) -> NDArray[np.float64]:
        """(groups, 3 c): for each class how many of a group's examples are rightly said to be of it, are said to be of
        it, and are of it; means of the repeats."""
        c, predicted = self.classes, self.predicted
        counts = np.zeros((int(self.groups.max()) + 1, 3 * c))
        share = 1 / len(predicted)
        for said in predicted:
            right = said == self.truth
            np.add.at(counts, (self.groups[right], said[right]), share)
            np.add.at(counts, (self.groups, c + said), share)
            np.add.at(counts, (self.groups, 2 * c + self.truth), share)
        return counts.round(12)  # so that examples that are alike are equal

    def right_by_group(self) -> NDArray[np.float64]:
        """(groups,) how many of its examples are right, the mean of the repeats."""
        return np.asarray(self.by_group()[:, : self.classes].sum(axis=1))

    def confusion(self) -> NDArray[np.float64]:
        """(c, c) examples by true class (rows) and by what was said (columns), the mean of the repeats."""
        found = np.zeros((self.classes, self.classes))
        for said in self.predicted:
            np.add.at(found, (self.truth, said), 1.0)
        return found / len(self.predicted)


def accuracy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(r, 3 c) sums of `HeldOut.by_group` -> (r,) shares that are right."""
    hits, _, true = np.split(counts, 3, axis=1)
    return np.asarray(hits.sum(axis=1) / true.sum(axis=1))


def macro_f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(r, 3 c) sums of `HeldOut.by_group` -> (r,) means of the classes' F1.

    A class that is neither there nor predicted, as happens in a resample, is left out of its mean.
    """
    hits, predicted, true = np.split(counts, 3, axis=1)
    named = predicted + true
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nanmean(np.where(named > 0, 2 * hits / named, np.nan), axis=1))


def class_figures(confusion: NDArray[np.float64], classes: Sequence[str]) -> tuple[ClassFigures, ...]:
    """Precision, recall and F1 of every class; 0 where a class is never predicted, as scikit-learn has it."""
    found = []
    for i, name in enumerate(classes):
        hits, predicted, true = confusion[i, i], confusion[:, i].sum(), confusion[i].sum()
        found.append(
            ClassFigures(
                label=name,
                precision=float(hits / predicted) if predicted else 0.0,
                recall=float(hits / true) if true else 0.0,
                f1=float(2 * hits / (predicted + true)) if predicted + true else 0.0,
                support=round(float(true)),
            )
        )
    return tuple(found)


def calibration(confidences: NDArray[np.float64], right: NDArray[np.bool_], bins: int = _BINS) -> Calibration:
    """Reliability by bins of equal width, and the expected calibration error (Guo et al. 2017, equation 5).

    Args:
        confidences: (n,) the probability of the class that was predicted, in [0, 1].
        right: (n,) whether it is the true one.
    """
    number = np.minimum((confidences * bins).astype(np.int64), bins - 1)
    found, error = [], 0.0
    for i in range(bins):
        mine = number == i
        if not mine.any():
            continue
        said, was = float(confidences[mine].mean()), float(right[mine].mean())
        found.append(CalibrationBin(i / bins, (i + 1) / bins, int(mine.sum()), said, was))
        error += float(mine.mean()) * abs(was - said)
    return Calibration(tuple(found), error)


def comparisons(names: Sequence[str], held_out: Sequence[HeldOut], seed: int) -> tuple[Comparison, ...]:
    """Every way after the first with the first, on the same examples."""
    first = held_out[0]
    return tuple(
        compared_counts(
            metric,
            (names[0], name),
            first.by_group(),
            other.by_group(),
            (first.right_by_group(), other.right_by_group()),
            figure,
            seed=seed,
        )
        for name, other in zip(names[1:], held_out[1:], strict=True)
        for metric, figure in (("accuracy", accuracy), ("macro_f1", macro_f1))
    )
