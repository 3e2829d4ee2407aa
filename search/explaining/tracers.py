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
    engine = None if isinstance(encoder, FunctionEncoder) else encoder.engine
    in_numpy = isinstance(engine, OpenVINOEngine) and engine.has_parameters
    return engine is None or in_numpy or find_spec("torch") is not None


@cached_models
def tracer(encoder: Encoder) -> Tracer:
    """Return the tracer of an encoder; the last three are cached.

    Raises:
        ModelError: PyTorch is needed and is not installed.
    """
    if isinstance(encoder, FunctionEncoder):
        return WholeTextTracer(encoder)
    engine = encoder.engine
    if isinstance(engine, OpenVINOEngine) and engine.has_parameters:
        return NumpyTracer(encoder, engine)
    from search.explaining.traced_torch import TorchTracer

    return TorchTracer(encoder)
