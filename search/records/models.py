"""What a model is before it reads anything: its sizes, tensors, modules, and the entries of its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class ParameterPart:
    """Parameters of one part of a model.

    Attributes:
        name: such as "word embeddings", "attention", "feed-forward", "pooler".
        layer: from 1; None for what is no part of a layer, or shared by all.
        tensors: how many named tensors it has.
        parameters: numbers in them.
        in_matrices: those in tensors of two dimensions; the others are biases and norms.
        shape: of its only tensor, () where it has several.
    """

    name: str
    layer: int | None
    tensors: int
    parameters: int
    in_matrices: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ModelShape:
    """What a checkpoint is: its kind and its sizes."""

    name: str
    kind: str
    layers: int
    heads: int
    dimension: int
    vocabulary: int
    positions: int
    segments: int
    max_tokens: int
    parts: tuple[ParameterPart, ...]

    @property
    def parameters(self) -> int:
        return sum(part.parameters for part in self.parts)

    @property
    def in_matrices(self) -> int:
        return sum(part.in_matrices for part in self.parts)

    @property
    def tensors(self) -> int:
        return sum(part.tensors for part in self.parts)
