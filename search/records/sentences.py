"""Sentences compared with sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.records.tokens import Matrix


@dataclass(frozen=True, eq=False)
class Similarities:
    """Cosines of sentences with sentences.

    Attributes:
        rows, columns: n and m sentences.
        cosines: (n, m) float32 in [-1, 1] of their embeddings.
        itself: the columns are the rows once more, so the matrix is square and symmetric.
        model, pooling: how the embeddings were made.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cosines: Matrix
    itself: bool
    model: str
    pooling: str

    def closest(self, count: int) -> list[tuple[int, int]]:
        """(row, column) of the pairs with the highest cosines, best first.

        No sentence is paired with itself, and of a matrix that is `itself` each pair comes once.
        """
        import numpy as np

        places = np.argsort(-self.cosines, axis=None, kind="stable")
        rows, columns = np.unravel_index(places, self.cosines.shape)
        found: list[tuple[int, int]] = []
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            if len(found) == count:
                break
            if not self.itself or i < j:
                found.append((i, j))
        return found
