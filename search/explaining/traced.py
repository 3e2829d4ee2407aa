"""Traced contributions: a text's embedding as a sum of one vector for each token, and an offset.

For one given text, hold the attention weights, the scale 1/sd of each norm and the gate of each activation (GELU(x) is
x times its gate Phi(x)) at their values. What is left of the model is an affine map of the token vectors h_i of any
layer, so the pooled vector v is

    v = sum_i V_i + b        V_i: what token i adds        b, the offset: what the model's biases add

and the cosine with a vector u of unit length is the sum of the contributions V_i . u / |v| and b . u / |v|. This is
exact for every pooling: a maximum belongs to the token that has it, and tanh(x) of the pooler is x times a gate. Of a
product of two functions of the text, such as a gated feed-forward layer, each function gets half.

Traced to layer 0, a contribution belongs to the token as it was typed, before any layer has mixed it with its sentence.
Traced to the last layer, it belongs to the token's last vector, which is a mixture of the whole text.

    `Traces.products`    a pass back from some directions: the contributions at every layer
    `Traces.addends`     a pass forward for each token: the vectors V_i and b of one layer
    `Tracer.group_addends`  a pass forward for each group of tokens: sums of V_i for the tokens as typed, and b

Conservative propagation (Ali et al. 2022, "XAI for Transformers: Better Explanations through Conservative
Propagation"); for products, the uniform rule of AttnLRP (Achtibat et al. 2024). Exact does not mean causal: held
attention is attention as it was; without a word, it would be different.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from search.encoding import Encoder
from search.encoding.tokenizer import Encoded, ModelInput
from search.records.tokens import Token

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.visible_text import Spans


class Traces(ABC):
    """Forward passes of T texts through a model of L layers, with their weights, scales and gates held.

    Text t has n_t tokens.

    Attributes:
        embeddings: (T, d) embeddings of unit length.
    """

    embeddings: NDArray[np.float32]

    @abstractmethod
    def states(self, text: int) -> Sequence[NDArray[np.float32]]:
        """Return the (n_t, h) hidden states of the layers 0 to L of a text."""

    @abstractmethod
    def products(self, directions: NDArray[Any]) -> list[NDArray[np.float64]]:
        """Return the contributions of tokens to inner products with the embeddings.

        Args:
            directions: (T, k, d): k vectors for each text, such as embeddings of passages.

        Returns:
            For each text, (k, L + 1, n_t + 1): entry [i, l, j] is the contribution of token j, traced to layer l, to
            the product of the embedding and direction i. The last column is the offset. A row sums to the product.
        """

    @abstractmethod
    def addends(self, text: int, layer: int) -> NDArray[np.float64]:
        """Return the (n_t + 1, d) addends of a text's embedding, traced to a layer; the last row is the offset."""

    @abstractmethod
    def only(self, text: int) -> Traces:
        """Return the traces of a single text."""

    def attention(self, text: int, layer: int) -> NDArray[np.float32] | None:
        """Return the (heads, n_t, n_t) attention weights of a layer, from 1 to L; None if they are not known."""
        return None


