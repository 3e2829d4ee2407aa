"""A look inside a model, the passages of a file, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from search.records.documents import Passage
from search.records.inspections import (
    InputToken,
    Inspection,
)
from search.render import json
from search.render.format import escape, first_values, one_line
from search.render.models import draw_parameters, model_line
from search.render.terminal import Canvas, as_text, folded, grid

_STATES = ("layer", "cls_length", "mean_length", "cosine_to_layer_before", "cosine_of_two_tokens")  # as JSON
_STATE_HEADERS = ("layer", "|[CLS]|", "mean length", "cosine to layer before", "cosine of two tokens")


@as_text
def inspection(canvas: Canvas, inspected: Inspection, *, values: int = 0) -> None:
    """Tokens, embedding layer, hidden states, pooler, parameters; a section each.

    Args:
        values: how many of the first numbers of each vector to show, in a section more.
    """
    texts = zip(("text", "text 2"), map(one_line, inspected.texts), strict=False)
    canvas.facts((*texts, ("model", model_line(inspected.model))))
    _draw_tokens(canvas, inspected)
    _draw_embedding(canvas, inspected)
    _draw_states(canvas, inspected)
    canvas.title("Pooler: tanh(W [CLS] + b)")
    canvas.line(pooler_line(inspected))
    draw_parameters(canvas, inspected.model)
    if values:
        _draw_values(canvas, inspected, values)


@as_text
def passages(canvas: Canvas, found: Sequence[tuple[str, Sequence[Passage]]]) -> None:
    """Each passage of a file as it is and, where that differs, as it is encoded."""
    for name, cut in found:
        canvas.line((f"{escape(name)}: {len(cut):,} passages", "bold"))
        for place, passage in enumerate(cut, start=1):
            canvas.gap()
            page = f", page {passage.page}" if passage.page else ""
            canvas.line(
                (f"{place}  lines {passage.line_start}-{passage.line_end}{page}", "cyan"),
                (f"  {passage.n_tokens} tokens  {escape(passage.heading)}", "dim"),
            )
            _draw_text(canvas, passage.text, "")
            encoded = passage.encoded
            if encoded != passage.text:
                canvas.dim("encoded:", indent=3)
                _draw_text(canvas, encoded, "green")


def _draw_text(canvas: Canvas, text: str, style: str) -> None:
    for line in text.splitlines():
        if line.strip():
            canvas.line(escape(line.rstrip()), style=style, indent=3)


def passages_json(found: Sequence[tuple[str, Sequence[Passage]]]) -> str:
    """One JSON document: each document with its passages and what of them is encoded."""
    return json.document(
        [
            {
                "document": name,
                "passages": [{**json.plain(one), "encoded": one.encoded} for one in cut],
            }
            for name, cut in found
        ]
    )


def _draw_tokens(canvas: Canvas, inspected: Inspection) -> None:
    special = sum(token.special for token in inspected.tokens)
    canvas.title(f"Tokens: {len(inspected.tokens)}, {special} of them special")
    table = _of_tokens("id", "offsets", "word", "segment", "mask")
    for i, token in enumerate(inspected.tokens):
        style = "dim" if token.special else "bold red" if token.unknown else ""
        numbers = (
            str(token.id),
            "" if token.special else f"{token.start}-{token.end}",
            "" if token.word is None else str(token.word),
            str(token.segment),
            str(token.attended),
        )
        table.add_row(str(i), Text(one_line(token.text), style=style), *numbers)
    canvas.table(table)
    for word in inspected.words:
        if word.split:
            canvas.line(
                f"  {one_line(word.text)} is no entry: {_spelled([inspected.tokens[i] for i in word.tokens])}"
            )
    unknown = dict.fromkeys(one_line(word.text) for word in inspected.words if word.unknown)
    canvas.line(f"  unknown words: {', '.join(unknown) or 'none'}")


def _draw_embedding(canvas: Canvas, inspected: Inspection) -> None:
    parts = "word + position" if inspected.embedding.segments is None else "word + position + segment"
    then = "" if inspected.embedding.projected is None else ", then a projection"
    canvas.title(f"Embedding layer: {parts}, then LayerNorm{then}")
    names, rows = embedding_lengths(inspected)
    tokens = enumerate(zip(inspected.tokens, rows, strict=True))
    lines = ((str(i), one_line(token.text), *map("{:.3f}".format, lengths)) for i, (token, lengths) in tokens)
    canvas.table(_of_tokens(*names), lines)
    canvas.dim(
        "  Lengths of the vectors. Put together here, it differs from the model's own output by at most "
        f"{inspected.embedding.difference:.1e}."
    )


def _draw_states(canvas: Canvas, inspected: Inspection) -> None:
    layers, tokens, width = inspected.states.shape
    canvas.title(f"Hidden states: {layers} x {tokens} tokens x {width} dimensions")
    table = grid(*(folded(header) for header in _STATE_HEADERS), header="dim")
    for layer, *numbers in state_rows(inspected):
        table.add_row(str(layer), *("" if number is None else f"{number:.3f}" for number in numbers))
    canvas.table(table)
    canvas.dim("  Means over the tokens. Layer 0 is the output of the embedding layer.")


def pooler_line(inspected: Inspection) -> str:
    """What came of the check, or why there is none."""
    if inspected.pooler is None:
        return f"There is none: {one_line(inspected.no_pooler)}."
    output = inspected.pooler.output
    return (
        f"Computed here, it differs from the model's own output by at most {inspected.pooler.difference:.1e}. "
        f"Length {_length(output):.3f}, values from {output.min():.3f} to {output.max():.3f}."
    )


def _draw_values(canvas: Canvas, inspected: Inspection, most: int) -> None:
    layer, last = inspected.embedding, len(inspected.states) - 1
    width = inspected.model.dimension
    parts = {
        "word": layer.words,
        "position": layer.positions,
        "segment": layer.segments,
        "layer 0": inspected.states[0],
        f"layer {last}": inspected.states[last],
    }
    canvas.title(f"First values: {min(most, width)} of {width}")
    table = grid(folded("#"), "token", "vector", "", header="dim")
    for i, token in enumerate(inspected.tokens):
        place, text = str(i), one_line(token.text)
        for name, rows in parts.items():
            if rows is not None:
                table.add_row(place, text, name, first_values(rows[i], most))
                place = text = ""
    if inspected.pooler:
        table.add_row("", "pooler", "output", first_values(inspected.pooler.output, most))
    canvas.table(table)


def embedding_lengths(inspected: Inspection) -> tuple[list[str], list[list[float]]]:
    """Names of the parts, and for each token the lengths of its vectors in them."""
    layer = inspected.embedding
    parts = {
        "word": layer.words,
        "position": layer.positions,
        "segment": layer.segments,
        "sum": layer.total,
        "LayerNorm": layer.normalized,
        "projected": layer.projected,
    }
    there = {name: rows for name, rows in parts.items() if rows is not None}
    lengths = [[_length(row) for row in rows] for rows in there.values()]
    return list(there), [list(row) for row in zip(*lengths, strict=True)]


def state_rows(inspected: Inspection) -> list[tuple[int, float, float, float | None, float | None]]:
    """For each layer: number, length of [CLS], mean length of all, mean cosine of a token with itself one layer
    before, and of two different tokens."""
    rows: list[tuple[int, float, float, float | None, float | None]] = []
    before = None
    for layer, states in enumerate(inspected.states.astype(np.float64)):
        lengths = np.linalg.norm(states, axis=1)
        unit = states / lengths[:, None]
        n = len(unit)
        alike = float(((unit @ unit.T).sum() - n) / (n * (n - 1))) if n > 1 else None
        moved = None if before is None else float((unit * before).sum(axis=1).mean())
        rows.append((layer, float(lengths[0]), float(lengths.mean()), moved, alike))
        before = unit
    return rows


def turned_rows(inspected: Inspection) -> list[list[float]]:
    """For each token its vector's cosine with itself one layer before, at every layer from 1."""
    states = inspected.states.astype(np.float64)
    unit = states / np.linalg.norm(states, axis=2, keepdims=True)
    rows: list[list[float]] = (unit[1:] * unit[:-1]).sum(axis=2).T.tolist()
    return rows


