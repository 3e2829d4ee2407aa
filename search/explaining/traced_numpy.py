"""Traced contributions in NumPy, for static models and those of the BERT family that OpenVINO runs.

Needs no PyTorch.

The tokens of all texts are rows of a single matrix, without padding: N = n_1 + ... + n_T. Only attention
keeps texts apart.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding import Encoder
from search.encoding.openvino_engine import OpenVINOEngine
from search.encoding.parameters import Parameters
from search.encoding.pooling import Dense, combined, pooled_layers
from search.encoding.static import StaticEngine
from search.encoding.tokenizer import ModelInput
from search.explaining.traced import Tracer, Traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float32]  # or float64, where texts are traced precisely

_ROWS = 4096  # vectors in a pass, which limits the memory it needs
_SMALL = 100**3  # multiplications up to which OpenBLAS does not copy the matrices of a product first


class NumpyTracer(Tracer):
    """Traces texts with the parameters of a converted model.

    Args:
        engine: the engine of `encoder`.

    Raises:
        OSError, ValueError, KeyError: the model has no parameters, or they are damaged.
    """

    def __init__(self, encoder: Encoder, engine: OpenVINOEngine) -> None:
        self._encoder = encoder
        self._parameters = Parameters(engine.folder)
        self._inputs = _Inputs(self._parameters)
        self._head = _Head(encoder, self._parameters)
        self._layers = self._layers_in(np.float32)
        self._lock = threading.Lock()
        self._precise_layers: list[_Layer] | None = None

    def _layers_in(self, dtype: Any) -> list[_Layer]:
        numbers = range(self._parameters.layers)
        return [_Layer(self._parameters, number, dtype) for number in numbers]

    def trace(self, texts: Sequence[ModelInput], *, precise: bool = False) -> Traces:
        """Run the model on texts; `precise` computes in float64 for poolings that take the vector of a single token.

        Rounding in float32 adds up to 3e-6 of such a vector, while a mean over tokens evens it out to 3e-7.
        """
        texts_at = _slices([len(text.tokens) for text in texts])
        layers, dtype = self._layers_for(precise)
        states, maps = (
            [np.concatenate([self._inputs(text) for text in texts]).astype(dtype, copy=False)],
            [],
        )
        for layer in layers:
            state, of_layer = layer.hold(states[-1], texts_at)
            states.append(state)
            maps.append(of_layer)
        heads = [
            self._head.hold([state[at] for state in states], self._encoder.skipped(text.role))
            for text, at in zip(texts, texts_at, strict=True)
        ]
        return NumpyTraces(states, maps, heads, texts_at)

    def input_lengths(self, text: ModelInput) -> Array:
        """Return the (n, 3) lengths of each token's word, position and segment embedding; see `xray`."""
        return self._inputs.lengths(text)

    @cached_property
    def pooler(self) -> Dense | None:
        """The model's pooler, from the last vector of [CLS]; None if it has none."""
        if "pooler.weight" not in self._parameters:
            return None
        linear = _Linear(self._parameters, "pooler")
        return Dense(linear.weight, linear.bias, "Tanh")

    def group_addends(self, text: ModelInput, groups: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Pass the groups forward side by side: the hidden states, which decide the weights, are their sum."""
        layers, dtype = self._layers_for(precise=True)
        state = self._inputs(text).T
        parts = [np.zeros((len(state), len(groups) + 1, state.shape[1]), dtype=dtype)]
        for number, group in enumerate(groups):
            parts[0][:, number, group] = state[:, group]
        for layer in layers:
            parts.append(layer.split(parts[-1]))
        states = [_sum_of_parts(of_layer).T for of_layer in parts]
        head = self._head.hold(states, self._encoder.skipped(text.role))
        rows = {number: of_layer.transpose(1, 2, 0) for number, of_layer in enumerate(parts)}
        constant = np.array([[0.0]] * len(groups) + [[1.0]], dtype=np.float32)
        return head.forward(rows, constant)

    def _layers_for(self, precise: bool) -> tuple[list[_Layer], Any]:
        """Return the layers, and the type to compute in."""
        if not (precise and self._head.pooling in ("cls", "pooler", "lasttoken")):
            return self._layers, np.float32
        with self._lock:
            self._precise_layers = self._precise_layers or self._layers_in(np.float64)
            return self._precise_layers, np.float64


class StaticTracer(Tracer):
    """Traces texts with a table of token vectors, which are what the tokens add.

    Args:
        engine: the engine of `encoder`.
    """

    def __init__(self, encoder: Encoder, engine: StaticEngine) -> None:
        self._encoder, self._table = encoder, engine.table
        self._head = _Head(encoder)

    def trace(self, texts: Sequence[ModelInput], *, precise: bool = False) -> Traces:
        """Look up the tokens of texts."""
        states = [self._table[text.encoded.ids] for text in texts]
        heads = [
            self._head.hold([state], self._encoder.skipped(text.role))
            for text, state in zip(texts, states, strict=True)
        ]
        texts_at = _slices([len(state) for state in states])
        return NumpyTraces([np.concatenate(states)], [], heads, texts_at)


def _slices(lengths: Sequence[int]) -> list[slice]:
    ends = np.cumsum(lengths).tolist()
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


class NumpyTraces(Traces):
    """Traces of texts.

    Args:
        states: (N, h) hidden states of each layer.
        maps: each layer as an affine map.
        heads: for each text, the map from its hidden states to its embedding.
        texts_at: rows of each text.
    """

    def __init__(
        self,
        states: Sequence[Array],
        maps: Sequence[_FrozenLayer],
        heads: Sequence[_FrozenHead],
        texts_at: Sequence[slice],
    ) -> None:
        self._states, self._maps, self._heads, self._texts_at = states, maps, heads, texts_at
        self.embeddings = np.stack([head.embedding for head in heads]).astype(np.float32, copy=False)

    def states(self, text: int) -> Sequence[Array]:
        return [state[self._texts_at[text]] for state in self._states]

    def attention(self, text: int, layer: int) -> Array | None:
        return self._maps[layer - 1].weights[text] if self._maps else None

    def only(self, text: int) -> NumpyTraces:
        at = self._texts_at[text]
        maps = [layer.only(text, at) for layer in self._maps]
        whole = [slice(0, at.stop - at.start)]
        return NumpyTraces(self.states(text), maps, [self._heads[text]], whole)

    def products(self, directions: NDArray[Any]) -> list[NDArray[np.float64]]:
        size = max(1, _ROWS // len(self._states[0]))
        count = directions.shape[1]
        pieces = [
            self._products(directions[:, first : first + size].astype(self._states[0].dtype))
            for first in range(0, count, size)
        ]
        return [np.concatenate(of_text) for of_text in zip(*pieces, strict=True)]

    def _products(self, directions: Array) -> list[NDArray[np.float64]]:
        last, k = len(self._maps), directions.shape[1]
        backs = [head.back(some) for head, some in zip(self._heads, directions, strict=True)]
        offset = np.stack([added for _, added in backs], axis=1)  # (k, T)
        pooled = {
            layer: np.concatenate([gradients[layer] for gradients, _ in backs], axis=1)
            for layer in backs[0][0]
        }
        # The tokens of a pooled layer below the traced layer keep their own vectors.
        below = {layer: _by_row(gradient, self._states[layer]) for layer, gradient in pooled.items()}
        gradient = np.zeros((k, *self._states[0].shape), dtype=self._states[0].dtype)
        rows, offsets = [], []
        for layer in range(last, -1, -1):
            if layer in pooled:
                gradient = gradient + pooled[layer]
                del below[layer]
            rows.append(sum(below.values(), _by_row(gradient, self._states[layer])))
            offsets.append(offset)
            if layer:
                gradient, added = self._maps[layer - 1].back(gradient)
                offset = offset + added
        tables = np.stack(rows[::-1], axis=1)  # (k, L + 1, N)
        columns = np.stack(offsets[::-1], axis=1)  # (k, L + 1, T)
        return [
            np.concatenate([tables[:, :, at], columns[:, :, [text]]], axis=2)
            for text, at in enumerate(self._texts_at)
        ]

    def addends(self, text: int, layer: int) -> NDArray[np.float64]:
        if len(self._heads) > 1:
            return self.only(text).addends(0, layer)
        n = len(self._states[0])
        size = max(1, _ROWS // n)
        return np.concatenate(
            [
                self._addends(layer, range(first, min(first + size, n + 1)))
                for first in range(0, n + 1, size)
            ]
        )

    def _addends(self, layer: int, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the addends of some tokens of the only text; number n is the offset."""
        n = len(self._states[0])

        def alone(state: Array) -> Array:
            """Return (rows, n, h): in each row the vector of a single token, and zeros for all others."""
            parts = np.zeros((len(rows), *state.shape), dtype=state.dtype)
            for position, row in enumerate(rows):
                if row < n:
                    parts[position, row] = state[row]
            return parts

        constant = np.array([[[row == n]] for row in rows], dtype=np.float32)
        parts = {number: alone(self._states[number]) for number in range(layer + 1)}
        for number in range(layer, len(self._maps)):
            parts[number + 1] = self._maps[number].forward(parts[number], constant)
        return self._heads[0].forward(parts, constant[:, 0])


def _by_row(gradient: Array, state: Array) -> NDArray[np.float64]:
    """Return the (k, N) inner products of k gradients with the vectors of a layer."""
    return np.einsum("knh,nh->kn", gradient, state).astype(np.float64)


def _sum_of_parts(parts: Array) -> Array:
    """Return the (h, n) sum of (h, m, n) parts, faster than NumPy along an axis in the middle."""
    whole: Array = parts[:, 0].copy()
    for part in range(1, parts.shape[1]):
        whole += parts[:, part]
    return whole


def _rows_at_once(height: int, width: int, columns: int) -> int:
    """Return how many rows of a matrix to multiply with some columns at once, so that the product is a small one.

    A copy of the weights takes as long as their product with the few tokens of a query.
    """
    most = _SMALL // (width * columns)
    return next((rows for rows in (64, 48, 32, 24, 16, 8) if rows <= most and height % rows == 0), height)


def _product(x: Array, matrix: Array) -> Array:
    """Return x @ matrix for (..., h) vectors, as a single product.

    NumPy multiplies a stack of matrices one by one, which takes three times as long for the few tokens of a query.
    """
    product: Array = x.reshape(-1, x.shape[-1]) @ matrix
    return product.reshape(*x.shape[:-1], matrix.shape[1])


class _Linear:
    """y = x W^T + b."""

    def __init__(self, parameters: Parameters, name: str, dtype: Any = np.float32) -> None:
        self.weight, self.bias = (
            parameters[f"{name}.{kind}"].astype(dtype, copy=False) for kind in ("weight", "bias")
        )

    def __call__(self, x: Array, constant: Array | float = 1.0) -> Array:
        y = _product(x, self.weight.T)
        y += constant * self.bias
        return y

    def of_columns(self, parts: Array) -> Array:
        """Apply the map to the (h, m, n) parts of a sum, which are columns; the last part takes the bias."""
        columns = parts.reshape(len(parts), -1)
        rows = _rows_at_once(len(self.weight), *columns.shape)
        product: Array = self.weight.reshape(-1, rows, len(columns)) @ columns
        y = product.reshape(-1, *parts.shape[1:])
        y[:, -1] += self.bias[:, None]
        return y


class _Norm:
    """y = (x - mean(x)) * scale * weight + bias, with scale = 1 / sd(x)."""

    def __init__(self, parameters: Parameters, name: str) -> None:
        self.weight, self.bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
        self._eps = np.float32(parameters.eps)

    def hold(self, x: Array) -> tuple[Array, Array]:
        """Return y and the (N, 1) scales."""
        y = x - x.mean(axis=-1, keepdims=True)
        variance = np.einsum("nh,nh->n", y, y)[:, None] / np.float32(x.shape[-1])
        scale = 1 / np.sqrt(variance + self._eps)
        y *= scale
        y *= self.weight
        y += self.bias
        return y, scale

    def forward(self, x: Array, scale: Array, constant: Array) -> Array:
        y = x - x.mean(axis=-1, keepdims=True)
        y *= scale * self.weight
        y += constant * self.bias
        return y

    def split(self, parts: Array) -> Array:
        """Return the (h, m, n) parts of the norm of a sum from its parts, which are columns."""
        y = parts - parts.mean(axis=0)
        whole = _sum_of_parts(y)
        variance = np.einsum("hn,hn->n", whole, whole) / np.float32(len(whole))
        y *= (self.weight[:, None] / np.sqrt(variance + self._eps))[:, None]
        y[:, -1] += self.bias[:, None]
        return y

    def back(self, gradient: Array, scale: Array) -> Array:
        gradient = gradient * (scale * self.weight)
        gradient -= gradient.mean(axis=-1, keepdims=True)
        return gradient


class _Inputs:
    """The embedding layer: from token IDs to the hidden states of layer 0."""

    def __init__(self, parameters: Parameters) -> None:
        self._words, self._positions = parameters["words.weight"], parameters["positions.weight"]
        self._first = parameters.first_position
        self._types = parameters.get("types.weight")
        self._norm = _Norm(parameters, "norm")
        projected = "projection.weight" in parameters
        self._projection = _Linear(parameters, "projection") if projected else None

    def __call__(self, text: ModelInput) -> Array:
        first, *others = self._added(text)
        vectors, _ = self._norm.hold(sum(others, first))
        return vectors if self._projection is None else self._projection(vectors)

    def _added(self, text: ModelInput) -> list[Array]:
        """Return the (n, h) embeddings that are added up: of words, of positions and, if there are any, of segments."""
        ids, types = text.encoded.ids, text.encoded.types
        added = [self._words[ids], self._positions[self._first : self._first + len(ids)]]
        return added if self._types is None else [*added, self._types[types]]

    def lengths(self, text: ModelInput) -> Array:
        """Return the (n, 3) lengths of what is added; segments have length 0 in a model without them."""
        of_kinds = [np.linalg.norm(vectors, axis=1) for vectors in self._added(text)]
        missing = [np.zeros(len(of_kinds[0]), dtype=np.float32)] * (3 - len(of_kinds))
        lengths: Array = np.stack([*of_kinds, *missing], axis=1)
        return lengths


class _Layer:
    """A post-norm encoder layer: attention and feed-forward, each followed by a sum and a norm."""

    def __init__(self, parameters: Parameters, number: int, dtype: Any) -> None:
        names = ("query", "key", "value", "output", "up", "down")
        linear = [_Linear(parameters, f"{number}.{name}", dtype) for name in names]
        self.query, self.key, self.value, self.output, self.up, self.down = linear
        self.attention_norm = _Norm(parameters, f"{number}.attention_norm")
        self.norm = _Norm(parameters, f"{number}.norm")
        self._heads, self._gate = parameters.heads, _GATES[parameters.activation]
        self._distances = parameters.get("distances.weight")

    def hold(self, x: Array, texts_at: Sequence[slice]) -> tuple[Array, _FrozenLayer]:
        """Return the hidden states after this layer, and the layer as an affine map."""
        query, key = self.query(x), self.key(x)
        weights = [self._weights(query[at], key[at]) for at in texts_at]
        attended = _attend(self.value(x)[None], weights, texts_at)[0]
        middle, attention_scale = self.attention_norm.hold(x + self.output(attended))
        up = self.up(middle)
        gate = self._gate(up)
        up *= gate
        states, scale = self.norm.hold(middle + self.down(up))
        return states, _FrozenLayer(self, weights, attention_scale, gate, scale, texts_at)

    def split(self, parts: Array) -> Array:
        """Return the parts of the hidden states after this layer, from those before it, of a single text.

        Args:
            parts: (h, m, n) addends of the hidden states, which are their sum over m; the last part takes the biases.
                Vectors are columns: BLAS multiplies a few of them faster so, because it reads the weights in the order
                in which they are stored.
        """
        state = _sum_of_parts(parts)[:, None]
        query, key = (linear.of_columns(state)[:, 0].T for linear in (self.query, self.key))
        weights = self._weights(query, key)
        value = self.value.of_columns(parts).reshape(len(weights), -1, parts.shape[2])
        attended = (value @ weights.transpose(0, 2, 1)).reshape(parts.shape)
        middle = self.attention_norm.split(parts + self.output.of_columns(attended))
        up = self.up.of_columns(middle)
        up *= self._gate(_sum_of_parts(up))[:, None]
        return self.norm.split(middle + self.down.of_columns(up))

    def _weights(self, query: Array, key: Array) -> Array:
        """Return the (heads, n, n) attention weights of a text."""
        queries, keys = (x.reshape(len(x), self._heads, -1).transpose(1, 0, 2) for x in (query, key))
        scores = queries @ keys.transpose(0, 2, 1)
        scores *= np.float32(queries.shape[-1] ** -0.5)
        if self._distances is not None:
            scores += _bias_of_distances(self._distances, len(query))
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores


@dataclass(frozen=True, eq=False)
class _FrozenLayer:
    """A layer as an affine map, for given texts.

    Attributes:
        weights: for each text, (heads, n, n) attention weights.
        attention_scale, scale: (N, 1) scales of the two norms.
        gate: (N, width) gates of the activation.
    """

    layer: _Layer
    weights: Sequence[Array]
    attention_scale: Array
    gate: Array
    scale: Array
    texts_at: Sequence[slice]

    def only(self, text: int, at: slice) -> _FrozenLayer:
        """Return the map of a single text."""
        of_rows = self.attention_scale[at], self.gate[at], self.scale[at]
        return _FrozenLayer(self.layer, [self.weights[text]], *of_rows, [slice(0, at.stop - at.start)])

    def forward(self, parts: Array, constant: Array) -> Array:
        """Apply the map to (m, N, h) parts of the hidden states; biases are added where `constant` is 1, not 0."""
        layer = self.layer
        attended = _attend(layer.value(parts, constant), self.weights, self.texts_at)
        middle = parts + layer.output(attended, constant)
        middle = layer.attention_norm.forward(middle, self.attention_scale, constant)
        up = layer.up(middle, constant)
        up *= self.gate
        return layer.norm.forward(middle + layer.down(up, constant), self.scale, constant)

    def back(self, gradient: Array) -> tuple[Array, NDArray[np.float64]]:
        """Return the gradients with respect to the layer's input, and what its biases add.

        Args:
            gradient: (k, N, h) gradients with respect to the layer's output.

        Returns:
            (k, N, h) gradients, and the (k, T) sums of biases times gradients.
        """
        layer = self.layer
        added = self._added(gradient, layer.norm.bias)
        gradient = layer.norm.back(gradient, self.scale)
        added += self._added(gradient, layer.down.bias)
        up = _product(gradient, layer.down.weight)
        up *= self.gate
        added += self._added(up, layer.up.bias)
        gradient += _product(up, layer.up.weight)
        added += self._added(gradient, layer.attention_norm.bias)
        gradient = layer.attention_norm.back(gradient, self.attention_scale)
        added += self._added(gradient, layer.output.bias)
        turned = [weights.transpose(0, 2, 1) for weights in self.weights]
        values = _attend(_product(gradient, layer.output.weight), turned, self.texts_at)
        added += self._added(values, layer.value.bias)
        gradient += _product(values, layer.value.weight)
        return gradient, added

    def _added(self, gradient: Array, bias: Array) -> NDArray[np.float64]:
        of_rows = _product(gradient, bias[:, None])[..., 0].astype(np.float64)
        return np.add.reduceat(of_rows, [at.start for at in self.texts_at], axis=1)


def _attend(x: Array, weights: Sequence[Array], texts_at: Sequence[slice]) -> Array:
    """Mix the (m, N, h) vectors of each text by its attention weights; each head mixes its own part of a vector."""
    mixed = np.empty_like(x)
    for of_text, at in zip(weights, texts_at, strict=True):
        m, n, width = x[:, at].shape
        heads = x[:, at].reshape(m, n, len(of_text), -1).transpose(2, 1, 0, 3)  # (heads, n, m, h / heads)
        product = (of_text @ heads.reshape(len(of_text), n, -1)).reshape(heads.shape)
        mixed[:, at] = product.transpose(2, 1, 0, 3).reshape(m, n, width)
    return mixed


def _bias_of_distances(table: Array, n: int) -> Array:
    """Return MPNet's addends to attention scores, (heads, n, n), which depend on the distance of two tokens.

    Distances are divided into buckets: half of the buckets for each direction; of these, half for a single distance
    each, the others logarithmically up to a distance of 128.
    """
    half = len(table) // 2
    exact = half // 2
    distance = np.arange(n)[None, :] - np.arange(n)[:, None]
    far = np.abs(distance)
    steps = np.log(np.maximum(far, 1).astype(np.float32) / exact) / np.float32(np.log(128 / exact))
    logarithmic = np.minimum(exact + (steps * (half - exact)).astype(np.int64), half - 1)
    buckets = np.where(distance > 0, half, 0) + np.where(far < exact, far, logarithmic)
    return np.ascontiguousarray(table[buckets].transpose(2, 0, 1))


_CACHED = 1 << 14  # numbers that stay in a processor's cache
_ERF = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], np.float32)


