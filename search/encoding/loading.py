"""Load models in PyTorch: encoders with sentence-transformers, models with a task head with transformers.

Only safetensors files on this machine are read. Code that comes with a model never runs.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from search.encoding.models import ModelFiles, optional_json, way_left
from search.errors import ModelError, first_line

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

P = ParamSpec("P")
Loaded = TypeVar("Loaded")

# Indexes may have different models.
_CACHED_MODELS = 3
_ALONE = threading.RLock()


def alone(load: Callable[P, Loaded]) -> Callable[P, Loaded]:
    """Wrap a function that imports transformers, so that no two such functions run at the same time.

    The lazy imports and global settings of transformers are not thread-safe. The function must not wait for another
    lock.
    """

    @wraps(load)
    def one_at_a_time(*args: P.args, **options: P.kwargs) -> Loaded:
        with _ALONE:
            return load(*args, **options)

    return one_at_a_time


def cached_models(load: Callable[P, Loaded]) -> Callable[P, Loaded]:
    """Cache the last three results of a function; threads that ask for the same result wait for one call."""
    cached = lru_cache(maxsize=_CACHED_MODELS)(load)
    lock = threading.RLock()

    @wraps(load)
    def loaded(*args: P.args, **options: P.kwargs) -> Loaded:
        with lock:
            return cached(*args, **options)  # type: ignore[arg-type]

    return loaded


@alone
def load_encoder(
    files: ModelFiles, precision: str = "float32", attention: str | None = None
) -> SentenceTransformer:
    """Load an encoder with all its modules on the CPU; modules after the transformer compute in float32.

    `max_seq_length` is limited to the number of positions, whatever the configuration says.

    Args:
        precision: PyTorch's name for the precision of the transformer.
        attention: transformers' name for an implementation of attention. None takes transformers' own choice: no
            third-party kernels, even if the model's files name some.

    Raises:
        ModelError: the model does not read text, needs code of its own, or sentence-transformers cannot load it.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    _require_known_type(files)
    with loading(files):
        model = SentenceTransformer(
            str(files.folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={
                "dtype": getattr(torch, precision),
                "use_safetensors": True,
                "attn_implementation": attention,
            },
        )
        if files.route:
            model = _of_route(model, files.route)
        if model[0].transformer_task != "feature-extraction":
            raise ModelError(
                f"'{files.name}' was built for {model[0].transformer_task}, not for embeddings. Choose another."
            )
        if hasattr(model[0].auto_model, "decoder") or "text" not in model[0].modalities:
            raise ModelError(
                f"'{files.name}' is of type '{files.config.get('model_type')}', which does not embed text. Choose "
                "another model."
            )
        for module in list(model)[1:]:
            module.float()
        limit, fits = model.max_seq_length, positions(model[0].auto_model)
        model.max_seq_length = fits if limit is None else min(int(limit), fits)
    return model.eval()


def _require_known_type(files: ModelFiles) -> None:
    """Raise ModelError if transformers has no code for a type of model: its files may bring some, which never runs."""
    from transformers import CONFIG_MAPPING

    kind = files.config.get("model_type")
    if kind in CONFIG_MAPPING:
        return
    if "auto_map" in files.config:
        problem = f"needs code of its own, as transformers has none for the type '{kind}'; seewhy runs no such code"
    else:
        problem = f"is of type '{kind}', which transformers does not know"
    raise ModelError(f"'{files.name}' {problem}. {way_left(files.name)}")


def _of_route(model: SentenceTransformer, route: str) -> SentenceTransformer:
    """Return the modules that a Router runs for a route, and those after it, as a model of their own."""
    from sentence_transformers import SentenceTransformer

    first, *others = model
    return SentenceTransformer(
        modules=[*first.sub_modules[route], *others],
        device="cpu",
        prompts=model.prompts,
        truncate_dim=model.truncate_dim,
        similarity_fn_name=model.similarity_fn_name,
    )


@alone
def load_transformer(
    files: ModelFiles, task: str = "AutoModel", **options: Any
) -> tuple[Any, tuple[str, ...]]:
    """Load a transformers model in float32; return it and the names of missing weights.

    Args:
        task: name of transformers' class for the model: "AutoModel" for the encoder alone, "AutoModelForMaskedLM", ...

    Raises:
        ModelError: transformers cannot load the model.
    """
    import torch
    import transformers

    with loading(files):
        model, report = getattr(transformers, task).from_pretrained(
            str(files.inputs_folder),
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
    return model.eval(), tuple(sorted(report["missing_keys"]))


def require_whole(files: ModelFiles, missing: tuple[str, ...]) -> None:
    """Raise ModelError if weights of the encoder are missing; missing weights of the pooler are allowed."""
    if lost := [key for key in missing if not key.startswith("pooler.")]:
        raise ModelError(f"the model '{files.name}' is incomplete: no weights for {', '.join(lost[:3])}.")


def positions(model: Any) -> int:
    """Return the number of positions, special tokens included.

    RoBERTa models number positions from the padding ID + 1, so the rows before that cannot be used.
    """
    import torch

    for module in model.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, torch.nn.Embedding):
            return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    return int(getattr(model.config, "max_position_embeddings", None) or 512)


def token_limit(files: ModelFiles, model: Any) -> int:
    """Return the maximum number of tokens of an input, from the positions and the tokenizer's configuration."""
    limit = optional_json(files.inputs_folder / "tokenizer_config.json", files.name).get(
        "model_max_length"
    )
    return min(positions(model), int(limit)) if limit else positions(model)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars and warnings of the libraries."""
    from transformers.utils import logging as of_transformers

    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels, bars = [logger.level for logger in loggers], of_transformers.is_progress_bar_enabled()
    of_transformers.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            of_transformers.enable_progress_bar()


@contextmanager
def loading(files: ModelFiles) -> Iterator[None]:
    """Convert every error of the loading libraries to ModelError, within a `with` block."""
    try:
        with quiet():
            yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"cannot load the model '{files.name}' from {files.folder}: {first_line(error)}"
        ) from error
