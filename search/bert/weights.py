"""What a model is made of, before it reads anything: its sizes and its parameters."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from search.bert.checkpoint import Checkpoint
from search.records.models import ModelShape, ParameterPart

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


def parameter_parts(model: Any, *, pooler: bool = True) -> tuple[ParameterPart, ...]:
    """Every parameter of a transformers model, counted once, in the order of the model.

    Args:
        pooler: False leaves out a pooler whose weights the model's file does not hold.
    """
    found: dict[tuple[str, int | None], list[tuple[int, ...]]] = {}
    for name, tensor in model.named_parameters():
        part = next((part for part, pattern in _PARTS if pattern.search(name)), "other")
        layer = _LAYER.search(name)
        if part != "pooler" or pooler:
            found.setdefault((part, int(layer[1]) + 1 if layer else None), []).append(tuple(tensor.shape))
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
