"""What each token adds to an embedding, where the embedding is linear in the token vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.dense import Dense

if TYPE_CHECKING:
    from numpy.typing import NDArray


def addends(
    vectors: NDArray[np.float32], pooling: str, modules: Sequence[Dense], dimension: int
) -> NDArray[np.float32] | None:
    """Vectors, one a token, that pool to the embedding but for its length; None if there are none.

    Dense modules without activation and the cut to `dimension` are linear, so they can be applied to each
    token's vector instead of to the mean.

    Args:
        vectors: (n, d) hidden states of one text's tokens.

    Returns:
        (n, dimension) float32.
    """
    if pooling not in ("mean", "mean_sqrt_len", "max"):
        return None
    if modules and (pooling == "max" or any(dense.activation != "Identity" for dense in modules)):
        return None
    if modules and pooling == "mean_sqrt_len":
        vectors = vectors * np.float32(len(vectors) ** 0.5)
    for dense in modules:
        vectors = dense(vectors)
    return vectors[:, :dimension].copy()
