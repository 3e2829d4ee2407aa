"""A transformers model -> the same model as OpenVINO reads it, checked before it is used.

This is the only place where both PyTorch and OpenVINO are loaded, once for each model on a machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding.loading import quiet
from search.encoding.torch_engine import TorchEngine
from search.errors import ModelError, first_line

if TYPE_CHECKING:
    from search.encoding.description import KnownModel

_TOLERANCE = 1e-4  # between unit-length token vectors of the two; rounding is about 1e-6


def convert(known: KnownModel, folder: Path) -> None:
    """Write `encoder.xml` and `encoder.bin` to a folder.

    The outputs are the hidden states of every layer, 0 to n, and the pooler's where the model has one.

    Raises:
        ModelError: OpenVINO cannot convert the model, or computes something else with it.
    """
    engine = TorchEngine(known, "cpu")
    module, example = _traceable(engine)
    try:
        model = _openvino_convert(module, example)
        from openvino import save_model

        save_model(model, folder / "encoder.xml", compress_to_fp16=False)
    except Exception as error:  # of the model's own code, run by the tracer
        name = known.files.name
        raise ModelError(f"'{name}' cannot be converted for OpenVINO: {first_line(error)}") from error
    _check(engine, known, folder)


def _traceable(engine: TorchEngine) -> tuple[Any, dict[str, Any]]:
    """A module with a plain signature, and an example with real padding so that the mask is not folded away."""
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
    # OpenVINO's conversion tool reports its use over the network where its telemetry package is
    # installed; without that package it has a stub for it. This program calls nobody.
    telemetry = sys.modules.get("openvino_telemetry")
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    if sys.modules.get("openvino.tools.ovc", ...) is None:  # set by the engine, to start quicker
        del sys.modules["openvino.tools.ovc"]
    try:
        from openvino.tools.ovc import convert_model

        with quiet():  # the tracer remarks on constants in the model's code
            return convert_model(module, example_input=example)
    finally:
        if telemetry is None:
            del sys.modules["openvino_telemetry"]
        else:
            sys.modules["openvino_telemetry"] = telemetry


def _check(engine: TorchEngine, known: KnownModel, folder: Path) -> None:
    """Compare with PyTorch on texts of unlike length, so that mask, padding and positions count."""
    import numpy as np

    from search.encoding.openvino_engine import OpenVINOEngine
    from search.encoding.tokenizer import Encoded

    files, description = known.files, known.description
    most = min(description.max_tokens, 40)
    vocabulary = int(files.config.get("vocab_size") or 100)
    random = np.random.default_rng(0)
    batch = []
    for length in (most, 3, most // 2):
        ids = random.integers(min(5, vocabulary - 1), vocabulary, length).tolist()
        batch.append(Encoded(ids, [0] * length))
    converted = OpenVINOEngine(folder, known, cached=False)
    layers = list(range(description.layers + 1))
    (mine,), (reference,) = list(converted.run([batch], layers)), list(engine.run([batch], layers))
    for layer in layers:
        scale = np.abs(reference.layers[layer]).max()
        for row, text in enumerate(batch):
            n = len(text.ids)
            if not scale > 0 or not np.isfinite(scale):
                what = "zeros" if scale == 0 else "NaN or infinity"
                raise ModelError(f"'{files.name}' returns {what}: its weights are damaged.")
            off = np.abs(mine.layers[layer][row, :n] - reference.layers[layer][row, :n]).max() / scale
            if not off < _TOLERANCE:
                raise ModelError(
                    f"OpenVINO computes something else with '{files.name}' than PyTorch does "
                    f"(layer {layer}, off by {off:.1e})."
                )
