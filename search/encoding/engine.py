"""What every engine does: batches of token ids -> hidden states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from search.encoding.tokenizer import Encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Hidden:
    """Output of one batch.

    Attributes:
        layers: layer number to (b, t, d) float32; 0 is the embedding layer.
        mask: (b, t) int64, 1 for a token and 0 for padding.
        pooler: (b, d) float32, or None when the model has no trained pooler.
    """

    layers: dict[int, NDArray[np.float32]]
    mask: NDArray[np.int64]
    pooler: NDArray[np.float32] | None


class Engine(Protocol):
    """A model in memory.

    Attributes:
        name: "openvino" or "torch"; `device` is where it computes.
        n_layers: encoder layers; hidden states are numbered 0 (the embedding layer) to n_layers.
        has_pooler: the model has a trained pooler.
        batch_tokens: how many tokens, padding included, make a batch that suits it.
        instead: of which engine it is used and why, "" where it is the one that was wanted.
    """

    name: str
    device: str
    n_layers: int
    has_pooler: bool
    batch_tokens: int
    instead: str

    def run(self, batches: Iterable[Sequence[Encoded]], layers: Sequence[int]) -> Iterator[Hidden]:
        """Hidden states of the asked layers for each batch, in order; use each before asking for the next."""
        ...


def padded(
    batch: Sequence[Encoded], pad: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(ids, types, mask), each (b, t), of a batch whose longest text has t tokens."""
    longest = max(len(text.ids) for text in batch)
    ids = np.full((len(batch), longest), pad, dtype=np.int64)
    types = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for row, text in enumerate(batch):
        ids[row, : len(text.ids)] = text.ids
        types[row, : len(text.types)] = text.types
        mask[row, : len(text.ids)] = 1
    return ids, types, mask