def _gelu_gate(x: Array) -> Array:
    """Return Phi(x), the distribution function of the normal distribution, to 3e-7.

    Abramowitz & Stegun 1964, "Handbook of Mathematical Functions", 7.1.26.
    """
    gate = np.empty_like(x)
    for numbers, out in zip(_pieces(x), _pieces(gate), strict=True):
        z = np.abs(numbers) * np.float32(0.5**0.5)
        t = 1 / (1 + np.float32(0.3275911) * z)
        series = np.full_like(t, _ERF[0])
        for coefficient in _ERF[1:]:
            series *= t
            series += coefficient
        series *= t
        z *= z
        np.negative(z, out=z)
        series *= np.exp(z, out=z)  # 1 - erf
        series *= np.float32(-0.5)
        series += np.float32(0.5)  # Phi(|x|) - 1 / 2
        np.copysign(series, numbers, out=out)
        out += np.float32(0.5)
    return gate


def _pieces(x: Array) -> Iterator[Array]:
    flat = x.reshape(-1)
    return (flat[first : first + _CACHED] for first in range(0, len(flat), _CACHED))


def _relu_gate(x: Array) -> Array:
    return (x > 0).astype(np.float32)


_GATES = {"gelu": _gelu_gate, "relu": _relu_gate}


class _Head:
    """From hidden states to the embedding: choice of layers, pooling, pooler or Dense modules, dimension, length."""

    def __init__(self, encoder: Encoder, parameters: Parameters | None = None) -> None:
        self.n_layers, self.dimension = encoder.n_layers, encoder.dimension
        self.pooling = encoder.pooling
        # The pooler reads the last layer, whatever the layer to pool is.
        self.choice = "-1" if self.pooling == "pooler" else encoder.layer
        self.layers = pooled_layers(self.choice, self.n_layers)
        self.modules = list(encoder.dense)
        if self.pooling == "pooler" and parameters:
            pooler = _Linear(parameters, "pooler")
            self.modules.insert(0, Dense(pooler.weight, pooler.bias, "Tanh"))

    def hold(self, states: Sequence[Array], skipped: int = 0) -> _FrozenHead:
        """Return the head as an affine map of the hidden states of a text.

        Args:
            skipped: number of first tokens that are not pooled.
        """
        vectors = combined(dict(enumerate(states)), self.choice, self.n_layers)
        best, weights = None, None
        if self.pooling == "max":
            best = skipped + vectors[skipped:].argmax(axis=0)
            vector = vectors[best, np.arange(vectors.shape[1])]
        else:
            weights = self._weights(len(vectors), skipped)
            vector = weights @ vectors
        gates = []
        for module in self.modules:
            linear = module.weight @ vector + module.bias
            vector = module(vector[None])[0]
            gates.append(_ratio(vector, linear))
        kept = vector[: self.dimension]
        length = np.linalg.norm(kept)
        length = length if length or self.modules else np.float32(1)  # a text without any token
        sizes = len(vectors), len(vector)
        return _FrozenHead(self, *sizes, weights, best, gates, kept / length, float(length))

    def _weights(self, n: int, skipped: int) -> Array:
        """Return the (n,) weights of tokens in the pooled vector."""
        weights = np.zeros(n, dtype=np.float32)
        if self.pooling in ("cls", "pooler"):
            weights[skipped] = 1
        elif self.pooling == "lasttoken":
            weights[-1] = 1
        elif self.pooling == "weightedmean":
            weights[skipped:] = np.arange(skipped + 1, n + 1)
            weights /= weights.sum()
        elif n > skipped:
            count = n - skipped
            weights[skipped:] = 1 / (count if self.pooling == "mean" else count**0.5)
        return weights


