"""Hits that are not all alike: maximal marginal relevance (Carbonell and Goldstein 1998).

Of the passages that are left, the one with the highest

    (1 - D) * score / highest score  -  D * (highest cosine with a passage that was taken before)

is taken next, where D is the diversity. 0 is the ranking as it is; at 1 the scores count no more after the first. The
scores are divided by the highest one, as those of some modes are far smaller than cosines. They stay what they
were: it is the order that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

POOL = 100  # best passages that are put in another order; what is behind them stays there


def check_diversity(diversity: float) -> None:
    """
    Raises:
        InputError: it is not in [0, 1].
    """
    if not 0 <= diversity <= 1:
        raise InputError(
            f"the diversity is {diversity}; it must be between 0 (as they rank) and 1 (as different as can be)."
        )


def diverse_order(scores: Sequence[float], vectors: NDArray[np.float32], diversity: float) -> list[int]:
    """In which order passages are taken; of equal ones the first.

    Args:
        scores: n scores, best first.
        vectors: (n, d) their embeddings, unit length.
        diversity: D, in [0, 1].

    Example:
        >>> same, other = [1.0, 0.0], [0.0, 1.0]
        >>> diverse_order([0.9, 0.8, 0.7], np.array([same, same, other], dtype=np.float32), 0.5)
        [0, 2, 1]
    """
    if not scores:
        return []
    relevance = np.array(scores, dtype=np.float64)
    if relevance[0] > 0:
        relevance = relevance / relevance[0]
    wide = vectors.astype(np.float64)
    order = [0]
    closest = wide @ wide[0]
    left = np.ones(len(scores), dtype=bool)
    left[0] = False
    while left.any():
        worth = np.where(left, (1 - diversity) * relevance - diversity * closest, -np.inf)
        # Rounded, as equal vectors may get products that differ in the last digit.
        chosen = int(np.argmax(np.round(worth, 9)))
        order.append(chosen)
        left[chosen] = False
        closest = np.maximum(closest, wide @ wide[chosen])
    return order
