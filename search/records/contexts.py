"""Vectors of two texts side by side: words in their contexts, and rows that are equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.inspections import InputToken


@dataclass(frozen=True, eq=False)
class ContextualCosines:
    """Words in contexts: how alike their vectors are there, layer by layer.

    Attributes:
        words: c words as they were asked for, one of each context; all the same, or not.
        texts: c contexts; `found` are the character spans of the words in them, `counts` how often they occur
            there (the first is taken).
        pieces: the tokens of each context's word; its vector is the mean of theirs.
        against: a texts, each read by itself; its vector is the mean of its tokens that are not special, of which
            there are `lengths`.
        between: (layers + 1, c, c) cosines of the words of two contexts.
        others: (layers + 1, c, a) cosines of a context's word with each of `against`.
        model: name of the model.
    """

    words: tuple[str, ...]
    texts: tuple[str, ...]
    found: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    pieces: tuple[tuple[str, ...], ...]
    against: tuple[str, ...]
    lengths: tuple[int, ...]
    between: NDArray[np.float64]
    others: NDArray[np.float64]
    model: str

    @property
    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The cosines by name, as `numpy.savez` takes them."""
        return {"between": self.between, "others": self.others}


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Two texts, each read by itself: which vectors of the same place are equal, from the tables to the last layer.

    Attributes:
        texts, tokens: of both, special tokens included; m is the number of places that both have.
        parts: p names, in the order in which a model comes by them: "word", "position", perhaps "segment", then
            "layer 0", ...
        cosines: (m, p) of the two vectors at a place.
        equal: (m, p) whether the two differ by at most 1e-6 in every number: rounding.
        elsewhere: pairs of places that hold one entry and are not the same, (in the first, in the second).
        model: its name.
    """

    texts: tuple[str, str]
    tokens: tuple[tuple[InputToken, ...], tuple[InputToken, ...]]
    parts: tuple[str, ...]
    cosines: NDArray[np.float64]
    equal: NDArray[np.bool_]
    elsewhere: tuple[tuple[int, int], ...]
    model: str

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The matrices by name, as `numpy.savez` takes them."""
        return {"cosines": self.cosines, "equal": self.equal}
