"""The choice of an engine: OpenVINO on a processor, PyTorch on a GPU and where OpenVINO cannot."""

from __future__ import annotations

import platform
import shutil
import sys
from contextlib import suppress
from typing import TypeAlias

from search.encoding.cache import DAMAGE, add, cached_model, known_failure, remember_failure
from search.encoding.description import KnownModel
from search.encoding.engine import OF_OPENVINO, claim_process
from search.encoding.openvino_engine import OpenVINOEngine, computes_in, convert
from search.encoding.torch_engine import TorchEngine, best_device
from search.errors import ModelError, first_line, is_of_memory, quoted
from search.files import cache_home

Engine: TypeAlias = OpenVINOEngine | TorchEngine


def open_engine(
    model: KnownModel,
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
        ModelError: the model cannot be loaded, or not by this engine, or not in that precision on
            this processor; or this process was forked after a model had been loaded.
    """
    claim_process()
    if engine == "torch" or precision not in OF_OPENVINO or (device or "cpu") != "cpu":
        return TorchEngine(model.whole(), device, precision)
    units = precision == "fp32" or computes_in(precision)
    lacking = "" if units else f"this processor has no units for {precision}"
    may_pay = engine == "auto" and device is None and (many or lacking)
    if may_pay and _may_have_gpu() and best_device() != "cpu":
        return TorchEngine(model.whole(), precision=precision)
    remembered = known_failure(model.files) if engine == "auto" else ""
    reason, failed = model.description.only_torch or lacking or remembered, False
    if not reason:
        try:
            return _openvino(model, precision)
        except OSError as error:
            reason = (
                f"its converted form cannot be kept in '{cache_home()}' ({error.strerror or error}). "
                "Let SEEWHY_CACHE name another folder"
            )
        except (ModelError, RuntimeError) as error:
            again = f"seewhy lab models --remove {quoted(model.files.name)}"
            reason = f"{first_line(error).rstrip('.')}. To try again, run: {again}"
            failed = isinstance(error, ModelError) and not is_of_memory(error)
    if engine == "openvino":
        raise ModelError(
            f"the engine 'openvino' cannot run '{model.files.name}': {reason}. Leave the engine out, or choose 'torch'."
        )
    # Raises for a fault of the model itself.
    fallback = TorchEngine(model.whole(), "cpu", precision)
    if failed:
        remember_failure(model.files, reason)
    fallback.instead = f"instead of OpenVINO: {reason}"
    return fallback


def _openvino(model: KnownModel, precision: str) -> Engine:
    """A converted model, made if need be. A second attempt first compares all files with what was written.

    Raises:
        ModelError: it cannot be converted.
        RuntimeError: OpenVINO does not run what was converted.
        OSError: the cache cannot be written.
    """
    if converted := cached_model(*model.files.hashes):
        with suppress(RuntimeError, *DAMAGE):
            return OpenVINOEngine(converted.files.folder, converted, precision)
    converted = add(model, convert)
    try:
        return OpenVINOEngine(converted.files.folder, converted, precision)
    except RuntimeError as error:
        if is_of_memory(error):  # not a fault of the model
            raise MemoryError from error
        raise


def _may_have_gpu() -> bool:
    """A quick look, so that machines without one never load PyTorch to find out."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return shutil.which("nvidia-smi") is not None
