"""Vectors of two texts side by side: words in their contexts, and rows that are equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ContextualCosines:
    """One word in several contexts: how alike its vectors are there, layer by layer.

    Attributes:
        word: as it was asked for.
        texts: c contexts; `found` are the character spans of the word in them, `counts` how often it occurs
            there (the first is taken).
        pieces: the word's tokens in each context; its vector is the mean of theirs.
        against: a texts, each read by itself; its vector is the mean of its tokens that are not special.
        between: (layers + 1, c, c) cosines of the word with itself in two contexts.
        others: (layers + 1, c, a) cosines of the word in a context with each of `against`.
        model: name of the model.
    """

    word: str
    texts: tuple[str, ...]
    found: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    pieces: tuple[tuple[str, ...], ...]
    against: tuple[str, ...]
    between: NDArray[np.float64]
    others: NDArray[np.float64]
    model: str
