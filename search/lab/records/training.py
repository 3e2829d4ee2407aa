"""Reports of training runs, and the quality of classifiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from search.lab.records.lab_record import LabRecord
from search.records.evaluations import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from search.records.reports import Progress

_QUANTILE = 1.959964  # of the standard normal distribution at 0.975


@dataclass(frozen=True)
class ClassFigures:
    """Precision, recall and F1 of one class, in [0, 1]; `support` is its number of examples."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, eq=False)
class ClassReport:
    """Quality of a classifier on held-out texts, class by class.

    Attributes:
        classes: c names; `by_class` is in their order.
        confusion: (c, c) number of texts of each true class (row) and predicted class (column).
        majority: the most frequent class.
        majority_accuracy: accuracy of always predicting the most frequent class.
    """

    classes: tuple[str, ...]
    by_class: tuple[ClassFigures, ...]
    confusion: NDArray[np.int64]
    majority: str
    majority_accuracy: float


Objective = Literal["pairs", "triplets", "graded", "classify", "tag", "read"]


@dataclass(frozen=True)
class TrainingFile:
    """A data file of a training run.

    Attributes:
        role: "train" or "dev".
        path: path that the user gave.
        name: name of the file, without folders.
        sha256: SHA-256 of its bytes, in hexadecimal.
        rows: number of rows in the file, including rows that were left out.
    """

    role: str
    path: str
    name: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class CurvePoint:
    """Value of a loss or metric after a number of optimizer steps; step 0 is before the first step."""

    step: int
    value: float


@dataclass(frozen=True)
class HeldOut:
    """Result of a head on the examples that were held out when it was trained.

    Attributes:
        right: number of examples whose prediction was entirely right, such as a sentence with all its entities.
        total: number of examples, at least 1.
        unit: what an example is, such as "questions".
        small: True for a small head of `make lab`.
        unanswerable: number of the examples that are questions without an answer in their text.
        refused: number of unanswerable questions that the head did not answer; they are among `right`.
    """

    right: int
    total: int
    unit: str
    small: bool = False
    unanswerable: int = 0
    refused: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of the share of right predictions, in [0, 1].

        It is the score interval of a binomial proportion (Wilson 1927), which takes the examples as independent.

        Example:
            >>> [round(end, 3) for end in HeldOut(71, 100, "questions").interval]
            [0.615, 0.79]
        """
        share, square = self.right / self.total, _QUANTILE**2 / self.total
        middle = share + square / 2
        half = math.sqrt(square * (share * (1 - share) + square / 4))
        low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
        return max(0.0, low), min(1.0, high)


@dataclass(frozen=True, repr=False)
class TrainingReport(LabRecord):
    """Report of a training run: data, settings, and metrics before and after.

    `.plot()` draws the training loss and the primary metric by step.

    Attributes:
        out: folder of the trained model, which can be used like any other.
        base: name of the base model.
        base_sha256, sha256: hash of the weights of the base model, and of the trained model.
        objective: kind of training: "pairs" and "triplets" train the encoder to rank, "graded" trains similarities;
            "classify", "tag" and "read" train a task head.
        loss: class name of the loss.
        files: all files that were read.
        counts: name -> number of rows, texts and so on; see `search.lab.training`.
        settings: epochs, batch_size, lr and so on, with the seed.
        primary: name of the metric by which the best checkpoint is chosen.
        before, after: metrics of the base model and of the trained model on the held-out data. If the base model lacks
            the head, `before` measures a head with random weights.
        difference: `after` minus `before`, with a paired interval.
        losses: mean training loss since the previous point.
        scores: primary metric at step 0 and at each checkpoint. It is measured on a part of the training data if
            `counts` has "chosen_by", otherwise on the held-out data.
        steps: number of training steps.
        kept: the step whose weights were kept.
        seconds: duration of the steps and evaluations of this run.
        device: device that the training ran on.
        classes: for a classification head, the quality of the trained model by class.
        held_out: task of the trained head, such as "answer" -> how often it is right; {} for an encoder.
        notes: sentences that are needed to interpret the figures.
    """

    out: str
    base: str
    base_sha256: str
    sha256: str
    objective: Objective
    loss: str
    files: tuple[TrainingFile, ...]
    counts: Mapping[str, int]
    settings: Mapping[str, Any]
    primary: str
    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    losses: tuple[CurvePoint, ...]
    scores: tuple[CurvePoint, ...]
    steps: int
    kept: int
    seconds: float
    device: str
    classes: ClassReport | None = None
    held_out: Mapping[str, HeldOut] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def improved(self) -> bool:
        """True if the primary metric is higher after training than before, even if only slightly."""
        return self.after[self.primary].mean > self.before[self.primary].mean


class TrainOptions(TypedDict, total=False):
    """Options for training the encoder, or a task head on it.

    model: the checkpoint to train; None for the default encoder. If it already has a head for exactly these classes,
        training continues with that head.
    dev: a held-out file to evaluate on; its examples are never trained on. None holds out a tenth of the data. Another
        tenth is held out for early stopping and to choose the best checkpoint. freeze: freeze the embeddings and this
        many of the first layers; "all" freezes the encoder. precision: arithmetic of the training steps, "fp32" or
        "bf16"; weights and metrics are in fp32. lr: peak learning rate; it rises over the first tenth of the steps,
        then falls to 0.
    """

    model: str | None
    dev: str | Path | None
    freeze: int | str | None
    precision: str
    epochs: int | None
    batch_size: int
    lr: float | None
    seed: int
    offline: bool
    progress: Callable[[Progress], None] | None
