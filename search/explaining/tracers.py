"""Choice of the tracer: NumPy for models of the BERT family that OpenVINO runs, otherwise PyTorch."""

from __future__ import annotations

from importlib.util import find_spec

from search.encoding import Encoder
from search.encoding.function import FunctionEncoder
from search.encoding.loading import cached_models
from search.encoding.openvino_engine import OpenVINOEngine
from search.explaining.traced import Tracer, WholeTextTracer
from search.explaining.traced_numpy import NumpyTracer


def can_trace(encoder: Encoder) -> bool:
    """Return True if scores of an encoder can be explained with the installed packages."""
    in_numpy = isinstance(encoder, FunctionEncoder) or _engine_with_parameters(encoder) is not None
    return in_numpy or find_spec("torch") is not None


@cached_models
def tracer(encoder: Encoder) -> Tracer:
    """Return the tracer of an encoder; the last three are cached.

    Raises:
        ModelError: PyTorch is needed and is not installed.
    """
    if isinstance(encoder, FunctionEncoder):
        return WholeTextTracer(encoder)
    if engine := _engine_with_parameters(encoder):
        return NumpyTracer(encoder, engine)
    from search.explaining.traced_torch import TorchTracer

    return TorchTracer(encoder)


def _engine_with_parameters(encoder: Encoder) -> OpenVINOEngine | None:
    """Return the encoder's engine if it is OpenVINO, with a model whose parameters NumPy can use."""
    engine = encoder.engine
    return engine if isinstance(engine, OpenVINOEngine) and engine.has_parameters else None
