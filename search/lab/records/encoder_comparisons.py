"""Comparison of two encoders by the passages that they find in one index."""

from __future__ import annotations

from dataclasses import dataclass

from search.lab.records.lab_record import LabRecord
from search.records.contents import StoredPassage
from search.records.evaluations import Estimate


@dataclass(frozen=True)
class EncoderSetting:
    """Setting of an encoder.

    Attributes:
        layer: the pooled layer: a number from 0, or "mean:4".
        truncated: number of passages whose end the encoder does not read, because they have too many tokens.
    """

    model: str
    pooling: str
    layer: str
    n_layers: int
    truncated: int = 0


@dataclass(frozen=True)
class NeighbourChange:
    """A passage that one of two encoders ranks among the first k, and the other does not.

    Attributes:
        before, after: its rank with the first and the second encoder, from 1.
    """

    passage: StoredPassage
    before: int
    after: int


@dataclass(frozen=True)
class QueryComparison:
    """The first k passages of two encoders for one query.

    Attributes:
        query: text of the query.
        passage: the passage that is the query; None for a query that was given.
        overlap: share of the first k passages that both encoders have, in [0, 1].
        correlation: Spearman's rank correlation of the cosines of all passages, in [-1, 1]; 0 if it is not defined.
        gained: passages among the first k of the second encoder only, in its order.
        lost: passages among the first k of the first encoder only, in its order.
    """

    query: str
    passage: StoredPassage | None
    overlap: float
    correlation: float
    gained: tuple[NeighbourChange, ...]
    lost: tuple[NeighbourChange, ...]


@dataclass(frozen=True, repr=False)
class EncoderComparison(LabRecord):
    """Two encoders on the passages of one index.

    `.plot()` draws the overlap of each query, the least alike first.

    Attributes:
        first, second: their settings.
        passages: number of passages that were encoded with both.
        total: number of passages of the index; more than `passages` if a sample was drawn.
        k: number of neighbours that are compared.
        overlap: mean over the queries of the share of the first k passages that both encoders have.
        by_chance: the overlap of two random rankings.
        correlation: mean over the queries of the rank correlation of all passages.
        queries: the queries, the least alike first.
    """

    first: EncoderSetting
    second: EncoderSetting
    passages: int
    total: int
    k: int
    overlap: Estimate
    by_chance: float
    correlation: Estimate
    queries: tuple[QueryComparison, ...]
