"""Comparison of two encoders, by the passages that they find in one index, or on a pair of texts."""

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
class EncoderShare:
    """Contributions of one word of a text to its cosine with another text, with two encoders.

    Attributes:
        text, kind: as in `Share`: a word, tokens of another kind that are counted together, or "any text".
        start, end: span of the word in the text; 0, 0 for all other kinds. Words that only one of two tokenizers splits
            are counted together.
        first, second: its addend of the cosine of the first and of the second encoder.
    """

    text: str
    kind: str
    start: int
    end: int
    first: float
    second: float

    @property
    def difference(self) -> float:
        """Addend with the second encoder minus that with the first."""
        return self.second - self.first


@dataclass(frozen=True)
class CosineShares:
    """Cosine of a pair of texts with two encoders, or its distance from a mean, word by word of the first text.

    Attributes:
        totals: sum of the addends with each encoder.
        words: words in the order of the text, then other tokens by kind, then what the models add to any text.
    """

    totals: tuple[float, float]
    words: tuple[EncoderShare, ...]

    @property
    def residuals(self) -> tuple[float, float]:
        """Each total minus the sum of its addends: rounding errors."""
        first, second = self.totals
        sums = sum(word.first for word in self.words), sum(word.second for word in self.words)
        return first - sums[0], second - sums[1]

    @property
    def by_difference(self) -> tuple[EncoderShare, ...]:
        """The words and other addends, the largest differences first."""
        return tuple(sorted(self.words, key=lambda word: -abs(word.difference)))


@dataclass(frozen=True)
class UnrelatedPairs:
    """A cosine among the cosines of unrelated texts with the same encoder.

    Attributes:
        pairs: number of pairs of unrelated texts.
        mean: mean of their cosines.
        below: share of the pairs that have a lower cosine, in [0, 1].
    """

    pairs: int
    mean: float
    below: float


@dataclass(frozen=True, repr=False)
class TextComparison(LabRecord):
    """Two encoders on a pair of texts.

    Attributes:
        texts: the two texts.
        first, second: settings of the encoders.
        shares: both cosines, by the words of the first text.
        unrelated: for each encoder, where its cosine is among those of unrelated pairs.
    """

    texts: tuple[str, str]
    first: EncoderSetting
    second: EncoderSetting
    shares: CosineShares
    unrelated: tuple[UnrelatedPairs, UnrelatedPairs]


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
        most_changed: the passage with the largest difference of ranks among the first k of both encoders; None if all
            have the same ranks, or if the query is not explained.
        shares: cosine of the query and this passage with both encoders, by the words of the query. None without
            `most_changed`, or if a text is too long for an encoder.
        above_mean: the same for the cosine minus the mean cosine of all passages, which ranks depend on.
    """

    query: str
    passage: StoredPassage | None
    overlap: float
    correlation: float
    gained: tuple[NeighbourChange, ...]
    lost: tuple[NeighbourChange, ...]
    most_changed: NeighbourChange | None = None
    shares: CosineShares | None = None
    above_mean: CosineShares | None = None


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
