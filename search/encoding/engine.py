"""The engines that encode: OpenVINO on a processor, PyTorch on a GPU and where OpenVINO cannot.

Both turn batches of token ids into hidden states; `open_engine` chooses.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from search.encoding.cache import add, cached_model, known_failure, remember_failure
from search.encoding.tokenizer import Encoded
from search.errors import InputError, ModelError, first_line, is_of_memory, quoted
from search.files import cache_home

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.description import KnownModel

ENGINES = ("auto", "openvino", "torch")
PRECISIONS = ("fp32", "bf16", "fp16")
OF_OPENVINO = {"fp32": "f32", "bf16": "bf16"}
"""Those that OpenVINO computes in, as it calls them."""

_loaded_by: int | None = None  # the process that loaded an engine first; a forked child sees its parent's id


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


class Engine(Protocol):
    """A model in memory.

    Attributes:
        name: "openvino" or "torch"; `device` is where it computes.
        n_layers: encoder layers; hidden states are numbered 0 (the embedding layer) to n_layers.
        has_pooler: the model has a pooler.
        batch_tokens: how many tokens, padding included, make a batch that suits it.
        alike: how many texts of one length it takes as a batch in which each gets the very bits that it gets alone.
        instead: of which engine it is used and why, "" where it is the one that was wanted.
    """

    name: str
    device: str
    n_layers: int
    has_pooler: bool
    batch_tokens: int
    alike: int
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


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield lists of positions into `lengths`, each position once, so that little is wasted on padding.

    Longest first, so that a machine with too little memory fails at once and not at the end.

    Args:
        lengths: tokens of each text, all > 0.
        budget: most tokens in one batch, padding included; a longer text gets a batch of its own.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch


def alike(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield lists of positions into `lengths`, each position once, of at most so many texts of one length."""
    places: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        places.setdefault(length, []).append(position)
    for same in places.values():
        for start in range(0, len(same), most):
            yield same[start : start + most]


def check_engine(engine: str, precision: str) -> None:
    """Raise InputError if there is no such engine or precision, or the engine does not compute in it."""
    for what, asked, known in (("engine", engine, ENGINES), ("precision", precision, PRECISIONS)):
        if asked not in known:
            raise InputError(f"{what} '{asked}' is not known. Choose one of: {', '.join(known)}.")
    if engine == "openvino" and precision not in OF_OPENVINO:
        raise InputError(
            f"the engine 'openvino' computes in {' and '.join(OF_OPENVINO)}, not in {precision}. "
            "Leave the engine out, or choose 'torch'."
        )


def claim_process() -> None:
    """Say that this process uses a model from here on; ModelError if one that it was forked from did.

    Threads do not survive a fork, and both engines wait for theirs: without this a child would hang. To be
    called before any lock is taken, which a thread of the parent may have held when it was forked.
    """
    global _loaded_by
    if _loaded_by not in (None, os.getpid()):
        raise ModelError(
            "this process was forked from one that had loaded a model, and a model cannot be used "
            "across a fork. Open the index or make the encoder after the fork, in each process, or start workers "
            "with multiprocessing.get_context('spawn')."
        )
    _loaded_by = os.getpid()


