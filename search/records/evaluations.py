"""What an evaluation found: figures with their intervals, query by query, and settings compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Task = Literal["retrieval", "spans", "sts", "qa", "ner"]


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
class Latency:
    """Milliseconds that a warm query takes: the median and the 95th percentile of `queries` of them.

    Attributes:
        k: how many hits were asked for.
    """

    p50: float
    p95: float
    queries: int
    k: int


@dataclass(frozen=True)
class JudgedQuery:
    """One query, or pair of sentences, and its own figures.

    Attributes:
        values: by the name of the metric; for pairs of sentences "cosine" and "score", the judgement.
        found: what was ranked first, best first: documents, or passages as "document:start-end"; for questions the
            answer, () for none.
    """

    id: str
    text: str
    values: Mapping[str, float]
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """What one setting reached.

    Attributes:
        metrics: by name ("ndcg@10").
        queries: in the order of the data.
        latency: None where no single queries are asked.
    """

    setting: Setting
    metrics: Mapping[str, Estimate]
    queries: tuple[JudgedQuery, ...]
    latency: Latency | None = None


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


@dataclass(frozen=True)
class Evaluation:
    """Judged queries, and how well they were answered.

    Attributes:
        dataset: its name; `source` where it was read from; `split` which judgements, "" where there is one set.
        index: the folder of the index that was asked, "" where none was.
        model, pooling: of its embeddings; for questions the model is the reader.
        documents, passages: that were ranked; for pairs of sentences both are 0; for questions the paragraphs, and the
            passages of their index.
        judgements: how many there are, of all queries.
        primary: the metric that settings are compared by first.
        settings: at least one; the first is the baseline.
        comparisons: every later setting with the first, for each metric.
        notes: sentences about what has to be known to read the figures.
    """

    dataset: str
    source: str
    task: Task
    split: str
    index: str
    model: str
    pooling: str
    documents: int
    passages: int
    judgements: int
    primary: str
    settings: tuple[Measured, ...]
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

    @property
    def latency(self) -> Latency | None:
        """Of the first setting."""
        return self.settings[0].latency