def as_json(inspected: Inspection, *, vectors: bool = False) -> str:
    """What `facts` says, as text."""
    return json.document(facts(inspected, vectors=vectors))


def facts(inspected: Inspection, *, vectors: bool = False) -> dict[str, Any]:
    """Tokens, words, model, lengths and checks; with `vectors` every vector too."""
    names, rows = embedding_lengths(inspected)
    layer = inspected.embedding
    whole: dict[str, Any] = {
        "texts": inspected.texts,
        "tokens": inspected.tokens,
        "words": [{**asdict(word), "split": word.split} for word in inspected.words],
        "model": inspected.model,
        "embedding": {
            "position_ids": layer.position_ids,
            "lengths": [dict(zip(names, row, strict=True)) for row in rows],
            "difference": layer.difference,
        },
        "states": [dict(zip(_STATES, row, strict=True)) for row in state_rows(inspected)],
        "cosines_to_layer_before": turned_rows(inspected),
        "pooler": {"difference": inspected.pooler.difference} if inspected.pooler else None,
        "no_pooler": inspected.no_pooler,
    }
    if vectors:
        whole["embedding"] |= {**json.plain(layer), "sum": layer.total}
        whole["hidden_states"] = inspected.states
        if inspected.pooler:
            whole["pooler"] |= json.plain(inspected.pooler)
    return whole


def _spelled(tokens: Sequence[InputToken]) -> str:
    return " ".join(one_line(token.text) for token in tokens) or "(nothing)"


def _of_tokens(*headers: str) -> Table:
    """A table with a line for each token: its number, its text, and numbers."""
    return grid(folded("#"), "token", *map(folded, headers), header="dim")


def _length(vector: object) -> float:
    return float(np.linalg.norm(np.asarray(vector, dtype=np.float64)))