def open_engine(
    known: KnownModel,
    engine: str = "auto",
    device: str | None = None,
    many: bool = True,
    precision: str = "fp32",
) -> Engine:
    """Load a model.

    Args:
        engine: "auto" takes PyTorch where there is a GPU and many texts are to be encoded, OpenVINO otherwise, and
            PyTorch if OpenVINO cannot run the model, or not in that precision on this processor.
        device: of PyTorch; naming one other than "cpu" implies PyTorch.
        many: whether loading PyTorch could pay.
        precision: one of PRECISIONS.

    Raises:
        ModelError: the model cannot be loaded, or not by the engine that was asked for; or this process was
            forked after a model had been loaded.
        InputError: the engine that was asked for does not compute in that precision on this processor.
    """
    claim_process()
    from search.encoding.torch_engine import TorchEngine, best_device

    if engine == "torch" or precision not in OF_OPENVINO or (device or "cpu") != "cpu":
        return TorchEngine(known.whole(), device, precision)
    has_openvino = importlib.util.find_spec("openvino") is not None
    lacking = _lacking(precision) if has_openvino else ""
    worth_loading = many or lacking
    if engine == "auto" and worth_loading and device is None and _may_have_gpu() and best_device() != "cpu":
        return TorchEngine(known.whole(), precision=precision)
    if engine == "auto" and has_openvino:
        return _openvino_or_torch(known, precision, lacking)
    if engine == "auto":
        return TorchEngine(known.whole(), "cpu", precision)
    if not has_openvino:
        raise ModelError("the engine 'openvino' needs the package openvino: pip install openvino")
    if lacking:
        raise InputError(f"the engine 'openvino' cannot compute in {precision}: {lacking}. Choose 'torch'.")
    if known.description.only_torch:
        raise ModelError(
            f"the engine 'openvino' cannot do all of '{known.files.name}': it has {known.description.only_torch}. "
            "Leave the engine out, or choose 'torch'."
        )
    try:
        return _openvino(known, precision)
    except (OSError, RuntimeError) as error:
        reason = _of_cache(error) if isinstance(error, OSError) else first_line(error)
        raise ModelError(f"the engine 'openvino' cannot run '{known.files.name}': {reason}") from None


def _lacking(precision: str) -> str:
    """Why OpenVINO cannot compute in a precision on this processor, "" where it can."""
    if precision == "fp32":
        return ""
    from search.encoding.openvino_engine import computes_in

    return "" if computes_in(precision) else f"this processor has no units for {precision}"


def _openvino(known: KnownModel, precision: str) -> Engine:
    """A converted model, made if need be. A second attempt first compares all files with what was written.

    Raises:
        ModelError: it cannot be converted.
        RuntimeError: OpenVINO does not run what was converted.
        OSError: the cache cannot be written.
    """
    from search.encoding.openvino_engine import OpenVINOEngine, convert

    converted, reason = cached_model(*known.files.hashes), ""
    for _ in range(2):
        converted = converted or add(known, convert)
        try:
            return OpenVINOEngine(converted.files.folder, converted, precision)
        except (RuntimeError, ValueError, KeyError, OSError) as error:
            if is_of_memory(error):  # which says nothing of the model
                raise MemoryError from error
            converted, reason = None, first_line(error)
    raise RuntimeError(f"the converted model of '{known.files.name}' cannot be used: {reason}")


def _openvino_or_torch(known: KnownModel, precision: str, lacking: str) -> Engine:
    from search.encoding.torch_engine import TorchEngine

    reason = known.description.only_torch or lacking or known_failure(known.files)
    failed = False
    if not reason:
        try:
            return _openvino(known, precision)
        except OSError as error:
            reason = _of_cache(error)
        except (ModelError, RuntimeError) as error:
            again = f"seewhy lab models --remove {quoted(known.files.name)}"
            reason = f"{first_line(error).rstrip('.')}. To try again, run: {again}"
            failed = isinstance(error, ModelError) and not is_of_memory(error)
    fallback = TorchEngine(
        known.whole(), "cpu", precision
    )  # what is wrong with the model itself is said here
    if failed:
        remember_failure(known.files, reason)
    fallback.instead = f"instead of OpenVINO: {reason}"
    return fallback


def _of_cache(error: OSError) -> str:
    return (
        f"its converted form cannot be kept in '{cache_home()}' ({error.strerror or error}). Free space there, or let "
        "SEEWHY_CACHE name a folder that can be written to"
    )


def _may_have_gpu() -> bool:
    """A quick look, so that machines without one never load PyTorch to find out."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return shutil.which("nvidia-smi") is not None
