"""What a model is, for a terminal: its sizes, its tensors by name, the tree of its modules."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby

from rich.padding import Padding
from rich.table import Column, Table

from search.records.models import ModelShape, Module, ParameterPart, Parameters, Tensor
from search.render.format import first_values, one_line
from search.render.terminal import Canvas, as_text, bar, folded, grid, number

# Of what PyTorch prints of a module: what is as it nearly always is, and a linear layer's sizes.
_USUAL = re.compile(r", (?:elementwise_affine=True|bias=True|inplace=False)")
_SIZES = re.compile(r"in_features=(\d+), out_features=(\d+)")
_IN_A_LAYER = re.compile(r"(?<=\.layer\.)\d+(?=\.)")


def model_line(model: ModelShape) -> str:
    segments = f", {model.segments} segments" if model.segments else ", no segments"
    return (
        f"{one_line(model.name)}: {model.kind}, {model.layers} layers, {model.heads} heads, "
        f"{model.dimension} dimensions, {model.vocabulary:,} entries, {model.positions} positions{segments}"
    )


def draw_parameters(canvas: Canvas, model: ModelShape) -> None:
    canvas.title(
        f"Parameters: {model.parameters:,} in {model.tensors:,} tensors, {model.in_matrices:,} of them in matrices"
    )
    table = grid("", number(), number(), number(), Column(no_wrap=True), header="")
    for name, shape, count in _parameter_rows(model):
        share = count / model.parameters
        table.add_row(name, shape, f"{count:,}", f"{share:.1%}", bar(share))
    canvas.table(table)


def _parameter_rows(model: ModelShape) -> list[tuple[str, str, int]]:
    """(name, shape, parameters) of each part; layers that are alike share their lines."""
    once = [(part.name, _shape(part), part.parameters) for part in model.parts if part.layer is None]
    in_layers: dict[str, list[int]] = {}
    for part in model.parts:
        if part.layer is not None:
            in_layers.setdefault(part.name, []).append(part.parameters)
    repeated = []
    for name, counts in in_layers.items():
        alike = len(set(counts)) == 1
        each = f"{model.layers} x {counts[0]:,}" if alike else f"in {len(counts)} layers"
        repeated.append((f"{name}, all layers", each, sum(counts)))
    before = [row for row in once if row[0] != "pooler"]
    return [*before, *repeated, *(row for row in once if row[0] == "pooler")]


def _shape(part: ParameterPart | Tensor) -> str:
    return " x ".join(f"{length:,}" for length in part.shape)


@as_text
def parameters(canvas: Canvas, found: Parameters, *, every: bool = False, values: int = 0) -> None:
    """Tensors by name; those that every layer has, with one shape, on one line.

    Args:
        every: a line for each, whatever is alike.
        values: how many of its first numbers to show, those of the first layer where layers share a line.
    """
    types = sorted({tensor.dtype for tensor in found.tensors})
    canvas.line(
        f"{one_line(found.model)}: {len(found.tensors)} tensors, {found.parameters:,} numbers, {' and '.join(types)}",
        style="bold",
    )
    canvas.gap()
    table = grid("tensor", number("shape"), number("numbers"), header="dim")
    for tensors in _alike(found, every):
        count = f"{tensors[0].parameters:,}"
        counted = count if len(tensors) == 1 else f"{len(tensors)} x {count}"
        typed = f" {tensors[0].dtype}" if len(types) > 1 else ""
        table.add_row(_name(tensors) + typed, _shape(tensors[0]), counted)
        if values:
            table.add_row(f"  {first_values(tensors[0].values.ravel(), values)}")
    canvas.table(table)
    if not every:
        canvas.gap()
        canvas.dim(
            "Layers that are alike share a line, as their file counts them: from 0. --all has a line for each."
        )


def _alike(found: Parameters, every: bool) -> list[list[Tensor]]:
    groups: dict[object, list[Tensor]] = {}
    for tensor in found.tensors:
        alike = (_IN_A_LAYER.sub("", tensor.name), tensor.shape, tensor.dtype)
        groups.setdefault(tensor.name if every else alike, []).append(tensor)
    return list(groups.values())


def _name(tensors: list[Tensor]) -> str:
    """The name of a tensor, or of those of several layers."""
    numbers = [int(found[0]) for tensor in tensors if (found := _IN_A_LAYER.search(tensor.name))]
    return _IN_A_LAYER.sub(_ranges(numbers), tensors[0].name)


def _ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] -> "0-2,5"."""
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@as_text
def modules(canvas: Canvas, root: Module, *, every: bool = False) -> None:
    """The tree, a line a module; layers that are alike on one line unless `every`."""
    table = grid("module", folded("numbers"), header="dim")
    _add_module(table, "", root, 1, 0, every)
    canvas.table(table)
    canvas.gap()
    rest = "" if every else " Layers that are alike share a line; --all has each of them."
    canvas.dim(f"A module's numbers are those of its parts, too.{rest}")


def _add_module(table: Table, name: str, module: Module, count: int, depth: int, every: bool) -> None:
    settings = _USUAL.sub("", _SIZES.sub(r"\1 -> \2", module.settings))
    kind = f"{module.kind}({settings})" if settings else module.kind
    times = f"{count} x " if count > 1 else ""
    line = Padding((f"{name}  " if name else "") + times + kind, (0, 0, 0, 2 * depth))
    table.add_row(line, f"{times}{module.parameters:,}" if module.parameters else "")
    alone = every or not all(part.name.isdecimal() for part in module.modules)
    for _, group in groupby(
        enumerate(module.modules), lambda pair: pair[0] if alone else replace(pair[1], name="")
    ):
        parts = [part for _, part in group]
        names = parts[0].name if len(parts) == 1 else f"{parts[0].name}-{parts[-1].name}"
        _add_module(table, names, parts[0], len(parts), depth + 1, every)
