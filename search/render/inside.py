"""What is said of a look inside a model, in lines and rows, the same in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from search.records.inspections import (
    ContextualCosines,
    InputToken,
    Inspection,
    ModelShape,
    ParameterPart,
    TokenizerComparison,
)
from search.render.escape import one_line

STATE_HEADERS = ("layer", "|[CLS]|", "mean length", "cosine to layer before", "cosine of two tokens")


def model_line(model: ModelShape) -> str:
    segments = f", {model.segments} segments" if model.segments else ", no segments"
    return (
        f"{one_line(model.name)}: {model.kind}, {model.layers} layers, {model.heads} heads, "
        f"{model.dimension} dimensions, {model.vocabulary:,} entries, {model.positions} positions{segments}"
    )


def tokens_line(found: Inspection) -> str:
    special = sum(token.special for token in found.tokens)
    return f"{len(found.tokens)}, {special} of them special"


def sum_line(found: Inspection) -> str:
    parts = "word + position" if found.embedding.segments is None else "word + position + segment"
    then = "" if found.embedding.projected is None else ", then a projection"
    return f"{parts}, then LayerNorm{then}"


def embedding_line(found: Inspection) -> str:
    """What came of the check."""
    return f"Put together here, it differs from the model's own output by at most {found.embedding.difference:.1e}."


def states_line(found: Inspection) -> str:
    layers, tokens, width = found.states.shape
    return f"{layers} x {tokens} tokens x {width} dimensions"


def pooler_line(found: Inspection) -> str:
    """What came of the check, or why there is none."""
    if found.pooler is None:
        return f"There is none: {one_line(found.no_pooler)}."
    return (
        f"Computed here, it differs from the model's own output by at most {found.pooler.difference:.1e}. "
        f"Length {_length(found.pooler.output):.3f}, values from {found.pooler.output.min():.3f} "
        f"to {found.pooler.output.max():.3f}."
    )


def parameters_line(model: ModelShape) -> str:
    return f"{model.parameters:,} in {model.tensors:,} tensors, {model.in_matrices:,} of them in matrices"


def parameter_rows(model: ModelShape) -> list[tuple[str, str, int]]:
    """(name, shape, parameters) of each part; layers that are alike share their lines."""
    once = [part for part in model.parts if part.layer is None]
    layers = sorted({part.layer for part in model.parts if part.layer is not None})
    names = list(dict.fromkeys(part.name for part in model.parts if part.layer is not None))
    repeated = []
    for name in names:
        parts = [part for part in model.parts if part.name == name and part.layer is not None]
        sizes = sorted({part.parameters for part in parts})
        each = f"{len(layers)} x {sizes[0]:,}" if len(sizes) == 1 else f"in {len(parts)} layers"
        repeated.append((f"{name}, all layers", each, sum(part.parameters for part in parts)))
    rows = [(part.name, _shape(part), part.parameters) for part in once]
    after = [row for row in rows if row[0] == "pooler"]
    return [*(row for row in rows if row[0] != "pooler"), *repeated, *after]


def embedding_rows(found: Inspection) -> tuple[list[str], list[list[float]]]:
    """Names of the parts, and for each token the lengths of its vectors in them."""
    layer = found.embedding
    parts = [("word", layer.words), ("position", layer.positions)]
    if layer.segments is not None:
        parts.append(("segment", layer.segments))
    parts += [("sum", layer.total), ("LayerNorm", layer.normalized)]
    if layer.projected is not None:
        parts.append(("projected", layer.projected))
    lengths = [[_length(row) for row in rows] for _, rows in parts]
    return [name for name, _ in parts], [list(row) for row in zip(*lengths, strict=True)]


def state_rows(found: Inspection) -> list[tuple[int, float, float, float | None, float | None]]:
    """For each layer: number, length of [CLS], mean length of all, mean cosine of a token with itself one layer
    before, and of two different tokens."""
    import numpy as np

    rows: list[tuple[int, float, float, float | None, float | None]] = []
    before = None
    for number, states in enumerate(found.states.astype(np.float64)):
        lengths = np.linalg.norm(states, axis=1)
        unit = states / lengths[:, None]
        n = len(unit)
        alike = float(((unit @ unit.T).sum() - n) / (n * (n - 1))) if n > 1 else None
        moved = None if before is None else float((unit * before).sum(axis=1).mean())
        rows.append((number, float(lengths[0]), float(lengths.mean()), moved, alike))
        before = unit
    return rows


def turned_rows(found: Inspection) -> list[list[float]]:
    """For each token its vector's cosine with itself one layer before, at every layer from 1."""
    import numpy as np

    states = found.states.astype(np.float64)
    unit = states / np.linalg.norm(states, axis=2, keepdims=True)
    rows: list[list[float]] = (unit[1:] * unit[:-1]).sum(axis=2).T.tolist()
    return rows


def offsets(token: InputToken) -> str:
    """Where a token stands in its text; nothing for one that stands nowhere."""
    return "" if token.special else f"{token.start}-{token.end}"


def spelled(tokens: Sequence[InputToken]) -> str:
    return " ".join(one_line(token.text) for token in tokens) or "(nothing)"


def comparison_line(found: TokenizerComparison) -> str:
    differ = sum(not stretch.same for stretch in found.stretches)
    return (
        f"{differ} of {len(found.stretches)} differ; {len(found.first.tokens)} and {len(found.second.tokens)} "
        "tokens in all, special ones included."
    )


def context_name(number: int) -> str:
    """A, B, C, ...; of more than 26, numbers."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def context_columns(found: ContextualCosines) -> tuple[list[str], list[list[float]]]:
    """Names of what is compared, and the cosines at every layer."""
    names, columns = [], []
    count = len(found.texts)
    for i in range(count):
        for j in range(i + 1, count):
            names.append(f"{context_name(i)} ~ {context_name(j)}")
            columns.append(found.between[:, i, j].tolist())
    for j, other in enumerate(found.against):
        for i in range(count):
            names.append(f"{context_name(i)} ~ {one_line(other)}")
            columns.append(found.others[:, i, j].tolist())
    return names, columns


def contexts_line(found: ContextualCosines) -> str:
    """What was compared, in a sentence or two."""
    pieces = sorted({" ".join(map(one_line, parts)) for parts in found.pieces})
    split = [piece for piece in pieces if " " in piece]
    spelled_as = f", spelled {' or '.join(split)}" if split else ""
    said = f"Cosines of '{one_line(found.word)}'{spelled_as}, by {one_line(found.model)}."
    if any(len(parts) > 1 for parts in found.pieces):
        said += " The vector of a word of several tokens is their mean."
    if found.against:
        said += " Words compared with are read by themselves."
    several = [context_name(i) for i, count in enumerate(found.counts) if count > 1]
    if several:
        said += f" Where it stands more than once ({', '.join(several)}), the first is taken."
    return said


def _shape(part: ParameterPart) -> str:
    return " x ".join(f"{length:,}" for length in part.shape)


def _length(vector: object) -> float:
    import numpy as np

    return float(np.linalg.norm(np.asarray(vector, dtype=np.float64)))
