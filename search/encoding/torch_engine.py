"""PyTorch engine: computes hidden states with sentence-transformers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from search.encoding.description import MIXING, KnownModel
from search.encoding.engine import Hidden, padded
from search.encoding.loading import load_encoder
from search.encoding.pooling import ST_NAMES
from search.encoding.tokenizer import Encoded
from search.errors import InputError, first_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.options import Precision

_TORCH_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class TorchEngine:
    """BERT-like encoder on one device.

    Args:
        device: "cpu", "cuda", "cuda:1", "mps"; None takes a GPU if there is one.
        precision: precision of weights and arithmetic: "fp32", "bf16" or "fp16". Hidden states are returned as float32.
        attention: transformers' name for an implementation of attention; None takes its default.

    Raises:
        InputError: there is no such device on this machine.
        ModelError: the model cannot be loaded.
    """

    name = "torch"
    instead = ""

    def __init__(
        self,
        model: KnownModel,
        device: str | None = None,
        precision: Precision = "fp32",
        attention: str | None = None,
    ) -> None:
        import torch

        self._torch = torch
        self.device = usable_device(device)
        self.batch_tokens = 2048 if self.device == "cpu" else 16384
        usable = model.loaded if precision == "fp32" and attention is None else None
        whole = usable or load_encoder(model.files, _TORCH_NAMES[precision], attention)
        transformer: Any
        transformer, *modules = whole.to(self.device)
        self.model: Any = transformer.auto_model
        mixing = [module for module in modules if type(module).__name__ == MIXING]
        self.modules = [module for module in modules if module not in mixing]
        # sentence-transformers gives them the states of all layers only if the model's files say so.
        self.mixing = mixing if self.model.config.output_hidden_states else []
        self.has_pooler, self.n_layers = model.description.has_pooler, model.description.layers
        self.takes_types = "token_type_ids" in inspect.signature(self.model.forward).parameters
        self.pad = int(model.files.config.get("pad_token_id") or 0)

    def run(self, batches: Iterable[Sequence[Encoded]], layers: Sequence[int]) -> Iterator[Hidden]:
        """Yield the hidden states of `layers` for each batch, in order."""
        torch = self._torch
        last_only = list(layers) == [self.n_layers] and not self.mixing
        for batch in batches:
            ids, types, mask = padded(batch, self.pad)
            inputs = {"input_ids": ids, "attention_mask": mask}
            if self.takes_types:
                inputs["token_type_ids"] = types
            with torch.inference_mode():
                output = self.model(
                    **{name: torch.from_numpy(value).to(self.device) for name, value in inputs.items()},
                    output_hidden_states=not last_only,
                )
                states = self.states(output)
                states[-1] = self.mixed(states)
            chosen = {layer: states[-1 if layer == self.n_layers else layer] for layer in layers}
            yield Hidden(
                layers={layer: state.float().cpu().numpy() for layer, state in chosen.items()},
                mask=mask,
                pooler=output.pooler_output.float().cpu().numpy() if self.has_pooler else None,
            )

    def states(self, output: Any) -> list[Any]:
        """Return the hidden states of all layers from the model's output; only the last if there are no others."""
        # Not the last entry of hidden_states, which lacks the final norm in some architectures.
        return [*(output.hidden_states or ())[:-1], output.last_hidden_state]

    def mixed(self, states: list[Any]) -> Any:
        """Return the token vectors that the next module reads, from the hidden states of all layers.

        They are those of the last layer, unless the model mixes layers.
        """
        mixed = states[-1]
        for module in self.mixing:
            mixed = module({"all_layer_embeddings": tuple(states)})["token_embeddings"]
        return mixed

    def embed(
        self, states: NDArray[np.float32], mask: NDArray[np.int64], skipped: int = 0
    ) -> NDArray[np.float32]:
        """Return embeddings of token vectors, computed by the model's own modules.

        Args:
            states: (b, t, d), of any layer.
            mask: (b, t) 1 for a token, 0 for padding.
            skipped: number of first tokens that are not pooled.
        """
        torch = self._torch
        with torch.inference_mode():
            hidden, real = (torch.from_numpy(array).to(self.device) for array in (states, mask))
            vectors = self.after(hidden, real, skipped=skipped)
        return vectors.cpu().numpy()

    def after(
        self, states: Any, mask: Any, pooling: str = "", pooler: Any = None, skipped: int = 0
    ) -> Any:
        """Return the embeddings of `embed` as tensors that can be differentiated.

        Args:
            pooling: pooling to use instead of the model's own.
            pooler: (b, d) output of the pooler, for the pooling "pooler".
        """
        from sentence_transformers.sentence_transformer.modules import Pooling

        features = {"token_embeddings": states, "attention_mask": mask, "prompt_length": skipped}
        for module in self.modules:
            if isinstance(module, Pooling) and pooler is not None:
                features["sentence_embedding"] = pooler
            elif isinstance(module, Pooling) and pooling in ST_NAMES:
                own = Pooling(module.embedding_dimension, ST_NAMES[pooling], module.include_prompt)
                features = own(features)
            else:
                features = module(features)
        return features["sentence_embedding"]


def best_device() -> str:
    """Return the GPU that PyTorch can use, or "cpu"."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def usable_device(name: str | None) -> str:
    """Return a device after testing that PyTorch can use it; None takes a GPU if there is one.

    Raises:
        InputError: there is no such device, or PyTorch was built without support for it.
    """
    import torch

    if name is None:
        return best_device()
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = first_line(error).rstrip(".")
        raise InputError(
            f"PyTorch cannot use the device '{name}': {reason}. Use cpu, or leave the device out."
        ) from None
    return name
