"""Common parts of the engines that encode: batches of token ids in, hidden states out.

An engine has
    name, device           "openvino" or "torch"; where it computes
    n_layers, has_pooler   encoder layers; hidden states are numbered 0 (the embedding layer) to n_layers
    batch_tokens           how many tokens, padding included, make a batch that suits it
    instead                the engine that it replaces and why, "" if it was the first choice
    run(batches, layers)   hidden states of these layers for each batch, in order; use each before asking for the next
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.tokenizer import Encoded
from search.errors import InputError, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENGINES = ("auto", "openvino", "torch")
PRECISIONS = ("fp32", "bf16", "fp16")
OF_OPENVINO = {"fp32": "f32", "bf16": "bf16"}
"""Precisions of OpenVINO, with its names for them."""

_loaded_by: int | None = (
    None  # the process that loaded an engine first; a forked child sees its parent's id
)


@dataclass(frozen=True)
class Hidden:
    """Output of one batch.

    Attributes:
        layers: layer number to (b, t, d) float32; 0 is the embedding layer.
        mask: (b, t) int64, 1 for a token and 0 for padding.
        pooler: (b, d) float32, or None when the model has no pooler.
    """

    layers: dict[int, NDArray[np.float32]]
    mask: NDArray[np.int64]
    pooler: NDArray[np.float32] | None


def padded(
    batch: Sequence[Encoded], pad: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(ids, types, mask), each (b, t), of a batch whose longest text has t tokens."""
    longest = max(map(len, map(attrgetter("ids"), batch)))
    ids = np.full((len(batch), longest), pad, dtype=np.int64)
    types = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for row, text in enumerate(batch):
        ids[row, : len(text.ids)] = text.ids
        types[row, : len(text.types)] = text.types
        mask[row, : len(text.ids)] = 1
    return ids, types, mask


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield lists of positions into `lengths`, each position once, so that little is wasted on padding.

    Longest first, so that a machine with too little memory fails at once and not at the end.

    Args:
        lengths: tokens of each text, all > 0.
        budget: most tokens in one batch, padding included; a longer text gets a batch of its own.
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


def check_engine(engine: str, precision: str) -> None:
    """Raise InputError if there is no such engine or precision, or the engine does not compute in it."""
    for option, name, names in (("engine", engine, ENGINES), ("precision", precision, PRECISIONS)):
        if name not in names:
            raise InputError(f"{option} '{name}' is not known. Choose one of: {', '.join(names)}.")
    if engine == "openvino" and precision not in OF_OPENVINO:
        raise InputError(
            f"the engine 'openvino' computes in {' and '.join(OF_OPENVINO)}, not in {precision}. Take 'torch'."
        )


def claim_process() -> None:
    """Note that this process uses a model; ModelError if it was forked from one that did.

    Threads do not survive a fork, and both engines wait for theirs: without this a child would hang. To be
    called before any lock is taken, which a thread of the parent may have held when it was forked.
    """
    global _loaded_by
    if _loaded_by not in (None, os.getpid()):
        raise ModelError(
            "this process was forked from one that had loaded a model. Open the index after the fork, "
            "or start workers with multiprocessing.get_context('spawn')."
        )
    _loaded_by = os.getpid()
