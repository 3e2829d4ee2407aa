"""How many parameters a model has, part by part."""

from __future__ import annotations

import re
from typing import Any

from search.records.inspections import ParameterPart

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
            parameters=sum(map(_size, shapes)),
            in_matrices=sum(_size(shape) for shape in shapes if len(shape) > 1),
            shape=shapes[0] if len(shapes) == 1 else (),
        )
        for (part, layer), shapes in found.items()
    )


def _size(shape: tuple[int, ...]) -> int:
    product = 1
    for length in shape:
        product *= length
    return product
