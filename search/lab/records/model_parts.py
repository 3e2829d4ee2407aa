"""Parts of a model without a text: its tensors by name, and its modules as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from search.lab.records.lab_record import LabRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class ModelParameters(LabRecord, Mapping[str, "NDArray[np.floating[Any]]"]):
    """Tensors of a model by name: a mapping, name -> array, in the order of the model.

    `.plot()` draws the numbers in each part: a table of the embedding layer, a layer, the pooler.

    Attributes:
        model: name of the model.
        tensors: the mapping itself.
    """

    model: str
    tensors: Mapping[str, NDArray[np.floating[Any]]]

    def __getitem__(self, name: str) -> NDArray[np.floating[Any]]:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    @property
    def numbers(self) -> int:
        """Number of numbers in all tensors."""
        return sum(tensor.size for tensor in self.tensors.values())

    @property
    def in_matrices(self) -> int:
        """Number of numbers in tensors of two dimensions; the others are biases and the scales of norms."""
        return sum(tensor.size for tensor in self.tensors.values() if tensor.ndim > 1)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each tensor by name."""
        return {name: tensor.shape for name, tensor in self.tensors.items()}


@dataclass(frozen=True)
class ModelModule:
    """A module of a model, or several equal modules that follow each other, such as the layers of an encoder.

    Attributes:
        path: names of the modules that contain it, and its own: "encoder.layer.0-5.attention"; "" for the model itself.
        kind: its class in transformers or PyTorch, such as "Linear".
        settings: its arguments, as PyTorch prints them; "" for a module that has others inside.
        depth: number of modules that contain it.
        count: number of modules that it stands for.
        numbers: number of parameters in all of them.
        is_leaf: True if it has no modules inside.
    """

    path: str
    kind: str
    settings: str
    depth: int
    count: int
    numbers: int
    is_leaf: bool

    @property
    def name(self) -> str:
        """Last part of the path, or the class of the model itself."""
        return self.path.rpartition(".")[2] or self.kind


@dataclass(frozen=True, repr=False)
class ModuleTree(LabRecord):
    """Modules of a model as a tree; `str` returns it as PyTorch prints it.

    `.plot()` draws the numbers in each module that has no others inside.

    Attributes:
        model: name of the model.
        modules: the model itself, then all modules in its order, each before those that it contains.
        text: the tree as PyTorch prints it.
    """

    model: str
    modules: tuple[ModelModule, ...]
    text: str

    def __str__(self) -> str:
        return self.text
