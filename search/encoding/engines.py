"""Which engine encodes: OpenVINO on a processor, PyTorch on a GPU and where OpenVINO cannot."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from typing import TYPE_CHECKING

from search.encoding.cache import add, cached_model
from search.encoding.engine import Engine
from search.errors import InputError, ModelError

if TYPE_CHECKING:
    from search.encoding.models import ModelFiles

ENGINES = ("auto", "openvino", "torch")


def check_engine(engine: str) -> str:
    """Return `engine` if it is one of ENGINES, or raise InputError."""
    if engine not in ENGINES:
        raise InputError(f"engine '{engine}' is not known. Choose one of: {', '.join(ENGINES)}.")
    return engine


def open_engine(
    files: ModelFiles, engine: str = "auto", device: str | None = None, many: bool = True
) -> Engine:
    """Load a model.

    Args:
        engine: "auto" takes PyTorch where there is a GPU and many texts are to be encoded, OpenVINO
            otherwise, and PyTorch if OpenVINO cannot run the model.
        device: of PyTorch; naming one other than "cpu" implies PyTorch.
        many: whether loading PyTorch could pay.

    Raises:
        ModelError: the model cannot be loaded, or not by the engine that was asked for.
    """
    from search.encoding.torch_engine import TorchEngine, best_device

    if engine == "torch" or (device or "cpu") != "cpu":
        return TorchEngine(files, device)
    if engine == "auto" and many and device is None and _may_have_gpu() and best_device() != "cpu":
        return TorchEngine(files)
    if importlib.util.find_spec("openvino") is None:
        if engine == "openvino":
            raise ModelError("the engine 'openvino' needs the package openvino: pip install openvino")
        return TorchEngine(files, "cpu")
    from search.encoding.openvino_engine import OpenVINOEngine

    entry = cached_model(files.weights_sha256, files.tokenizer_sha256, files.config_sha256)
    try:
        if entry is None:
            from search.encoding.convert import convert

            entry = add(files, lambda folder: convert(files, folder))
        return OpenVINOEngine(entry.folder, entry.files, entry.n_layers, entry.has_pooler)
    except (ModelError, RuntimeError):
        if engine == "openvino":
            raise
        return TorchEngine(files, "cpu")


def _may_have_gpu() -> bool:
    """A quick look, so that machines without one never load PyTorch to find out."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return shutil.which("nvidia-smi") is not None
