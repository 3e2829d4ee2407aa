"""How much a model reads and how long its vectors are, and whether what was asked for fits that."""

from __future__ import annotations

from search.encoding.models import ModelFiles
from search.errors import InputError, ModelError

_LAYERS = ("num_hidden_layers", "n_layers", "n_layer")
_WIDTH = ("hidden_size", "dim", "n_embd")


def layer_count(files: ModelFiles) -> int:
    """Encoder layers, by the configuration."""
    return _size(files, _LAYERS)


def hidden_size(files: ModelFiles) -> int:
    """Length of a token vector, by the configuration."""
    return _size(files, _WIDTH)


def check_max_tokens(asked: int | None, files: ModelFiles) -> int:
    """Most tokens of one text: what was asked for, or the model's own limit.

    Raises:
        InputError: the model has not so many positions, or nothing would fit beside [CLS] and [SEP].
    """
    if asked is None:
        return files.max_tokens
    most = int(files.config.get("max_position_embeddings") or 512)
    if not 3 <= asked <= most:
        raise InputError(f"max_tokens is {asked}, but '{files.name}' reads between 3 and {most} tokens.")
    return asked


def check_dim(asked: int | None, whole: int, name: str) -> int | None:
    """How many dimensions are kept, None for all, or InputError if there are not so many."""
    if asked is not None and not 1 <= asked <= whole:
        raise InputError(f"dim is {asked}, but embeddings of '{name}' have {whole} dimensions.")
    return asked


def _size(files: ModelFiles, names: tuple[str, ...]) -> int:
    """A number of the configuration that goes by several names."""
    for name in names:
        if files.config.get(name):
            return int(files.config[name])
    raise ModelError(f"the config.json of '{files.name}' names no {names[0]}: it is no BERT-like encoder.")
