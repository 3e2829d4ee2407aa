"""Pooling: from the token vectors of a text to one vector.

Layers: 0 is the embedding layer, n the last; negative numbers count from the end, as in Python. "mean:4", "sum:4" and
"concat:4" combine the last four layers (Devlin et al. 2018, "BERT", table 7); mean and sum have the same cosines.

With h_1 .. h_n the vectors of the text's n tokens, special tokens included:

    mean           (h_1 + ... + h_n) / n            Reimers & Gurevych 2019, "Sentence-BERT"
    mean_sqrt_len  (h_1 + ... + h_n) / sqrt(n)
    max            the largest value of each dimension
    cls            h_1, the vector of [CLS]
    pooler         tanh(W h_1 + b), BERT's own layer over [CLS] (Devlin et al. 2018, "BERT")
    weightedmean   (1 h_1 + 2 h_2 + ... + n h_n) / (1 + 2 + ... + n)    Muennighoff 2022, "SGPT"
    lasttoken      h_n

Some models pool only the tokens after the prompt. Dense modules may follow: activation(W x + b).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from search.errors import InputError, ModelError
from search.records.options import Pooling

if TYPE_CHECKING:
    from numpy.typing import NDArray

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
ST_NAMES = {
    "mean": "mean",
    "cls": "cls",
    "max": "max",
    "mean_sqrt_len": "mean_sqrt_len_tokens",
    "weightedmean": "weightedmean",
    "lasttoken": "lasttoken",
}
"""sentence-transformers' names for the same poolings."""
COMBINATIONS: dict[str, Callable[[Any], Any]] = {
    "mean": partial(np.mean, axis=0, dtype=np.float32),
    "sum": partial(np.sum, axis=0, dtype=np.float32),
    "concat": partial(np.concatenate, axis=-1),
}
ACTIVATIONS = {"Identity": None, "Tanh": np.tanh}


@dataclass(frozen=True)
class Dense:
    """A Dense module.

    Attributes:
        weight: (out, in) matrix.
        bias: (out,) vector.
        activation: a key of ACTIVATIONS.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: str

    def __call__(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Apply the module to (n, in) vectors; return (n, out)."""
        linear = vectors @ self.weight.T + self.bias
        function = ACTIVATIONS[self.activation]
        return linear if function is None else function(linear)


def load_dense(folder: Path, activation: str) -> Dense:
    """Load a Dense module from a folder that sentence-transformers saved."""
    from safetensors.numpy import load_file

    weights = load_file(folder / "model.safetensors")
    weight = weights["linear.weight"].astype(np.float32)
    bias = weights.get("linear.bias", np.zeros(len(weight), dtype=np.float32)).astype(np.float32)
    return Dense(weight, bias, activation)


def check_pooling(pooling: str) -> str:
    """Return `pooling`; raise InputError if it is not one of POOLINGS."""
    if pooling not in POOLINGS:
        raise InputError(f"unknown pooling '{pooling}'. Choose one of: {', '.join(POOLINGS)}.")
    return pooling


def pool(
    hidden: NDArray[np.float32],
    mask: NDArray[np.int64],
    pooling: str,
    pooler: NDArray[np.float32] | None,
    skipped: int = 0,
) -> NDArray[np.float32]:
    """Pool each text of a batch to one vector.

    Args:
        hidden: (b, t, d) last hidden states, padded to the longest text.
        mask: (b, t) 1 for a token, 0 for padding, which comes last.
        pooling: one of POOLINGS.
        pooler: (b, d) output of BERT's pooler, needed for "pooler" only.
        skipped: number of first tokens that are not pooled.

    Returns:
        (b, d) float32, not normalised. Vectors of padding are ignored. A mean of no tokens is 0.
    """
    if pooling == "cls":
        return hidden[:, min(skipped, hidden.shape[1] - 1)]
    if pooling == "pooler":
        if pooler is None:
            raise ModelError("this model has no pooler layer. Choose another pooling, for example mean.")
        return pooler
    if pooling == "lasttoken":
        return hidden[np.arange(len(hidden)), mask.sum(axis=1) - 1]
    if skipped:
        mask = mask.copy()
        mask[:, :skipped] = 0
    real = mask[:, :, None].astype(bool)
    if pooling == "max":
        return np.where(real, hidden, np.float32(-np.inf)).max(axis=1)
    if pooling == "weightedmean":
        weights = mask * np.arange(1, mask.shape[1] + 1, dtype=np.float32)
        summed = (np.where(real, hidden, np.float32(0)) * weights[:, :, None]).sum(axis=1)
        return summed / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    total = np.where(real, hidden, np.float32(0)).sum(axis=1)
    count = np.maximum(mask.sum(axis=1, dtype=np.float32), 1)[:, None]
    return total / (np.sqrt(count) if pooling == "mean_sqrt_len" else count)


def unit(vectors: NDArray[np.float32], model: str, *, allow_zeros: bool = False) -> NDArray[np.float32]:
    """Scale each row to length 1.

    Args:
        model: name for the error.
        allow_zeros: leave rows of zeros as they are. Their cosine with any other vector is 0.

    Raises:
        ModelError: a row contains NaN or infinity, or is all zeros.
    """
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if allow_zeros:
        lengths[lengths == 0] = 1
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(bad):
        raise ModelError(
            f"'{model}' returned {'zeros' if lengths.flat[bad[0]] == 0 else 'NaN or infinity'} "
            f"for {len(bad)} of {len(vectors)} texts. Its weights are damaged, or exceed the range of fp16."
        )
    return (vectors / lengths).astype(np.float32, copy=False)


def check_layer(layer: int | str, n_layers: int) -> str:
    """Normalise a layer option to its stored form, "-1" or "concat:4"; raise InputError for an unknown layer."""
    text = str(layer).strip()
    kind, _, number = text.rpartition(":")
    try:
        value = int(number)
    except ValueError:
        value, kind = 0, "?"
    if kind in COMBINATIONS and 1 <= value <= n_layers + 1:
        return f"{kind}:{value}"
    if kind == "" and -n_layers - 1 <= value <= n_layers:
        return str(value if value < 0 else value - n_layers - 1)
    raise InputError(
        f"no layer '{layer}'. Choose from {-n_layers - 1} to {n_layers}, or mean:N, sum:N or concat:N for the last N "
        "layers."
    )


def layer_number(layer: int, n_layers: int) -> int:
    """Convert a layer option to a number from 0, the embedding layer; -1 is the last layer."""
    number = layer + n_layers + 1 if layer < 0 else layer
    if not 0 <= number <= n_layers:
        raise InputError(f"no layer {layer}. Choose from 0 to {n_layers}.")
    return number


def pooled_layers(choice: str, n_layers: int) -> list[int]:
    """Return the numbers of the layers to pool; `choice` is what `check_layer` returns."""
    kind, _, number = choice.rpartition(":")
    if kind:
        return list(range(n_layers + 1 - int(number), n_layers + 1))
    return [layer_number(int(number), n_layers)]


def combined(
    layers: Mapping[int, NDArray[np.float32]], choice: str, n_layers: int
) -> NDArray[np.float32]:
    """Return the hidden states of a layer, or of a combination of layers; `choice` as in `pooled_layers`."""
    states = [layers[layer] for layer in pooled_layers(choice, n_layers)]
    kind = choice.rpartition(":")[0]
    return states[0] if not kind else COMBINATIONS[kind](states)
