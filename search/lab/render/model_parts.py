"""Tensors and modules of a model, for a terminal and as JSON."""

from __future__ import annotations

import re

from search.lab.records.model_parts import ModelModule, ModelParameters, ModuleTree
from search.render import json
from search.render.format import one_line
from search.render.terminal import Canvas, as_text, grid, number

# The name of a tensor up to the number of its layer, or without its last part.
_PART = re.compile(r"(.*?\.\d+)\.|(.*)\.")
_LONGEST_PATH = 40
_LAYER = re.compile(r"\.(\d+)\.")


@as_text
def parameters(canvas: Canvas, tensors: ModelParameters) -> None:
    """Draw the sums, then name, shape and size of each tensor."""
    canvas.line(sums_of_parameters(tensors), style="bold")
    canvas.gap()
    table = grid("tensor", number("shape"), number("numbers"), header="dim")
    for name, tensor in tensors.items():
        table.add_row(one_line(name), shape_of(tensor.shape), f"{tensor.size:,}")
    canvas.table(table)


def sums_of_parameters(tensors: ModelParameters) -> str:
    """Return the number of tensors, of all numbers, and of those in matrices."""
    return f"{len(tensors)} tensors, {tensors.numbers:,} numbers, {tensors.in_matrices:,} of them in matrices"


def shape_of(shape: tuple[int, ...]) -> str:
    """Return a shape as "30,522 x 384"."""
    return " x ".join(map("{:,}".format, shape))


def parameters_json(tensors: ModelParameters) -> str:
    """Return name -> shape and type of each tensor as JSON."""
    return json.document(
        {name: {"shape": tensor.shape, "dtype": str(tensor.dtype)} for name, tensor in tensors.items()}
    )


def numbers_by_part(tensors: ModelParameters) -> dict[str, int]:
    """Return part of the model -> number of its numbers, such as "encoder.layer.0"."""
    parts: dict[str, int] = {}
    for name, tensor in tensors.items():
        match = _PART.match(name)
        part = (match[1] or match[2]) if match else name
        parts[part] = parts.get(part, 0) + tensor.size
    return parts


def is_in_further_layer(name: str) -> bool:
    """Return True for a tensor of a numbered layer but the first, which is numbered 0."""
    match = _LAYER.search(name)
    return bool(match and int(match[1]))


@as_text
def modules(canvas: Canvas, tree: ModuleTree) -> None:
    """Draw the tree of a model's modules as PyTorch prints it."""
    for line in tree.text.splitlines():
        canvas.line(line, whole=True)


def module_label(module: ModelModule) -> str:
    """Return the name of a module, and how many equal ones there are: "6 x layer 0-5"."""
    name = one_line(module.name)
    first, _, last = name.partition("-")
    return f"{int(last) - int(first) + 1} x {name}" if last.isdigit() and first.isdigit() else name


def module_path(module: ModelModule) -> str:
    """Return the path of a module, or its end if it is long, as that tells more."""
    path = one_line(module.path)
    return path if len(path) <= _LONGEST_PATH else f"…{path[1 - _LONGEST_PATH :]}"


def leaves(tree: ModuleTree) -> list[ModelModule]:
    """Return the modules with parameters that have no modules inside."""
    return [module for module in tree.modules if module.is_leaf and module.numbers]
