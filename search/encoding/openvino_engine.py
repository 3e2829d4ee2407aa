"""OpenVINO engine: converts a transformers model, and computes hidden states with the converted model.

A model is converted once per machine; this loads PyTorch and OpenVINO, and compares their results. Running the
converted model needs neither PyTorch nor transformers. The precision is always set explicitly: by default OpenVINO uses
bfloat16 on processors that support it, and scores would depend on the machine.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from search.encoding.cache import require_intact
from search.encoding.description import KnownModel
from search.encoding.engine import OF_OPENVINO, Hidden, padded
from search.encoding.loading import quiet
from search.encoding.parameters import PLACES, align_constants, write_parameters
from search.encoding.tokenizer import Encoded
from search.encoding.torch_engine import TorchEngine
from search.errors import ModelError, first_line, is_of_memory
from search.files import PRIVATE_FILE, write_whole
from search.records.options import Precision


class OpenVINOEngine:
    """A converted model, compiled for this machine.

    Args:
        folder: folder with encoder.xml and encoder.bin.
        precision: precision of the arithmetic, "fp32" or "bf16". Hidden states are returned as float32.
        cached: True if `folder` is a cache entry, where the compiled model is stored for the next process.

    Attributes:
        folder: folder of the converted model.
        has_parameters: True if it also contains parameters, see `search.encoding.parameters`.

    Raises:
        RuntimeError: OpenVINO cannot load the model.
        OSError, ValueError: a file is missing or damaged.
    """

    name = "openvino"
    device = "cpu"
    batch_tokens = 1024
    instead = ""

    def __init__(
        self, folder: Path, model: KnownModel, precision: Precision = "fp32", *, cached: bool = True
    ) -> None:
        self.n_layers, self.has_pooler = model.description.layers, model.description.has_pooler
        self.folder, self.has_parameters = folder, (folder / PLACES).is_file()
        self._lock = threading.Lock()  # the requests below are shared by all threads
        self._pad = int(model.files.config.get("pad_token_id") or 0)
        streams = threads()
        config: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": OF_OPENVINO[precision],
            "PERFORMANCE_HINT": "THROUGHPUT",
            "NUM_STREAMS": str(streams),
            # Number of batch shapes whose kernels are cached; with the default, memory grows and grows.
            "CPU_RUNTIME_CACHE_CAPACITY": "64",
        }
        if streams < usable_cores():
            config["INFERENCE_NUM_THREADS"] = str(streams)
        self._compiled, mapped = _load(folder, config) if cached else (_compile(folder, config), None)
        self._takes_types = len(self._compiled.inputs) == 3
        # One more than streams, so that every stream has work while the caller uses a result.
        self._requests = [self._compiled.create_infer_request() for _ in range(streams + 1)]
        self._mapped: Any = mapped  # after the requests, which are freed first
        _engines.add(self)

    def run(self, batches: Iterable[Sequence[Encoded]], layers: Sequence[int]) -> Iterator[Hidden]:
        """Yield the hidden states of `layers` for each batch, in order.

        A result is a view of the engine's memory: use it before asking for the next.
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
            finally:  # also after an error or Ctrl-C: wait until nothing is computed any more
                for request, _ in running:
                    request.wait()

    def _result(self, request: Any, inputs: Any, layers: Sequence[int]) -> Hidden:
        request.wait()
        return Hidden(
            layers={layer: request.get_output_tensor(layer).data for layer in layers},
            mask=inputs[2],
            pooler=request.get_output_tensor(self.n_layers + 1).data if self.has_pooler else None,
        )


def _compile(folder: Path, config: dict[str, Any]) -> Any:
    return _openvino().Core().compile_model(str(folder / "encoder.xml"), "CPU", config)


def _load(folder: Path, config: dict[str, Any]) -> tuple[Any, Any]:
    """Return a compiled model, and the memory-mapped file that it reads from.

    The compiled model is stored in a blob file: OpenVINO's export followed by a checksum. If the blob is missing,
    damaged or refused by OpenVINO, a new file is written and renamed to it, so that processes that start together do
    not disturb each other.
    """
    ov = _openvino()
    core = ov.Core()
    processor = [
        core.get_property("CPU", name) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")
    ]
    key = repr((ov.__version__, processor, config["INFERENCE_PRECISION_HINT"]))
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.blob"
    with suppress(OSError, ValueError, RuntimeError):
        mapped = np.memmap(file, np.uint8, "c")  # OpenVINO rejects read-only arrays
        if _checksum(mapped[:-4], folder) == bytes(mapped[-4:]):
            return core.import_model(ov.Tensor(mapped[:-4], shared_memory=True), "CPU", config), mapped
    require_intact(folder)
    compiled = _compile(folder, config)
    with suppress(OSError, RuntimeError):
        exported = compiled.export_model()
        exported.seek(0, os.SEEK_END)
        exported.write(_checksum(exported.getbuffer(), folder))
        write_whole(file, exported.getbuffer(), PRIVATE_FILE)
    return compiled, None


def _checksum(blob: Any, folder: Path) -> bytes:
    return crc32(blob, crc32(folder.name.encode())).to_bytes(4, "little")


def computes_in(precision: str) -> bool:
    """Return True if OpenVINO supports a precision on this processor."""
    capabilities = _openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return precision.upper() in capabilities


_engines: weakref.WeakSet[OpenVINOEngine] = weakref.WeakSet()


