"""Common parts of the engines, which turn batches of token ids into hidden states.

An engine has
    name, device           "openvino", "torch" or "static"; the device that computes
    n_layers, has_pooler   encoder layers; hidden states are numbered 0 (the embedding layer) to n_layers
    batch_tokens           a good number of tokens for a batch, padding included
    instead                reason why this engine replaces another one; "" if it was the first choice
    run(batches, layers)   yields the hidden states of these layers for each batch; use them before the next batch
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np

from search.encoding.tokenizer import Encoded
from search.errors import InputError, ModelError
from search.records.options import EngineName, Precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENGINES = get_args(EngineName)
PRECISIONS = get_args(Precision)
OF_OPENVINO = {"fp32": "f32", "bf16": "bf16"}
"""Precisions that OpenVINO supports -> its names for them."""

_loaded_by: int | None = (
    None  # ID of the process that loaded an engine first; a forked child sees its parent's ID
)


@dataclass(frozen=True)
class Hidden:
    """Output of a model for one batch of b texts with at most t tokens.

    Attributes:
        layers: layer number -> (b, t, d) float32 hidden states; 0 is the embedding layer.
        mask: (b, t) int64, 1 for a token and 0 for padding.
        pooler: (b, d) float32 output of the pooler; None if the model has none.
    """

    layers: dict[int, NDArray[np.float32]]
    mask: NDArray[np.int64]
    pooler: NDArray[np.float32] | None


def padded(
    batch: Sequence[Encoded], pad: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the arrays (ids, segment types, mask), each (b, t), of a batch whose longest text has t tokens."""
    longest = max(len(text.ids) for text in batch)
    ids = np.full((len(batch), longest), pad, dtype=np.int64)
    types = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for row, text in enumerate(batch):
        ids[row, : len(text.ids)] = text.ids
        types[row, : len(text.types)] = text.types
        mask[row, : len(text.ids)] = 1
    return ids, types, mask


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Split texts into batches with little padding; yield the positions of each batch's texts in `lengths`.

    The longest texts come first, so that a lack of memory shows at once, not at the end.

    Args:
        lengths: number of tokens of each text, > 0.
        budget: maximum number of tokens in a batch, padding included; a longer text gets its own batch.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch


def check_engine(engine: EngineName, precision: Precision) -> None:
    """Raise InputError for an unknown engine or precision, or a precision that the engine does not support."""
    for option, name, names in (("engine", engine, ENGINES), ("precision", precision, PRECISIONS)):
        if name not in names:
            raise InputError(f"unknown {option} '{name}'. Choose one of: {', '.join(names)}.")
    if engine == "openvino" and precision not in OF_OPENVINO:
        raise InputError(
            f"engine 'openvino' supports {' and '.join(OF_OPENVINO)}, not {precision}. Use engine 'torch'."
        )


def claim_process() -> None:
    """Record that this process uses a model; raise ModelError if its parent used a model before the fork.

    Threads do not survive a fork, so an engine would wait for them forever. Call this before taking any lock that a
    thread of the parent may have held during the fork.
    """
    global _loaded_by
    if _loaded_by not in (None, os.getpid()):
        raise ModelError(
            "the parent of this process had already loaded a model. Open the index after "
            "forking, or start workers with multiprocessing.get_context('spawn')."
        )
    _loaded_by = os.getpid()
