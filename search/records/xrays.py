"""X-ray of a score: what lies between two texts and their cosine, from the pieces that a model reads to one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.errors import InputError
from search.records.explanations import Explanation, Side

if TYPE_CHECKING:
    from search.records.tokens import Matrix

ADDED_EMBEDDINGS = ("word", "position", "segment")
"""Embeddings whose sum is the vector of a token at layer 0, before it is normalised."""


@dataclass(frozen=True)
class RankByMeaning:
    """Rank of a text among the passages of an index, by the cosine with a query.

    Attributes:
        rank: number of passages with a higher cosine, plus 1; None if there are more than `looked`.
        passages: number of passages that it is compared with.
        looked: number of passages with the highest cosines that were looked at.
    """

    rank: int | None
    passages: int
    looked: int

    @property
    def sentence(self) -> str:
        """The rank as a sentence, without a full stop."""
        if self.rank is None:
            return (
                f"by meaning, more than {self.looked:,} of the {self.passages:,} passages rank above it"
            )
        return f"rank {self.rank:,} by meaning, among the {self.passages:,} passages of the index"


@dataclass(frozen=True, eq=False)
class XRay:
    """Everything between two texts and their cosine.

    Attributes:
        explanation: tokens, contributions at every layer, cosines of tokens, and the score.
        lengths: for each text, the (n, 3) Euclidean lengths of the ADDED_EMBEDDINGS of its n tokens. Empty for a model
            whose parameters cannot be read, or that adds no such embeddings.
        poolings: name of a pooling -> cosine of the two texts with it; the model's own pooling comes first.
        heads: number of attention heads of a layer; 0 if the weights of the attention are unknown.
        rank: rank of the passage in an index; None for two texts without one.
    """

    explanation: Explanation
    lengths: Mapping[Side, Matrix]
    poolings: Mapping[str, float]
    heads: int = 0
    rank: RankByMeaning | None = None
    weights: Callable[[Side, int], Matrix | None] = field(repr=False, default=lambda side, layer: None)

    def attention(self, text: Side, layer: int, head: int | None = None) -> Matrix:
        """Return the attention weights of one head: how much each token takes from each.

        Args:
            text: "query" or "passage", with n tokens.
            layer: 1 to `explanation.n_layers`.
            head: 1 to `heads`; None for the mean over the heads.

        Returns:
            (n, n) float32 in [0, 1]; row i belongs to the token that attends. Each row sums to 1.

        Raises:
            InputError: there is no such layer or head, or the weights are unknown.
        """
        layers = self.explanation.n_layers
        if not self.heads:
            raise InputError(
                "the attention of this model is not known: NumPy cannot read its parameters."
            )
        if not 1 <= layer <= layers:
            raise InputError(f"no attention at layer {layer}. Choose from 1 to {layers}.")
        if head is not None and not 1 <= head <= self.heads:
            raise InputError(f"no head {head}. Choose from 1 to {self.heads}.")
        weights = self.weights(text, layer)
        assert weights is not None
        of_head: Matrix = weights.mean(axis=0) if head is None else weights[head - 1]
        return of_head
