"""Choice of the tracer: NumPy for static models and those of the BERT family that OpenVINO runs, else PyTorch."""

from __future__ import annotations

from importlib.util import find_spec

from search.encoding import Encoder
from search.encoding.function import FunctionEncoder
from search.encoding.loading import cached_models
from search.encoding.openvino_engine import OpenVINOEngine
from search.encoding.static import StaticEngine
from search.explaining.traced import RoutedTracer, Tracer, WholeTextTracer
from search.explaining.traced_numpy import NumpyTracer, StaticTracer


def can_trace(encoder: Encoder) -> bool:
    """Return True if scores of an encoder can be explained with the installed packages."""
    if find_spec("torch") is not None or isinstance(encoder, FunctionEncoder) or encoder.files.is_static:
        return True
    return _engine_with_parameters(encoder) is not None


@cached_models
def tracer(encoder: Encoder) -> Tracer:
    """Return the tracer of an encoder; the last three are cached.

    Raises:
        ModelError: PyTorch is needed and is not installed.
    """
    if isinstance(encoder, FunctionEncoder):
        return WholeTextTracer(encoder)
    if encoder.of_queries:
        return RoutedTracer(_of_modules(encoder), _of_modules(encoder.of_queries), encoder.n_layers)
    return _of_modules(encoder)


def _of_modules(encoder: Encoder) -> Tracer:
    """Return the tracer of the encoder's own modules, whatever queries have."""
    if isinstance(encoder.engine, StaticEngine):
        return StaticTracer(encoder, encoder.engine)
    if engine := _engine_with_parameters(encoder):
        return NumpyTracer(encoder, engine)
    from search.explaining.traced_torch import TorchTracer

    return TorchTracer(encoder)


def _engine_with_parameters(encoder: Encoder) -> OpenVINOEngine | None:
    """Return the encoder's engine if it is OpenVINO, with a model whose parameters NumPy can use."""
    engine = encoder.engine
    return engine if isinstance(engine, OpenVINOEngine) and engine.has_parameters else None
