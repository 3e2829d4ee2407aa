"""Passages that an expression tells on the server: what `among` is of an index on Milvus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.milvus.layout import PASSAGE

if TYPE_CHECKING:
    from search.store.milvus.generation import View
    from search.store.protocol import Ids


@dataclass(frozen=True)
class Chosen:
    """The passages of one state that pass an expression; their ids are fetched only where they are asked for.

    Attributes:
        expression: over the fields of passages; "" for all.
    """

    view: View
    expression: str

    def __len__(self) -> int:
        return self._count

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Ids:
        """Their ids, increasing."""
        return self._ids if dtype is None else self._ids.astype(dtype)

    def tolist(self) -> list[int]:
        found: list[int] = self._ids.tolist()
        return found

    @cached_property
    def _count(self) -> int:
        view = self.view
        if not self.expression:
            return view.generation.passages
        return view.client.count(view.collection("passages"), view.there(self.expression))

    @cached_property
    def _ids(self) -> Ids:
        view = self.view
        rows = view.client.each(view.collection("passages"), view.there(self.expression), [PASSAGE], PASSAGE)
        return np.array([row[PASSAGE] for row in rows], dtype=np.int64)
