"""Results of evaluations of rankings, readers and taggers, and reports of training runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Task = Literal["retrieval", "sts", "answers", "entities"]


@dataclass(frozen=True)
class Estimate:
    """Mean over all queries with its 95 % bootstrap interval from `low` to `high`."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Setting:
    """A set of query options that an evaluation measures.

    Attributes:
        name: display name, "hybrid,rerank=late".
        options: keyword arguments of `Index.query`.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgedQuery:
    """Metrics of one query, question, pair of sentences or tagged sentence.

    Attributes:
        values: metric -> value. A pair of sentences has "cosine" and "score", which is its gold score; a tagged
            sentence has the numbers of correct, predicted and gold entities.
        results: documents, best first; for a question its answer, or (); for a tagged sentence the predicted label of
            each word.
    """

    id: str
    text: str
    values: Mapping[str, float]
    results: tuple[str, ...] = ()


@dataclass(frozen=True)
class SettingResult:
    """Metrics of one setting, over all queries and query by query.

    Attributes:
        metrics: metric ("ndcg@10") -> estimate.
        queries: in the order of the data.
    """

    setting: Setting
    metrics: Mapping[str, Estimate]
    queries: tuple[JudgedQuery, ...]


@dataclass(frozen=True)
class Comparison:
    """Significance test of two settings on the same queries.

    Attributes:
        difference: mean of `other` minus mean of `baseline`, with its interval.
        p: two-sided p-value of a paired randomization test, in [0, 1].
        better, worse, equal: number of queries for which `other` is better, worse or equal.
    """

    metric: str
    baseline: str
    other: str
    difference: Estimate
    p: float
    better: int
    worse: int
    equal: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Result of an evaluation with judged queries.

    Attributes:
        dataset: name of the data set.
        source: file or folder that the data was read from.
        split: name of the set of judgements; "" if there is only one.
        task: "retrieval", "sts" (similarity of sentences), "answers" or "entities".
        index: folder of the index, "" for a task without one.
        model, pooling: model and pooling of the embeddings; or the reader or tagger.
        documents, passages: number of documents and passages that were ranked; `documents` counts paragraphs for the
            task "answers", sentences for "entities".
        judgements: number of judgements of all queries.
        primary: name of the most important metric.
        settings: at least one; the first is the baseline.
        comparisons: each later setting with the baseline, for each metric.
        notes: sentences that are needed to interpret the figures.
    """

    dataset: str
    source: str
    task: Task
    split: str = ""
    index: str = ""
    model: str
    pooling: str
    documents: int = 0
    passages: int = 0
    judgements: int
    primary: str
    settings: tuple[SettingResult, ...]
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Metrics of the first setting."""
        return self.settings[0].metrics

    @property
    def queries(self) -> tuple[JudgedQuery, ...]:
        """Queries of the first setting."""
        return self.settings[0].queries


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
        total: number of examples.
        unit: what an example is, such as "questions".
        small: True for a small head of `make lab`.
    """

    right: int
    total: int
    unit: str
    small: bool = False


@dataclass(frozen=True)
class TrainingReport:
    """Report of a training run: data, settings, and metrics before and after.

    Attributes:
        out: folder of the trained model, which can be used like any other.
        base: name of the base model.
        base_sha256, sha256: hash of the weights of the base model, and of the trained model.
        objective: kind of training: "pairs" and "triplets" train the encoder to rank, "graded" trains similarities;
            "classify", "tag" and "read" train a task head.
        loss: class name of the loss.
        files: all files that were read.
        counts: name -> number of rows, texts and so on; see `search.training`.
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
