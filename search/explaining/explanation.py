"""Build an `Explanation` from texts and scores.

The similarity matrix compares tokens. Contributions are addends of the cosine of the two embeddings: of the tokens of
the query, of the tokens of the passage, or of pairs of tokens; see `search.explaining.traced`. A text is traced when
one of its contributions is used first, all passages together. Contributions of the query's tokens need only the stored
embeddings of the passages.

For a query of several parts, the cosine is the sum of the parts' cosines times their factors (see
`search.ranking.question`), so the contributions of their tokens are multiplied by these factors. A part without tokens
is a single addend.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding import Encoder
from search.encoding.pooling import check_layer, combined, layer_number
from search.errors import InputError
from search.explaining.left_out import TracesWithout
from search.explaining.traced import MixedTraces, Traces, WholeTexts, pairs
from search.explaining.tracers import tracer
from search.records.explanations import Explanation
from search.records.tokens import Token

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.tokenizer import ModelInput
    from search.ranking.question import QuestionPart
    from search.records.explanations import Side
    from search.records.tokens import Layer, Matrix, Table


def similarity_matrix(query: NDArray[Any], passage: NDArray[Any]) -> NDArray[np.float32]:
    """Cosine similarity of every query token with every passage token.

    Args:
        query: (q, d) token vectors, q >= 1, any length, any scale.
        passage: (p, d) token vectors from the same model and layer, p >= 1.

    Returns:
        (q, p) float32 in [-1, 1]; row i belongs to query token i. A token whose vector is all zeros gets
        a row or column of zeros, never NaN; the cosine of a vector with itself is exactly 1.

    Example:
        >>> similarity_matrix(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 5.0]]))
        array([[1., 0.]], dtype=float32)
    """
    cosines = _directions(query) @ _directions(passage).T
    return np.clip(cosines, -1, 1).astype(np.float32)


def _directions(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rows as float64, scaled to length 1; a row of zeros stays zero."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)


def middle_layer(n_layers: int) -> int:
    """Return the layer whose cosines align words best: the middle one.

    Later layers mix each word with its sentence. With all-MiniLM-L6-v2 on MTRef, the F1 of `Explanation.alignment` is
    0.847 for layer 3 of 6, and 0.827 for the last layer (benchmarks/alignment.py).
    """
    return n_layers // 2


def similarity_layer(layer: Layer | None, n_layers: int) -> Layer:
    """Return the layer of a similarity matrix: its number (0 is the embedding layer), or "mean:4" and the like.

    Args:
        layer: a number (negative ones count from the last), "middle", "last", or a combination of the last N layers:
            "mean:N", "sum:N" or "concat:N". None is "middle".

    Raises:
        InputError: the model has no such layer.
    """
    middle = middle_layer(n_layers)
    named = {"None": middle, "middle": middle, "last": n_layers}
    number = named.get(str(layer), layer)
    if isinstance(number, str) and ":" in number:
        return check_layer(number, n_layers)
    if not isinstance(number, Integral) or isinstance(number, bool):
        raise InputError(
            f"no layer {layer!r}. Choose from 0 to {n_layers}, 'middle', 'last', or mean:N, sum:N or concat:N for the "
            "last N layers."
        )
    return layer_number(int(number), n_layers)


@dataclass(frozen=True)
class Layers:
    """Layers of an explanation: of its contributions, and of its cosines, as `similarity_layer` returns it."""

    contributions: int
    similarity: Layer

    @classmethod
    def of(cls, layer: Layer | None, n_layers: int) -> Layers:
        """Return the layers for an option: both are the same number, if it names a single layer.

        Raises:
            InputError: the model has no such layer.
        """
        similarity = similarity_layer(layer, n_layers)
        traced = 0 if layer is None or isinstance(similarity, str) else similarity
        return cls(traced, similarity)


@dataclass(frozen=True, eq=False)
class TextPart:
    """A part of a query that has a text.

    Attributes:
        factor: the query's cosine is the sum of the parts' cosines times these factors.
        embedding: (d,) unit length, or shorter without the addends of some tokens.
        left_out: positions of these tokens.
    """

    input: ModelInput
    factor: float
    embedding: Matrix
    left_out: tuple[int, ...] = ()

    @classmethod
    def of(cls, encoder: Encoder, part: QuestionPart) -> TextPart:
        """Return a part that has a text."""
        contexts = [part.context] if part.context else None
        (read,) = encoder.inputs([part.text], contexts=contexts, role=part.role)
        return cls(read, part.factor, part.embedding, part.left_out)


class TracedHits:
    """Contributions and cosines of a query and its hits, computed when they are used first.

    Args:
        encoder: encoder of both.
        parts: parts of the query that have a text.
        passages: K passages.
        embeddings: (K, d) their embeddings.
        layers: layers of an explanation.
        own: numbers of the passages whose embeddings a program gave; from `own_input`.
    """

    def __init__(
        self,
        encoder: Encoder,
        parts: Sequence[TextPart],
        passages: Sequence[ModelInput],
        embeddings: Matrix,
        layers: Layers,
        own: Collection[int] = (),
    ) -> None:
        self.encoder, self._layers, self._own = encoder, layers, own
        self._parts, self._passages, self._embeddings = parts, passages, embeddings

    @classmethod
    def of_pair(
        cls, encoder: Encoder, query: ModelInput, passage: ModelInput, layers: Layers
    ) -> TracedHits:
        """Trace two texts that are not stored, at once; their embeddings are those of the traces.

        So the model reads each text once. The embeddings differ from the encoder's by rounding: by up to 3e-7, and for
        poolings that take the vector of a single token by up to 3e-6.
        """
        trace = tracer(encoder).trace
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(trace, [query], precise=True)
            of_passage, of_query = trace([passage]), first.result()
        part = TextPart(query, 1.0, of_query.embeddings[0])
        hits = cls(encoder, [part], [passage], of_passage.embeddings, layers)
        hits._query, hits._traced_passages = of_query, of_passage
        with ThreadPoolExecutor(1) as pool:  # both are needed, and take as long as tracing
            pool.submit(lambda: hits.query_tables)
            _ = hits.passage_tables
        return hits

    @cached_property
    def _query(self) -> Traces:
        # Its contributions are the addends of the score, and it is short.
        traces = tracer(self.encoder).trace([part.input for part in self._parts], precise=True)
        left_out = [part.left_out for part in self._parts]
        return TracesWithout(traces, left_out) if any(left_out) else traces

    @cached_property
    def _traced_passages(self) -> Traces:
        if not self._own:
            return tracer(self.encoder).trace(self._passages)
        read = [number for number in range(len(self._passages)) if number not in self._own]
        texts: dict[int, Traces] = {
            number: WholeTexts(self._embeddings[number][None]) for number in self._own
        }
        if read:
            traced = tracer(self.encoder).trace([self._passages[number] for number in read])
            texts |= {number: traced.only(position) for position, number in enumerate(read)}
        return MixedTraces([texts[number] for number in sorted(texts)], self.encoder.n_layers)

    @cached_property
    def _direction(self) -> Matrix:
        """(d,) vector whose product with an embedding is the cosine of the parts that have a text."""
        return np.sum([part.factor * part.embedding for part in self._parts], axis=0)

    @cached_property
    def query_tables(self) -> Table:
        """(K, L + 1, q + 1) contributions of the query's tokens to the cosine with each passage."""
        directions = np.broadcast_to(self._embeddings, (len(self._parts), *self._embeddings.shape))
        tables = [
            part.factor * table
            for part, table in zip(self._parts, self._query.products(directions), strict=True)
        ]
        offset = np.sum([table[:, :, -1:] for table in tables], axis=0)
        return np.concatenate([*(table[:, :, :-1] for table in tables), offset], axis=2)

    @cached_property
    def passage_tables(self) -> list[Table]:
        """For each passage, (L + 1, p + 1) contributions of its tokens to the cosine with the query."""
        directions = np.broadcast_to(self._direction, (len(self._passages), 1, len(self._direction)))
        return [table[0] for table in self._traced_passages.products(directions)]

    def pairs(self, hit: int, layer: int) -> Table:
        """Return the (q + 1, p + 1) contributions of pairs of tokens, the offsets last."""
        passage = self._traced_passages.only(hit)
        cells = [
            part.factor * pairs(self._query.only(i), passage, layer) for i, part in enumerate(self._parts)
        ]
        offset = np.sum([of_part[-1:] for of_part in cells], axis=0)
        return np.concatenate([*(of_part[:-1] for of_part in cells), offset])

    def similarity(self, hit: int, layer: Layer | None = None) -> Matrix:
        """Return the (q, p) cosines of token vectors at a layer; None is that of the explanation.

        An own embedding has no token vectors; its cosines are 0.
        """
        if hit in self._own:
            return np.zeros((sum(len(part.input.tokens) for part in self._parts), 1), dtype=np.float32)
        layer = self._layers.similarity if layer is None else layer
        vectors = self._vectors(self._traced_passages, hit, layer)
        rows = [
            similarity_matrix(self._vectors(self._query, i, layer), vectors)
            for i in range(len(self._parts))
        ]
        return np.concatenate(rows)

    def _vectors(self, traces: Traces, text: int, layer: Layer) -> NDArray[np.float32]:
        states, n_layers = dict(enumerate(traces.states(text))), self.encoder.n_layers
        return combined(states, check_layer(layer, n_layers), n_layers)

    @property
    def query_embedding(self) -> Matrix:
        """(d,) embedding of the query's first part."""
        return self._parts[0].embedding

    def has_two_texts(self, hit: int) -> bool:
        """Return True if the query has a single part, and the model read the passage of a hit."""
        return len(self._parts) == 1 and hit not in self._own

    def input(self, side: Side, hit: int) -> ModelInput:
        """Return the query's first part, or the passage of a hit, as the model reads it."""
        return self._parts[0].input if side == "query" else self._passages[hit]

    def traces(self, side: Side, hit: int) -> tuple[Traces, int]:
        """Return the traces of the query's first part, or of the passages, with the number of the text in them."""
        return (self._query, 0) if side == "query" else (self._traced_passages, hit)

    @property
    def layers(self) -> range:
        """Numbers of all layers."""
        return range(self.encoder.n_layers + 1)

    def explanation(self, hit: int, **fields: Any) -> Explanation:
        """Return the explanation of a hit's cosine, or with other `fields` of its score."""
        query = [part.input for part in self._parts]
        texts = [text.text for text in query]
        passage = self._passages[hit]
        cosine = float(self._direction @ self._embeddings[hit])
        values: dict[str, Any] = {
            "query": "\n".join(texts),
            "passage": passage.text,
            "context": passage.context,
            "hidden": passage.hidden,
            "query_tokens": concatenated([text.tokens for text in query], texts),
            "passage_tokens": passage.tokens,
            "layer": self._layers.contributions,
            "similarity_layer": self._layers.similarity,
            "n_layers": self.encoder.n_layers,
            "terms": (),
            "cosine": cosine,
            "score": cosine,
            "mode": "dense",
            "pooling": self.encoder.pooling,
            "numbers": HitNumbers(self, hit),
        }
        return Explanation(**values | fields)


