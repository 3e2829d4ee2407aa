"""Which hidden states are pooled: one layer, or the mean of the last few.

Layer 0 is the embedding layer, n the last; negative numbers count from the end, as in Python. "mean:4" is
the mean of the last four layers (Devlin et al. 2018 try such combinations in "BERT", table 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_layer(layer: int | str, n_layers: int) -> str:
    """A layer choice as it is recorded, "-1" or "mean:4", or InputError if the model has no such layer."""
    text = str(layer).strip()
    kind, _, number = text.rpartition(":")
    try:
        wanted = int(number)
    except ValueError:
        wanted, kind = 0, "?"
    if kind == "mean" and 1 <= wanted <= n_layers + 1:
        return f"mean:{wanted}"
    if kind == "" and -n_layers - 1 <= wanted <= n_layers:
        return str(wanted if wanted < 0 else wanted - n_layers - 1)
    raise InputError(
        f"layer '{layer}' does not exist: give a number from {-n_layers - 1} to {n_layers}, "
        f"or mean:N for the mean of the last N layers."
    )


def layer_number(layer: int, n_layers: int) -> int:
    """A layer counted from the embedding layer, 0, whichever end it was counted from."""
    number = layer + n_layers + 1 if layer < 0 else layer
    if not 0 <= number <= n_layers:
        raise InputError(f"layer {layer} does not exist: the model has layers 0 to {n_layers}.")
    return number


def pooled_layers(choice: str, n_layers: int) -> list[int]:
    """The layers that a checked choice needs, counted from 0."""
    kind, _, number = choice.rpartition(":")
    if kind == "mean":
        return list(range(n_layers + 1 - int(number), n_layers + 1))
    return [layer_number(int(number), n_layers)]


def combined(layers: Mapping[int, NDArray[np.float32]], chosen: list[int]) -> NDArray[np.float32]:
    """The hidden states to pool: those of one layer, or the mean of several."""
    if len(chosen) == 1:
        return layers[chosen[0]]
    return np.mean([layers[layer] for layer in chosen], axis=0, dtype=np.float32)
