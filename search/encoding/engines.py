"""Choice of the engine: OpenVINO on a processor; PyTorch on a GPU, or if OpenVINO cannot run the model.

A static model has an engine of its own.
"""

from __future__ import annotations

import platform
import shutil
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import TypeAlias

from search.encoding.cache import (
    DAMAGE,
    add,
    cached_model,
    entry_folder,
    known_failure,
    remember_failure,
)
from search.encoding.description import KnownModel
from search.encoding.engine import OF_OPENVINO, claim_process
from search.encoding.openvino_engine import OpenVINOEngine, computes_in, convert
from search.encoding.static import StaticEngine
from search.encoding.torch_engine import TorchEngine, best_device
from search.errors import ModelError, first_line, is_of_memory, quoted
from search.files import cache_home
from search.records.options import EngineName, Precision

Engine: TypeAlias = OpenVINOEngine | TorchEngine | StaticEngine


def open_engine(
    model: KnownModel,
    engine: EngineName = "auto",
    device: str | None = None,
    many: bool = True,
    precision: Precision = "fp32",
) -> Engine:
    """Load a model.

    Args:
        engine: "openvino", "torch" or "auto". "auto" is PyTorch if there is a GPU and many texts will be encoded, or if
            OpenVINO cannot run the model in this precision on this processor; otherwise OpenVINO.
        device: PyTorch's device; any except "cpu" implies PyTorch.
        many: True if many texts will be encoded, so that loading PyTorch for a GPU is worth it.
        precision: one of PRECISIONS.

    Raises:
        ModelError: the model cannot be loaded by this engine or in this precision, or this process was forked after a
            model had been loaded.
    """
    claim_process()
    if model.files.is_static:
        return StaticEngine(model.files)
    if engine == "torch" or precision not in OF_OPENVINO or (device or "cpu") != "cpu":
        return TorchEngine(model.whole(), device, precision)
    units = precision == "fp32" or computes_in(precision)
    lacking = "" if units else f"this processor does not support {precision}"
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
                f"cannot store the converted model in '{cache_home()}' "
                f"({error.strerror or error}). Set SEEWHY_CACHE to another folder"
            )
        except (ModelError, RuntimeError) as error:
            folder = quoted(entry_folder(*model.files.hashes))
            reason = f"{first_line(error).rstrip('.')}. To retry, delete the folder {folder}"
            failed = isinstance(error, ModelError) and not is_of_memory(error)
    if engine == "openvino":
        raise ModelError(
            f"OpenVINO cannot run '{model.files.name}': {reason}. Leave the engine out, or choose 'torch'."
        )
    # Raises ModelError if the model itself is at fault.
    fallback = TorchEngine(model.whole(), "cpu", precision)
    if failed:
        remember_failure(model.files, reason)
    fallback.instead = f"instead of OpenVINO: {reason}"
    return fallback


def _openvino(model: KnownModel, precision: Precision) -> Engine:
    """Load a converted model, after converting it if needed. On failure, verify the cache entry and try once more.

    Raises:
        ModelError: it cannot be converted.
        RuntimeError: OpenVINO cannot run the converted model.
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
    """Return True unless this machine certainly has no GPU or no PyTorch. This is quick: PyTorch is not loaded."""
    if find_spec("torch") is None:
        return False
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return shutil.which("nvidia-smi") is not None
