"""What a model is made of, before it reads anything: its sizes, its tensors by name, its modules as a tree.

The checkpoint is that of the encoder; a head (for masked words, classes, spans) is no part of it.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from search.bert.checkpoint import Checkpoint, load_checkpoint
from search.encoding.models import DEFAULT_MODEL
from search.records.models import ModelShape, Module, ParameterPart, Parameters, Tensor

# Beginnings of parameter names, or parts of them, in the order they are tried in.
_PARTS = (
    ("word embeddings", re.compile(r"^embeddings\.word_embeddings\.")),
    ("position embeddings", re.compile(r"^embeddings\.position_embeddings\.")),
    ("segment embeddings", re.compile(r"^embeddings\.token_type_embeddings\.")),
    ("LayerNorm of the embeddings", re.compile(r"^embeddings\.LayerNorm\.")),
    ("projection of the embeddings", re.compile(r"embeddings_project|embedding_hidden_mapping_in")),
    ("relative positions", re.compile(r"relative_attention_bias")),
    ("pooler", re.compile(r"^pooler")),
    ("LayerNorms", re.compile(r"layer_?norm", re.IGNORECASE)),
    ("attention", re.compile(r"attention")),
    ("feed-forward", re.compile(r"intermediate|output\.dense|ffn")),
)
_LAYER = re.compile(r"\.layer\.(\d+)\.")


def shape_of(checkpoint: Checkpoint) -> ModelShape:
    tables, config = checkpoint.model.embeddings, checkpoint.model.config
    return ModelShape(
        name=checkpoint.name,
        kind=checkpoint.kind,
        layers=int(config.num_hidden_layers),
        heads=int(config.num_attention_heads),
        dimension=int(config.hidden_size),
        vocabulary=int(tables.word_embeddings.num_embeddings),
        positions=int(tables.position_embeddings.num_embeddings),
        segments=checkpoint.segment_rows,
        max_tokens=checkpoint.max_tokens,
        parts=parameter_parts(checkpoint.model, pooler=not checkpoint.no_pooler),
    )


def _layer_of(name: str) -> int | None:
    """The layer that a parameter belongs to, from 1."""
    found = _LAYER.search(name)
    return int(found[1]) + 1 if found else None


def parameter_parts(model: Any, *, pooler: bool = True) -> tuple[ParameterPart, ...]:
    """Every parameter of a transformers model, counted once, in the order of the model.

    Args:
        pooler: False leaves out a pooler whose weights the model's file does not hold.
    """
    found: dict[tuple[str, int | None], list[tuple[int, ...]]] = {}
    for name, tensor in model.named_parameters():
        part = next((part for part, pattern in _PARTS if pattern.search(name)), "other")
        if part != "pooler" or pooler:
            found.setdefault((part, _layer_of(name)), []).append(tuple(tensor.shape))
    return tuple(
        ParameterPart(
            name=part,
            layer=layer,
            tensors=len(shapes),
            parameters=sum(map(prod, shapes)),
            in_matrices=sum(prod(shape) for shape in shapes if len(shape) > 1),
            shape=shapes[0] if len(shapes) == 1 else (),
        )
        for (part, layer), shapes in found.items()
    )


def parameters(model: str = DEFAULT_MODEL, *, offline: bool = False) -> Parameters:
    """Every tensor of a model by name, with shape, type and values; no copy is made of these.

    Args:
        model: a name or a folder of a checkpoint of one of `FAMILIES`.

    Raises:
        ModelError: the model cannot be found, loaded or taken apart.

    Example:
        >>> found = parameters()                                             # doctest: +SKIP
        >>> found.arrays["embeddings.word_embeddings.weight"].shape          # doctest: +SKIP
        (30522, 384)
    """
    checkpoint = load_checkpoint(model, offline)
    return Parameters(
        checkpoint.name,
        tuple(
            Tensor(
                name=name,
                shape=tuple(tensor.shape),
                dtype=str(tensor.dtype).removeprefix("torch."),
                layer=_layer_of(name),
                values=tensor.detach().numpy(),
            )
            for name, tensor in checkpoint.model.named_parameters()
            if not (checkpoint.no_pooler and name.startswith("pooler"))
        ),
    )


def modules(model: str = DEFAULT_MODEL, *, offline: bool = False) -> Module:
    """The tree of a model's modules, as PyTorch has it; arguments and errors as of `parameters`.

    A layer that several places share, as all of ALBERT do, stands in the tree once.
    """
    checkpoint = load_checkpoint(model, offline)
    return _module("", checkpoint.model, without="pooler" if checkpoint.no_pooler else "")


def _module(name: str, module: Any, without: str = "") -> Module:
    parts = tuple(_module(inner, part) for inner, part in module.named_children() if inner != without)
    own = sum(tensor.numel() for tensor in module.parameters(recurse=False))
    total = own + sum(part.parameters for part in parts)
    return Module(name, type(module).__name__, module.extra_repr(), total, parts)
