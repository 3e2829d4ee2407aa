"""Batches of token ids -> hidden states, by transformers and PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from search.encoding.engine import Hidden, padded
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import Encoded
from search.errors import InputError, ModelError

_TORCH_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class TorchEngine:
    """A BERT-like encoder in memory, on one device.

    Args:
        device: "cpu", "cuda", "cuda:1", "mps"; None takes a GPU where there is one.
        precision: of weights and arithmetic, "fp32", "bf16" or "fp16". Hidden states are handed on as float32.

    Raises:
        InputError: there is no such device here.
        ModelError: the model cannot be loaded, or is incomplete.
    """

    name = "torch"
    instead = ""

    def __init__(self, files: ModelFiles, device: str | None = None, precision: str = "fp32") -> None:
        import torch

        self._torch = torch
        self.device = usable_device(device)
        self.batch_tokens = 2048 if self.device == "cpu" else 16384
        self.model, missing = _load(files, getattr(torch, _TORCH_NAMES[precision]))
        self.has_pooler = getattr(self.model, "pooler", None) is not None and not any(
            key.startswith("pooler.") for key in missing
        )
        if lost := sorted(key for key in missing if not key.startswith("pooler.")):
            raise ModelError(
                f"the model '{files.name}' is incomplete: no weights for {', '.join(lost[:3])}"
                f"{' ...' if len(lost) > 3 else ''}."
            )
        self.model.to(self.device).eval()
        self.takes_types = "token_type_ids" in inspect.signature(self.model.forward).parameters
        self.pad = int(files.config.get("pad_token_id") or 0)
        self.n_layers = int(self.model.config.num_hidden_layers)

    def run(self, batches: Iterable[Sequence[Encoded]], layers: Sequence[int]) -> Iterator[Hidden]:
        """Hidden states of the asked layers for each batch, in order."""
        for batch in batches:
            yield self._run(batch, layers)

    def _run(self, batch: Sequence[Encoded], layers: Sequence[int]) -> Hidden:
        torch = self._torch
        ids, types, mask = padded(batch, self.pad)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.takes_types:
            inputs["token_type_ids"] = types
        last_only = list(layers) == [self.n_layers]
        with torch.inference_mode():
            output = self.model(
                **{name: torch.from_numpy(value).to(self.device) for name, value in inputs.items()},
                output_hidden_states=not last_only,
            )
        # The last entry of hidden_states lacks a final norm in some architectures; this one never does.
        states = (*(output.hidden_states or ())[:-1], output.last_hidden_state)
        pooler = output.pooler_output if self.has_pooler else None
        return Hidden(
            layers={
                layer: states[-1 if layer == self.n_layers else layer].float().cpu().numpy()
                for layer in layers
            },
            mask=mask,
            pooler=None if pooler is None else pooler.float().cpu().numpy(),
        )


def best_device() -> str:
    """The GPU that PyTorch can use, "cpu" where there is none."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def usable_device(name: str | None) -> str:
    """A device that PyTorch can compute on here; None takes a GPU where there is one.

    Raises:
        InputError: there is no such device, or PyTorch was not built for it.
    """
    import torch

    if name is None:
        return best_device()
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(
            f"PyTorch cannot compute on the device '{name}' here: {reason}. Take cpu, or name none."
        ) from None
    return name


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from printing: progress bars and remarks on a model's configuration."""
    from transformers.utils import logging

    showed_progress, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if showed_progress:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _load(files: ModelFiles, dtype: Any) -> tuple[Any, set[str]]:
    """The model and the names of parameters that its file does not hold."""
    from safetensors import SafetensorError
    from transformers import AutoModel
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    kind = files.config.get("model_type")
    if kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or files.config.get("is_encoder_decoder"):
        raise ModelError(
            f"'{files.name}' is a model of type '{kind}', which is no BERT-like encoder. "
            "Choose a BERT-like encoder or a sentence-transformers model."
        )
    try:
        with quiet():
            model, info = AutoModel.from_pretrained(
                str(files.folder),
                dtype=dtype,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"the model '{files.name}' in {files.folder} cannot be loaded: {reason}") from error
    return model, set(info["missing_keys"])