def _keep_for_ever() -> None:
    """Prevent forked child processes from freeing engines: they would wait forever for threads of the parent."""
    for engine in _engines:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_for_ever)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def threads() -> int:
    """Return the number of threads to compute with: usable cores, limited by OMP_NUM_THREADS as in other libraries."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return min(usable_cores(), int(setting)) if setting.isdecimal() and int(setting) else usable_cores()


def _openvino() -> Any:
    """Import `openvino` without its conversion tool, which takes most of the import time."""
    if "openvino" not in sys.modules:
        sys.modules.setdefault("openvino.tools.ovc", None)  # type: ignore[arg-type]
    import openvino

    return openvino


# Difference between unit-length token vectors of both engines; rounding is about 1e-6.
_TOLERANCE = 1e-4
_CHECKED_TOKENS = 256  # of the longest text in a check
_MOST_CHECKED = 2048  # whatever the window, as the states of all layers are compared


def convert(source: KnownModel, folder: Path) -> list[str]:
    """Write `encoder.xml` and `encoder.bin` to a folder, and its parameters if it is of the BERT family.

    The outputs are the hidden states of every layer, 0 to n, and of the pooler if the model has one.

    Returns:
        Names of the files with parameters.

    Raises:
        ModelError: OpenVINO cannot convert the model, or its results differ from PyTorch's.
        OSError: the files cannot be written.
    """
    try:
        engine = TorchEngine(source, "cpu")
        _convert(engine, source, folder)
    except ModelError:
        # PyTorch's fused attention gives zeros for a token of padding that attends to nothing; OpenVINO gives NaN.
        engine = TorchEngine(source, "cpu", attention="eager")
        _convert(engine, source, folder)
    return write_parameters(engine.model, folder)


def _convert(engine: TorchEngine, source: KnownModel, folder: Path) -> None:
    """Convert the model of an engine, and compare the results.

    Raises:
        ModelError, OSError: as for `convert`.
    """
    module, example = _traceable(engine)
    try:
        model = _openvino_convert(module, example)
    except OSError:
        raise
    except Exception as error:  # the tracer runs the model's own code
        if is_of_memory(error):
            raise MemoryError from error
        raise ModelError(
            f"cannot convert '{source.files.name}' for OpenVINO: {first_line(error)}"
        ) from error
    from openvino import save_model

    try:
        save_model(model, folder / "encoder.xml", compress_to_fp16=False)
        align_constants(folder)
    except RuntimeError as error:  # a full disk, for instance
        raise OSError(first_line(error)) from error
    _check(engine, OpenVINOEngine(folder, source, cached=False), source)


def _traceable(engine: TorchEngine) -> tuple[Any, dict[str, Any]]:
    """Return a module with positional arguments, and an example input.

    The example has padding, so that the converted model keeps the attention mask.
    """
    import torch

    has_pooler, takes_types = engine.has_pooler, engine.takes_types

    class Outputs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = engine.model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
            if takes_types:
                inputs["token_type_ids"] = token_type_ids
            output = self.model(**inputs, output_hidden_states=True)
            states = (*output.hidden_states[:-1], output.last_hidden_state)
            return (*states, output.pooler_output) if has_pooler else states

    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 7:] = 0
    example = {"input_ids": torch.arange(24).reshape(2, 12) % 5 + 5, "attention_mask": mask}
    example["input_ids"][mask == 0] = engine.pad
    if takes_types:
        example["token_type_ids"] = torch.zeros_like(mask)
    return Outputs().eval(), example


def _openvino_convert(module: Any, example: dict[str, Any]) -> Any:
    # OpenVINO's conversion tool sends usage reports if its telemetry package is installed. That package is hidden
    # during the import, so nothing is sent.
    telemetry = sys.modules.get("openvino_telemetry")
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    for name in [name for name in sys.modules if name.startswith("openvino.tools.ovc")]:
        del sys.modules[name]
    try:
        from openvino.tools.ovc import convert_model

        with quiet():  # the tracer warns about constants in the model's code
            return convert_model(module, example_input=example)
    finally:
        if telemetry is None:
            del sys.modules["openvino_telemetry"]
        else:
            sys.modules["openvino_telemetry"] = telemetry


def _window(config: Mapping[str, Any]) -> int:
    """Return the number of tokens in the window of a model's local attention; 0 if all tokens attend to all others."""
    if config.get("use_sliding_window") is False:
        return 0
    named = (config.get(name) or 0 for name in ("local_attention", "sliding_window", "attention_window"))
    return max(max(window) if isinstance(window, list) else int(window) for window in named)


def _check(engine: TorchEngine, converted: OpenVINOEngine, model: KnownModel) -> None:
    """Raise ModelError if the converted model's results differ from PyTorch's.

    The texts have different lengths, to test mask, padding and positions. The longest is more than twice as long as the
    window of a model with local attention, so that in the shortest, some tokens of padding attend to nothing.
    """
    files, description = model.files, model.description
    most = min(description.positions, _MOST_CHECKED, max(_CHECKED_TOKENS, 2 * _window(files.config) + 16))
    vocabulary = int(files.config.get("vocab_size") or 100)
    random = np.random.default_rng(0)
    batch = []
    for length in (most, 3, most // 2):
        ids = random.integers(min(5, vocabulary - 1), vocabulary, length).tolist()
        batch.append(Encoded(ids, [0] * length))
    layers = list(range(description.layers + 1))
    (hidden,) = converted.run([batch], layers)
    (reference,) = engine.run([batch], layers)
    real = reference.mask.astype(bool)
    for layer in layers:
        expected = reference.layers[layer][real]
        off = np.abs(hidden.layers[layer][real] - expected).max() / np.abs(expected).max()
        if not off < _TOLERANCE:
            raise ModelError(
                f"OpenVINO and PyTorch disagree on '{files.name}' (by {off:.1e} in layer {layer})."
            )
