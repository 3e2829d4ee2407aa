"""Batches of token ids -> hidden states, by transformers and PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding.models import ModelFiles
from search.encoding.tokenizer import Encoded
from search.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Hidden:
    """Output of one batch.

    Attributes:
        layers: layer number to (b, t, d) float32; 0 is the embedding layer.
        mask: (b, t) int64, 1 for a token and 0 for padding.
        pooler: (b, d) float32, or None when the model has no trained pooler.
    """

    layers: dict[int, NDArray[np.float32]]
    mask: NDArray[np.int64]
    pooler: NDArray[np.float32] | None


class TorchEngine:
    """A BERT-like encoder in memory, in float32, on one device.

    Args:
        device: "cpu", "cuda", "cuda:1", "mps"; None takes a GPU where there is one.
    """

    name = "torch"

    def __init__(self, files: ModelFiles, device: str | None = None) -> None:
        import torch

        self._torch = torch
        self.device = device or _best_device()
        self._model, missing = _load(files)
        self.has_pooler = getattr(self._model, "pooler", None) is not None and not any(
            key.startswith("pooler.") for key in missing
        )
        if lost := sorted(key for key in missing if not key.startswith("pooler.")):
            raise ModelError(
                f"the model '{files.name}' is incomplete: no weights for {', '.join(lost[:3])}"
                f"{' ...' if len(lost) > 3 else ''}."
            )
        self._model.to(self.device).eval()
        self._takes_types = "token_type_ids" in inspect.signature(self._model.forward).parameters
        self._pad = int(files.config.get("pad_token_id") or 0)
        self.n_layers = int(self._model.config.num_hidden_layers)
        self.dimension = int(self._model.config.hidden_size)

    def run(self, batch: Sequence[Encoded], layers: Sequence[int]) -> Hidden:
        """Hidden states of the asked layers (0 .. n_layers) for a batch of texts."""
        torch = self._torch
        longest = max(len(text.ids) for text in batch)
        ids = np.full((len(batch), longest), self._pad, dtype=np.int64)
        types = np.zeros_like(ids)
        mask = np.zeros_like(ids)
        for row, text in enumerate(batch):
            ids[row, : len(text.ids)] = text.ids
            types[row, : len(text.types)] = text.types
            mask[row, : len(text.ids)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask} | (
            {"token_type_ids": types} if self._takes_types else {}
        )
        last_only = list(layers) == [self.n_layers]
        with torch.inference_mode():
            output = self._model(
                **{name: torch.from_numpy(value).to(self.device) for name, value in inputs.items()},
                output_hidden_states=not last_only,
            )
        states = {self.n_layers: output.last_hidden_state} if last_only else output.hidden_states
        pooler = output.pooler_output if self.has_pooler else None
        return Hidden(
            layers={layer: states[layer].float().cpu().numpy() for layer in layers},
            mask=mask,
            pooler=None if pooler is None else pooler.float().cpu().numpy(),
        )


def _best_device() -> str:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _load(files: ModelFiles) -> tuple[Any, set[str]]:
    """The model and the names of parameters that its file does not hold."""
    import torch
    from transformers import AutoModel
    from transformers.utils import logging

    showed_progress = logging.is_progress_bar_enabled()
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        model, info = AutoModel.from_pretrained(
            str(files.folder),
            dtype=torch.float32,
            attn_implementation="sdpa",
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"the model '{files.name}' in {files.folder} cannot be loaded: {reason}") from error
    finally:
        logging.set_verbosity(verbosity)
        if showed_progress:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
    if getattr(model.config, "is_decoder", False) or getattr(model.config, "is_encoder_decoder", False):
        raise ModelError(
            f"'{files.name}' is a {model.config.model_type} model, which is no encoder. "
            "Choose a BERT-like encoder or a sentence-transformers model."
        )
    return model, set(info["missing_keys"])
