"""The Dense modules that some sentence-transformers models have after pooling.

Each computes activation(W x + b). With the identity as activation the embedding stays linear in the token
vectors, so its scores can still be explained exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ACTIVATIONS = {"Identity": None, "Tanh": np.tanh}


@dataclass(frozen=True)
class Dense:
    """One Dense module: weight (out, in), bias (out,), and a function or None for the identity."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: str

    def __call__(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, in) -> (n, out)."""
        linear = vectors @ self.weight.T + self.bias
        function = _ACTIVATIONS[self.activation]
        return linear if function is None else function(linear)


def dense_file(folder: Path, config: dict[str, Any], name: str) -> tuple[Path, str]:
    """The weights of a Dense module and its activation's name.

    Raises:
        ModelError: no safetensors, or something that is not supported, by name.
    """
    activation = str(config.get("activation_function") or "torch.nn.modules.activation.Tanh").rsplit(".", 1)[
        -1
    ]
    if activation not in _ACTIVATIONS:
        raise ModelError(f"the model '{name}' has a Dense module with {activation}, which is not supported.")
    if config.get("use_residual"):
        raise ModelError(f"the model '{name}' has a Dense module with a residual, which is not supported.")
    file = folder / "model.safetensors"
    if not file.is_file():
        raise ModelError(f"the model '{name}' has a Dense module without safetensors weights in {folder}.")
    return file, activation


def load_dense(file: Path, activation: str) -> Dense:
    """Read a Dense module's weights."""
    from safetensors.numpy import load_file

    weights = load_file(file)
    weight = weights["linear.weight"].astype(np.float32)
    bias = weights.get("linear.bias", np.zeros(len(weight), dtype=np.float32)).astype(np.float32)
    return Dense(weight, bias, activation)
