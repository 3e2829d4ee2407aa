"""Results of evaluations of rankings, readers and taggers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    pass

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