@dataclass(frozen=True)
class HitNumbers:
    """Numbers of a single hit."""

    hits: TracedHits
    number: int

    def table(self, side: Side) -> Table:
        hits = self.hits
        return (hits.query_tables if side == "query" else hits.passage_tables)[self.number]

    def pairs(self, layer: int) -> Table:
        return self.hits.pairs(self.number, layer)

    def similarity(self, layer: Layer | None = None) -> Matrix:
        return self.hits.similarity(self.number, layer)

    @property
    def layers(self) -> range:
        return self.hits.layers

    @property
    def has_two_texts(self) -> bool:
        """True if the query has a single part, and the model read the passage."""
        return self.hits.has_two_texts(self.number)

    def input(self, side: Side) -> ModelInput:
        """Return one of the two texts as the model reads it."""
        return self.hits.input(side, self.number)

    def states(self, side: Side) -> Sequence[NDArray[np.float32]]:
        """Return the (n, h) hidden states of one of the two texts at the layers 0 to L."""
        traces, text = self.hits.traces(side, self.number)
        return traces.states(text)

    @property
    def embedding(self) -> Matrix:
        """(d,) embedding of the query, of unit length."""
        return self.hits.query_embedding

    def attention(self, side: Side, layer: int) -> NDArray[np.float32] | None:
        """Return the (heads, n, n) attention weights of one of the two texts; see `Traces.attention`."""
        traces, text = self.hits.traces(side, self.number)
        return traces.attention(text, layer)


def explain_pair(query: ModelInput, passage: ModelInput, encoder: Encoder, layers: Layers) -> Explanation:
    """Explain the cosine of two texts; the cosine is the score."""
    first, second = (encoder.encode([text.whole]) for text in (query, passage))
    part = TextPart(query, 1.0, first[0])
    return TracedHits(encoder, [part], [passage], second, layers).explanation(0)


def concatenated(tokens: Sequence[tuple[Token, ...]], texts: Sequence[str]) -> tuple[Token, ...]:
    """Concatenate the tokens of several texts; offsets and word numbers refer to the texts joined by line breaks."""
    concatenated: list[Token] = []
    offset = words = 0
    for tokens_of_text, text in zip(tokens, texts, strict=True):
        for token in tokens_of_text:
            shift = offset if token.part == "text" else 0
            word = None if token.word is None else token.word + words
            moved = replace(token, start=token.start + shift, end=token.end + shift, word=word)
            concatenated.append(moved)
        words += 1 + max((token.word for token in tokens_of_text if token.word is not None), default=0)
        offset += len(text) + 1
    return tuple(concatenated)
