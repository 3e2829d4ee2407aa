"""What a model is, for a terminal: its sizes and its parameters."""

from __future__ import annotations

from rich.table import Column

from search.records.models import ModelShape, ParameterPart
from search.render.format import one_line
from search.render.terminal import Canvas, bar, grid, number


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


def _shape(part: ParameterPart) -> str:
    return " x ".join(f"{length:,}" for length in part.shape)