def _ratio(value: Array, linear: Array) -> Array:
    """Return the gate of an activation, its value divided by its argument; 1 where that is 0."""
    return np.divide(value, linear, out=np.ones_like(value), where=linear != 0)


@dataclass(frozen=True, eq=False)
class _FrozenHead:
    """The head as an affine map, for a text of n tokens.

    Attributes:
        width: length of the pooled vector, before it is truncated to d dimensions.
        weights: (n,) weights of tokens in the pooled vector; None for pooling "max".
        best: for pooling "max", the token with the maximum of each dimension.
        gates: gates of the activation of each module.
        embedding: (d,) embedding, the pooled vector divided by its `length`.
    """

    head: _Head
    n: int
    width: int
    weights: Array | None
    best: NDArray[np.int64] | None
    gates: Sequence[Array]
    embedding: Array
    length: float

    def back(self, directions: NDArray[Any]) -> tuple[dict[int, Array], NDArray[np.float64]]:
        """Return layer -> (k, n, h) gradients with respect to its hidden states, and the (k,) addends of biases."""
        gradient: NDArray[Any] = directions / np.float32(self.length)
        gradient = np.pad(gradient, ((0, 0), (0, self.width - gradient.shape[1])))
        offset = np.zeros(len(directions))
        for module, gate in zip(reversed(self.head.modules), reversed(self.gates), strict=True):
            gradient = gradient * gate
            offset += gradient.astype(np.float64) @ module.bias
            gradient = gradient @ module.weight
        return self._by_layer(self._by_token(gradient)), offset

    def _by_token(self, gradient: Array) -> Array:
        """Return the (k, n, h) gradients with respect to the token vectors, from those of the pooled vector."""
        width = gradient.shape[1]
        if self.weights is not None:
            weighted: Array = gradient[:, None] * self.weights.astype(gradient.dtype)[:, None]
            return weighted
        tokens = np.zeros((len(gradient), self.n, width), dtype=gradient.dtype)
        tokens[:, self.best, np.arange(width)] = gradient
        return tokens

    def _by_layer(self, gradient: Array) -> dict[int, Array]:
        """Return the gradients with respect to each pooled layer, from those of their combination."""
        layers, kind = self.head.layers, self.head.choice.rpartition(":")[0]
        if kind == "concat":
            return dict(zip(layers, np.split(gradient, len(layers), axis=-1), strict=True))
        share = gradient / np.float32(len(layers)) if kind == "mean" else gradient
        return dict.fromkeys(layers, share)

    def forward(self, states: Mapping[int, Array], constant: Array) -> NDArray[np.float64]:
        """Apply the map to (m, n, h) parts of the hidden states of each layer; return (m, d) parts of the embedding."""
        head = self.head
        vectors = combined(states, head.choice, head.n_layers)
        if self.weights is not None:
            parts = np.einsum("mnh,n->mh", vectors, self.weights)
        else:
            parts = vectors[:, self.best, np.arange(vectors.shape[2])]
        for module, gate in zip(head.modules, self.gates, strict=True):
            parts = (parts @ module.weight.T + constant * module.bias) * gate
        return parts[:, : len(self.embedding)].astype(np.float64) / self.length
