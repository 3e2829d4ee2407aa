"""Batches of token ids -> hidden states, by OpenVINO; needs neither PyTorch nor transformers.

Arithmetic is float32 on every machine, said explicitly: where a processor has bfloat16 units OpenVINO
would use them, and scores would depend on the machine.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding.engine import Hidden, padded
from search.encoding.tokenizer import Encoded

if TYPE_CHECKING:
    from search.encoding.description import KnownModel


class OpenVINOEngine:
    """A converted model, compiled for this machine.

    Args:
        folder: holds encoder.xml and encoder.bin.
        cached: keep what was compiled in `folder`, so that the next process starts quicker.
    """

    name = "openvino"
    device = "cpu"
    batch_tokens = 1024
    instead = ""

    def __init__(self, folder: Path, known: KnownModel, *, cached: bool = True) -> None:
        self.n_layers, self.has_pooler = known.description.layers, known.description.has_pooler
        self._lock = threading.Lock()  # the requests below are shared by all threads
        self._pad = int(known.files.config.get("pad_token_id") or 0)
        ov = _openvino()
        streams = _usable_cores()
        config: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "THROUGHPUT",
            "NUM_STREAMS": str(streams),
            # Kernels are kept for each shape of batch; the default keeps so many that memory grows on and on.
            "CPU_RUNTIME_CACHE_CAPACITY": "64",
        }
        if cached:
            config["CACHE_DIR"] = str(folder / "compiled")
        self._compiled = ov.Core().compile_model(str(folder / "encoder.xml"), "CPU", config)
        self._takes_types = len(self._compiled.inputs) == 3
        # One more than streams: while one result is looked at, every stream has work.
        self._requests = [self._compiled.create_infer_request() for _ in range(streams + 1)]
        _outlive_forks(self)

    def run(self, batches: Iterable[Sequence[Encoded]], layers: Sequence[int]) -> Iterator[Hidden]:
        """Hidden states of the asked layers for each batch, in order.

        A result is a view into the engine's memory: use it before asking for the next.
        """
        with self._lock:
            free = deque(self._requests)
            running: deque[tuple[Any, Any]] = deque()
            try:
                for batch in batches:
                    if not free:
                        yield self._result(*running[0], layers)
                        free.append(running.popleft()[0])
                    request = free.popleft()
                    ids, types, mask = padded(batch, self._pad)
                    inputs = [ids, mask, types] if self._takes_types else [ids, mask]
                    running.append((request, (ids, types, mask)))
                    request.start_async(dict(enumerate(inputs)), share_inputs=True)
                while running:
                    yield self._result(*running[0], layers)
                    running.popleft()
            finally:  # after an error or Ctrl-C, too, nothing may still be computing
                for request, _ in running:
                    request.wait()

    def _result(self, request: Any, inputs: Any, layers: Sequence[int]) -> Hidden:
        request.wait()
        return Hidden(
            layers={layer: request.get_output_tensor(layer).data for layer in layers},
            mask=inputs[2],
            pooler=request.get_output_tensor(self.n_layers + 1).data if self.has_pooler else None,
        )


_engines: weakref.WeakSet[OpenVINOEngine] = weakref.WeakSet()


def _outlive_forks(engine: OpenVINOEngine) -> None:
    """See to it that a forked child never frees an engine: it would wait for threads that it does not have.

    So a child could not even end. It shares the memory with its parent, so keeping it costs nothing.
    """
    _engines.add(engine)


def _keep_for_ever() -> None:
    for engine in _engines:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_for_ever)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def _openvino() -> Any:
    """The module `openvino`, imported without its conversion tool, which takes most of the time."""
    if "openvino" not in sys.modules:
        sys.modules.setdefault("openvino.tools.ovc", None)  # type: ignore[arg-type]
    import openvino

    return openvino