class Tracer(Protocol):
    """Traces the texts of one encoder."""

    def trace(self, texts: Sequence[ModelInput], *, precise: bool = False) -> Traces:
        """Run the model on texts, each of which has at least a token.

        Args:
            precise: compute in float64 if float32 would add up to less than 6 digits of a product.
        """

    def group_addends(self, text: ModelInput, groups: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return what groups of tokens add to the embedding of a text, traced to layer 0.

        Args:
            groups: positions of the tokens of G groups; each token is in one of them.

        Returns:
            (G + 1, d): the addend of each group, then the offset.
        """
        addends = self.trace([text], precise=True).addends(0, 0)
        return np.stack([*(addends[list(group)].sum(axis=0) for group in groups), addends[-1]])


def pairs(query: Traces, passage: Traces, layer: int) -> NDArray[np.float64]:
    """Return the (q + 1, p + 1) contributions of pairs of tokens to the cosine of two texts, traced to a layer.

    The last row and the last column belong to the offsets: the product of a token of one text with the offset of the
    other, and of the two offsets. All entries sum to the cosine.
    """
    if len(query.states(0)[0]) > len(passage.states(0)[0]):
        return pairs(passage, query, layer).T
    return passage.products(query.addends(0, layer)[None])[0][:, layer]


class WholeTextTracer(Tracer):
    """Traces texts whose encoder is a function of a program, which shows no tokens."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def trace(self, texts: Sequence[ModelInput], *, precise: bool = False) -> Traces:
        """Encode texts."""
        vectors = [self._encoder.encode([text.whole], role=text.role)[0] for text in texts]
        return WholeTexts(np.stack(vectors))


class WholeTexts(Traces):
    """Texts without tokens: the embedding is the only addend."""

    def __init__(self, embeddings: NDArray[np.float32]) -> None:
        self.embeddings = embeddings

    def states(self, text: int) -> Sequence[NDArray[np.float32]]:
        return [self.embeddings[text][None]] * 2

    def products(self, directions: NDArray[Any]) -> list[NDArray[np.float64]]:
        products = np.einsum("tkd,td->tk", directions, self.embeddings, dtype=np.float64)
        rows = np.stack([products, np.zeros_like(products)], axis=2)
        return list(rows[:, :, None].repeat(2, axis=2))

    def addends(self, text: int, layer: int) -> NDArray[np.float64]:
        vector = self.embeddings[text].astype(np.float64)
        return np.stack([vector, np.zeros_like(vector)])

    def only(self, text: int) -> Traces:
        return WholeTexts(self.embeddings[text][None])


class RoutedTracer(Tracer):
    """Traces the texts of a model that has other modules for queries than for documents.

    Its token vectors are what the tokens add to an embedding: those of two models have nothing in common before.

    Args:
        documents, queries: tracers of both sequences of modules.
        layers: number of layers that all texts get; a model with fewer repeats its last one.
    """

    def __init__(self, documents: Tracer, queries: Tracer, layers: int) -> None:
        self._documents, self._queries, self._layers = documents, queries, layers

    def trace(self, texts: Sequence[ModelInput], *, precise: bool = False) -> Traces:
        """Run the modules of each text's role."""
        tracers = [self._queries if text.role == "query" else self._documents for text in texts]
        return RoutedTraces(
            [tracer.trace([text], precise=precise) for tracer, text in zip(tracers, texts, strict=True)],
            self._layers,
        )


class RoutedTraces(Traces):
    """Traces of texts, each of its own model.

    Args:
        texts: the traces of each text.
        layers: as for `RoutedTracer`.
    """

    def __init__(self, texts: Sequence[Traces], layers: int) -> None:
        self._texts, self._layers = texts, layers
        self.embeddings = np.concatenate([text.embeddings for text in texts])

    def states(self, text: int) -> Sequence[NDArray[np.float32]]:
        added = self._texts[text].addends(0, 0)[:-1].astype(np.float32)
        return [added] * (self._layers + 1)

    def products(self, directions: NDArray[Any]) -> list[NDArray[np.float64]]:
        return [
            self._as_many(text.products(some[None])[0])
            for text, some in zip(self._texts, directions, strict=True)
        ]

    def _as_many(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a table (k, L + 1, n + 1) with as many layers as the others."""
        numbers = np.minimum(np.arange(self._layers + 1), table.shape[1] - 1)
        return table[:, numbers]

    def addends(self, text: int, layer: int) -> NDArray[np.float64]:
        last = len(self._texts[text].states(0)) - 1
        return self._texts[text].addends(0, min(layer, last))

    def only(self, text: int) -> Traces:
        return RoutedTraces([self._texts[text]], self._layers)


class MixedTraces(RoutedTraces):
    """Traces of texts of one model, among passages whose embeddings a program gave (`WholeTexts`)."""

    def states(self, text: int) -> Sequence[NDArray[np.float32]]:
        return self._texts[text].states(0)

    def attention(self, text: int, layer: int) -> NDArray[np.float32] | None:
        return self._texts[text].attention(0, layer)

    def only(self, text: int) -> Traces:
        return MixedTraces([self._texts[text]], self._layers)


def own_input(text: str, context: str, hidden: Spans) -> ModelInput:
    """Return a passage whose embedding a program gave as a single token, which stands for the whole text."""
    token = Token("own vector", 0, 0, 0, True, None, "special")
    return ModelInput(text, context, hidden, "", "document", (token,), Encoded([0], [0]))
