"""What an evaluation found, of rankings and of taggers, and what a training did."""

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
    """A figure over all queries, and its 95 % bootstrap interval; `low` <= `mean` <= `high` as a rule."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Setting:
    """One way to ask an index.

    Attributes:
        name: as it is shown, "hybrid,rerank=late".
        options: keyword arguments of `Index.query`.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgedQuery:
    """One query, or pair of sentences, and its own figures.

    Attributes:
        values: by the name of the metric; for pairs of sentences "cosine" and "score", the judgement; for sentences how
            many entities are right, found and gold.
        found: the documents that were ranked first, best first; for questions the answer, () for none; for sentences
            the label of each word.
    """

    id: str
    text: str
    values: Mapping[str, float]
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class SettingResult:
    """What one setting reached.

    Attributes:
        metrics: by name ("ndcg@10").
        queries: in the order of the data.
    """

    setting: Setting
    metrics: Mapping[str, Estimate]
    queries: tuple[JudgedQuery, ...]


@dataclass(frozen=True)
class Comparison:
    """Two settings on the same queries.

    Attributes:
        difference: of the means, `other` less `baseline`, with its interval.
        p: two-sided, of a paired randomization test; how often chance alone gives so large a difference.
        better, worse, equal: queries for which `other` is.
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
    """Judged queries, and how well they were answered.

    Attributes:
        dataset: its name; `source` where it was read from; `split` which judgements, "" where there is one set.
        index: the folder of the index that was asked, "" where none was.
        model, pooling: of its embeddings; or the reader or tagger.
        documents, passages: that were ranked; for questions `documents` are the paragraphs, for entities the sentences.
        judgements: how many there are, of all queries.
        primary: the metric that settings are compared by first.
        settings: at least one; the first is the baseline.
        comparisons: every later setting with the first, for each metric.
        notes: sentences about what has to be known to read the figures.
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
        """Of the first setting."""
        return self.settings[0].metrics

    @property
    def queries(self) -> tuple[JudgedQuery, ...]:
        """Of the first setting."""
        return self.settings[0].queries


@dataclass(frozen=True)
class ClassFigures:
    """One class: precision, recall and F1 in [0, 1], and how many examples there are of it."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, eq=False)
class ClassReport:
    """How a classifier does on held-out texts, class by class.

    Attributes:
        classes: c names; `by_class` in their order.
        confusion: (c, c) texts by true class (rows) and by what was said (columns).
        majority: the most frequent class; `majority_accuracy` is what always saying it reaches.
    """

    classes: tuple[str, ...]
    by_class: tuple[ClassFigures, ...]
    confusion: NDArray[np.int64]
    majority: str
    majority_accuracy: float


Objective = Literal["pairs", "triplets", "graded", "classify", "tag", "read"]


@dataclass(frozen=True)
class TrainingFile:
    """A file that was read.

    Attributes:
        role: "train" or "dev".
        path: as it was named; `name` without folders.
        sha256: of its bytes.
        rows: that were read, before any was left out.
    """

    role: str
    path: str
    name: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class CurvePoint:
    """A value after so many steps of the optimizer; 0 is before the first."""

    step: int
    value: float


@dataclass(frozen=True)
class TrainingReport:
    """A model that was trained, and what it was trained with.

    Attributes:
        out: the folder of the result, a model like any other.
        base: the model that was trained on, by name; `base_sha256` of its weights, `sha256` of the result's.
        objective: what the data is, and so what is learned: "pairs" and "triplets" a ranking, "graded" similarities;
            of a head "classify", "tag" or "read".
        loss: the name of the class of the loss.
        files: everything that was read.
        counts: by name, how many rows, texts and so on there were; see `search.training`.
        settings: epochs, batch_size, lr and so on, with the seed.
        primary: the metric that the best checkpoint was chosen by.
        before, after: by metric, on the held-out data, of the base and of the result. Before, a head that the base does
            not have is a new one, whose weights are random.
        difference: after less before, with the interval of the difference, which is paired.
        losses: the mean training loss since the point before.
        scores: the primary metric at step 0 and at every checkpoint, on what the checkpoint was chosen by: the held-out
            data, or a share of the training data if `counts` has "chosen_by".
        steps: that were trained.
        kept: the step whose weights were kept.
        resumed: the step that an earlier, interrupted run had come to; 0 for none.
        seconds: for the steps and their evaluations, of this run; `device` where they were computed.
        classes: of a head that tells classes, how the result does by class.
        notes: sentences about what has to be known to read the figures.
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
    resumed: int
    seconds: float
    device: str
    classes: ClassReport | None = None
    notes: tuple[str, ...] = ()

    @property
    def improved(self) -> bool:
        """The primary metric is better after than before, by however little."""
        return self.after[self.primary].mean > self.before[self.primary].mean
