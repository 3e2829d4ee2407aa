"""Who reads whom inside a model: the attention of all heads, and one head worked through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.inspections import InputToken
    from search.records.tokens import Matrix


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention weights of one input. Layers and heads are counted from 1, as in Clark et al. 2019.

    Attributes:
        texts: one text or two.
        tokens: n tokens, special tokens included.
        weights: (layers, heads, n, n) float32 in [0, 1]; weights[l - 1, h - 1, i, j] is the share with which token i
            reads token j in head h of layer l. Each row [i] sums to 1.
        model: name of the model.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    weights: NDArray[np.float32]
    model: str

    @property
    def layers(self) -> int:
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        return int(self.weights.shape[1])

    @property
    def row_error(self) -> float:
        """The largest distance of a row's sum from 1: rounding, when everything is right."""
        import numpy as np

        return float(abs(self.weights.sum(axis=-1, dtype=np.float64) - 1).max())

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The weights by name, as `numpy.savez` takes them."""
        return {"attentions": self.weights}

    def matrix(self, layer: int, head: int | None = None) -> Matrix:
        """(n, n) of one head, or the mean of all heads of the layer; rows sum to 1.

        Raises:
            IndexError: the model has no such layer or head.
        """
        import numpy as np

        _check("layer", layer, self.layers)
        if head is None:
            return self.weights[layer - 1].mean(axis=0, dtype=np.float64)
        _check("head", head, self.heads)
        return self.weights[layer - 1, head - 1]

    def rollout(self, layer: int | None = None) -> NDArray[np.float64]:
        """(n, n) attention rollout up to a layer, the last one by default; rows sum to 1.

        The mean of the heads of each layer is averaged with the identity, for the residual connection, and the
        layers are multiplied (Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers"): cell (i, j) is
        how much of token j's embedding is in position i after the layer, if attention were all that moves it.

        Raises:
            IndexError: the model has no such layer.
        """
        import numpy as np

        last = self.layers if layer is None else layer
        _check("layer", last, self.layers)
        identity = np.eye(len(self.tokens))
        found = identity
        for number in range(1, last + 1):
            found = (0.5 * self.matrix(number) + 0.5 * identity) @ found
        return found


@dataclass(frozen=True, eq=False)
class HeadAtWork:
    """How one head makes one token's new vector: products, softmax, weighted sum.

    All are computed here, in float64, from what the model's layer reads and its weights; only `own_weights` and
    `own_output` are the model's. h is the width of a head.

    Attributes:
        texts, tokens, model: as of `Attention`; n tokens.
        layer, head: from 1.
        token: the place of the token that reads.
        query: (h,) its query vector.
        keys, values: (n, h) of all tokens.
        products: (n,) query . key.
        bias: (n,) what MPNet adds by the distance of two places; None in all other families.
        scaled: (n,) products / sqrt(h), plus the bias.
        weights: (n,) softmax of `scaled`; they sum to 1.
        output: (h,) sum of the value vectors, each times its weight.
        own_weights: (n,) float32, the row of `Attention.weights`.
        own_output: (h,) float32, what the model hands on.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    model: str
    layer: int
    head: int
    token: int
    query: NDArray[np.float64]
    keys: NDArray[np.float64]
    values: NDArray[np.float64]
    products: NDArray[np.float64]
    bias: NDArray[np.float64] | None
    scaled: NDArray[np.float64]
    weights: NDArray[np.float64]
    output: NDArray[np.float64]
    own_weights: NDArray[np.float32]
    own_output: NDArray[np.float32]

    @property
    def difference(self) -> float:
        """The largest difference from the model's own weights: rounding, when everything is right."""
        return float(abs(self.weights - self.own_weights).max())

    @property
    def output_difference(self) -> float:
        """The largest difference from what the model itself hands on; of values beyond 1 as a share."""
        import numpy as np

        return float((abs(self.output - self.own_output) / np.maximum(abs(self.own_output), 1)).max())

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The vectors by name, as `numpy.savez` takes them."""
        names = ("query", "keys", "values", "products", "bias", "scaled", "weights", "output")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True)
class View:
    """A part of the attention: every head of every layer where nothing is said.

    Attributes:
        layer, head: one head; a layer without a head is the mean of its heads.
        rollout: instead, what rollout makes of the layers up to `layer`, all by default.
    """

    layer: int | None = None
    head: int | None = None
    rollout: bool = False

    def title(self, attention: Attention) -> str:
        """What a picture of it shows."""
        if self.rollout:
            return f"Attention rollout, layers 1 to {self.layer or attention.layers}"
        if self.layer is None:
            return f"Attention of {attention.layers} layers with {attention.heads} heads each"
        if self.head is None:
            return f"Attention in layer {self.layer}, mean of {attention.heads} heads"
        return f"Attention in layer {self.layer}, head {self.head}"

    def matrix(self, attention: Attention) -> Matrix | None:
        """(n, n) weights; None for those of every head."""
        if self.rollout:
            return attention.rollout(self.layer)
        return None if self.layer is None else attention.matrix(self.layer, self.head)


EVERY_HEAD = View()


def _check(name: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise IndexError(f"there is no {name} {number}: give one from 1 to {most}")
