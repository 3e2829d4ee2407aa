"""Inspection of a model for a terminal and as JSON.

It includes tokens and layers, the computation of one head, a word in several contexts, tokens of two
texts with equal vectors, and the vocabulary of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from search.lab.records.inspections import (
    ContextualCosines,
    Decoding,
    Entry,
    EqualRows,
    HeadAtWork,
    Inspection,
    ModelShape,
    PaddedBatch,
    Positions,
    Tokenization,
    Vocabulary,
)
from search.render import json
from search.render.format import first_values, fixed, letters, one_line
from search.render.terminal import Canvas, as_text, bar, folded, grid, number

if TYPE_CHECKING:
    from search.records.tokens import Vector

_STATES = ("layer", "cls_length", "mean_length", "cosine_to_layer_before")  # as JSON
_STATE_HEADERS = ("layer", "|[CLS]|", "mean length", "cosine to layer before")
_EQUAL = 1 - 1e-9  # cosine of equal vectors, less rounding


@as_text
def inspection(
    canvas: Canvas, inspected: Inspection, *, values: int = 0, most: int | None = None
) -> None:
    """Draw tokens, embedding layer, hidden states, pooler and parameters, each in its own section.

    Args:
        values: number of values of each vector to draw in a further section.
        most: number of tokens to draw in each table; None draws all.
    """
    model, texts = inspected.model, zip(("text", "text 2"), inspected.texts, strict=False)
    canvas.facts((*((name, one_line(text)) for name, text in texts), ("model", model_line(model))))
    _draw_tokens(canvas, inspected, most)
    names, rows = embedding_lengths(inspected)
    canvas.title(f"Embedding layer: {', '.join(names)}")
    lengths = ([f"{length:.3f}" for length in row] for row in rows)
    canvas.table(_of_tokens(inspected, names, lengths, most))
    difference = inspected.embedding.difference
    canvas.dim(
        f"  Lengths of vectors. The vectors' sum differs from the model's output by {difference:.1e}."
    )
    layers, tokens, width = inspected.states.shape
    canvas.title(f"Hidden states: {layers} x {tokens} tokens x {width} dimensions")
    states = (
        ("" if cell is None else fixed(cell, 3) for cell in row[1:]) for row in state_rows(inspected)
    )
    table = grid(*map(folded, _STATE_HEADERS), header="dim")
    canvas.table(table, ((str(layer), *row) for layer, row in enumerate(states)))
    canvas.title("Pooler: tanh(W [CLS] + b)")
    canvas.line(pooler_line(inspected))
    canvas.title(f"Parameters: {model.parameters:,} in {model.tensors:,} tensors")
    if values:
        _draw_values(canvas, inspected, values)


def model_line(model: ModelShape) -> str:
    return (
        f"{one_line(model.name)}: {model.kind}, {model.layers} layers, {model.heads} heads, {model.dimension} "
        f"dimensions, {model.vocabulary:,} entries, {model.positions} positions, {model.segments or 'no'} segments"
    )


@as_text
def tokenization(canvas: Canvas, read: Tokenization) -> None:
    """Draw the tokens of a text or a pair, and the words that are split."""
    texts = zip(("text", "text 2"), read.texts, strict=False)
    canvas.facts((name, one_line(text)) for name, text in texts)
    _draw_tokens(canvas, read)


def _draw_tokens(canvas: Canvas, inspected: Inspection | Tokenization, most: int | None = None) -> None:
    special = sum(token.special for token in inspected.tokens)
    canvas.title(f"Tokens: {len(inspected.tokens)}, {special} of them special")
    rows = (
        (
            str(token.id),
            "" if token.special else f"{token.start}-{token.end}",
            "" if token.word is None else str(token.word),
            str(token.segment),
            str(token.attended),
        )
        for token in inspected.tokens
    )
    canvas.table(_of_tokens(inspected, ("id", "offsets", "word", "segment", "mask"), rows, most))
    for word in inspected.words:
        if word.split:
            pieces = " ".join(one_line(inspected.tokens[i].text) for i in word.tokens)
            canvas.line(f"  {one_line(word.text)} is not in the vocabulary: {pieces}")
    unknown = dict.fromkeys(one_line(word.text) for word in inspected.words if word.unknown)
    canvas.line(f"  unknown words: {', '.join(unknown) or 'none'}")


def _of_tokens(record: Any, headers: Sequence[str], rows: Any, most: int | None = None) -> Table:
    """Return a table with a line for each token: its position, its text, and the numbers in `rows`."""
    table = grid(folded("#"), "token", *map(folded, headers), header="dim")
    for i, (token, row) in enumerate(zip(record.tokens, rows, strict=True)):
        if i == most:
            table.add_row("", "…")
            break
        style = "dim" if token.special else "bold red" if token.unknown else ""
        table.add_row(str(i), Text(one_line(token.text), style=style), *row)
    return table


def pooler_line(inspected: Inspection) -> str:
    """Return a line about the pooler: its deviation from the formula, or the reason for its absence."""
    output = inspected.pooler
    if output is None:
        return f"This model has no pooler: {one_line(inspected.no_pooler)}."
    difference = inspected.pooler_difference
    return f"Length {_length(output):.3f}; the value computed here differs from the model's by {difference:.1e}."


def _draw_values(canvas: Canvas, inspected: Inspection, most: int) -> None:
    width, last = inspected.model.dimension, len(inspected.states) - 1
    tables = {name: inspected.embedding.parts.get(name) for name in ("word", "position", "segment")}
    parts = {**tables, "layer 0": inspected.states[0], f"layer {last}": inspected.states[last]}
    canvas.title(f"First values: {min(most, width)} of {width}")
    table = grid(folded("#"), "token", "vector", "", header="dim")
    for i, token in enumerate(inspected.tokens):
        for name, rows in parts.items():
            if rows is not None:
                table.add_row(str(i), one_line(token.text), name, first_values(rows[i], most))
    if inspected.pooler is not None:
        table.add_row("", "pooler", "output", first_values(inspected.pooler, most))
    canvas.table(table)


def embedding_lengths(inspected: Inspection) -> tuple[list[str], list[list[float]]]:
    """Return the names of the embedding layer's parts, and for each token the lengths of its vectors in them."""
    parts = inspected.embedding.parts
    lengths = np.stack([np.linalg.norm(rows, axis=1) for rows in parts.values()], axis=1)
    return list(parts), lengths.tolist()


def state_rows(inspected: Inspection) -> list[tuple[int, float, float, float | None]]:
    """Return for each layer: its number, the length of [CLS], the mean length of all tokens, and a mean cosine.

    This is the cosine of a token's vector with its vector one layer before, averaged over tokens; None for layer 0.
    """
    lengths = np.linalg.norm(inspected.states.astype(np.float64), axis=2)
    turned = [None, *np.mean(turned_rows(inspected), axis=0).tolist()]
    return [(layer, float(row[0]), float(row.mean()), turned[layer]) for layer, row in enumerate(lengths)]


def turned_rows(inspected: Inspection) -> list[list[float]]:
    """Return for each token, at every layer from 1, the cosine of its vector with its vector one layer before."""
    states = inspected.states.astype(np.float64)
    unit = states / np.linalg.norm(states, axis=2, keepdims=True)
    rows: list[list[float]] = (unit[1:] * unit[:-1]).sum(axis=2).T.tolist()
    return rows


def as_json(inspected: Inspection, *, vectors: bool = False) -> str:
    """Return tokens, words, model, lengths and checks as JSON; with `vectors`, also all vectors."""
    names, rows = embedding_lengths(inspected)
    layer, pooler = inspected.embedding, inspected.pooler
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
        "pooler": None if pooler is None else {"difference": inspected.pooler_difference},
        "no_pooler": inspected.no_pooler,
    }
    if vectors:
        whole["embedding"] |= layer.parts
        whole["hidden_states"] = inspected.states
        if pooler is not None:
            whole["pooler"]["output"] = pooler
    return json.document(whole)


def _length(vector: object) -> float:
    return float(np.linalg.norm(np.asarray(vector, dtype=np.float64)))


@as_text
def head_at_work(canvas: Canvas, work: HeadAtWork) -> None:
    """Draw the computation of a head: a line for each token, the weighted sum, and the difference from the model."""
    width = work.query.size
    canvas.line(title_of_work(work), style="bold")
    canvas.gap()
    lengths = np.linalg.norm(work.values, axis=1)
    numbers = zip(work.products, work.scaled, work.weights, lengths, strict=True)
    rows = (
        (fixed(a, 3), fixed(b, 3), f"{c:.4f}", bar(float(c), 10), f"{d:.3f}") for a, b, c, d in numbers
    )
    headers = ("q.k", f"/ sqrt({width})", "softmax", "", "|v|")
    canvas.table(_of_tokens(work, headers, rows))
    canvas.gap()
    output, difference = lines_below_work(work)
    canvas.line(output)
    canvas.dim(difference)


def title_of_work(work: HeadAtWork) -> str:
    """Return the layer, the head and the token as a title."""
    reader = one_line(work.tokens[work.token].text)
    return f"Layer {work.layer}, head {work.head}: weights of '{reader}' (token {work.token})"


def lines_below_work(work: HeadAtWork) -> tuple[str, str]:
    """Return two sentences: about the output of the head, and about the difference from the model."""
    return (
        f"The output of the head is the sum of softmax x v: {work.query.size} numbers, length "
        f"{_length(work.output):.3f}.",
        f"The weights that {one_line(work.model)} computes differ from these by {work.difference:.1e}.",
    )


@as_text
def contexts(canvas: Canvas, cosines: ContextualCosines) -> None:
    """Draw the cosines of words in several contexts, a line for each layer."""
    texts = zip(cosines.texts, cosines.spans, strict=True)
    canvas.facts(
        ((letters(i), _marked(text, *span)) for i, (text, span) in enumerate(texts)), style="bold"
    )
    canvas.gap()
    names, columns = compared(cosines)
    layers = enumerate(zip(*columns, strict=True))
    rows = ((str(layer), *map("{:.4f}".format, numbers)) for layer, numbers in layers)
    canvas.table(grid(folded("layer"), *map(folded, names)), rows)
    canvas.gap()
    canvas.dim(what_was_compared(cosines))


def contexts_json(cosines: ContextualCosines) -> str:
    """Return the record as JSON, with the names of the compared pairs as keys of the cosines."""
    names, columns = compared(cosines)
    return json.document(cosines, layers=dict(zip(names, columns, strict=True)))


def compared(cosines: ContextualCosines) -> tuple[list[str], list[list[float]]]:
    """Return the names of the compared pairs, and their cosines at every layer."""
    count = len(cosines.texts)
    pairs = {
        f"{letters(i)} ~ {letters(j)}": cosines.between[:, i, j]
        for i in range(count)
        for j in range(i + 1, count)
    } | {
        f"{letters(i)} ~ {one_line(other)}": cosines.others[:, i, j]
        for j, other in enumerate(cosines.against)
        for i in range(count)
    }
    return list(pairs), [column.tolist() for column in pairs.values()]


def what_was_compared(cosines: ContextualCosines) -> str:
    """Return a sentence that names the compared words and the model."""
    words = " and ".join(f"'{one_line(word)}' in {letters(i)}" for i, word in enumerate(cosines.words))
    return f"Cosines of {words}, by {one_line(cosines.model)}; a word of several tokens uses their mean vector."


def _marked(text: str, start: int, end: int) -> Text:
    """Return a text on one line with the word in bold; spaces beside the word are kept."""
    before, after = one_line(f"{text[:start]}|")[:-1], one_line(f"|{text[end:]}")[1:]
    return Text.assemble(before, (one_line(text[start:end]), "bold"), after)


@as_text
def equal_rows(canvas: Canvas, pair: EqualRows) -> None:
    """Draw a line for each position: "=" if the vectors of both texts are equal, else their cosine."""
    canvas.facts(((letters(i), one_line(text)) for i, text in enumerate(pair.texts)), style="bold")
    canvas.gap()
    # There is room for the first two layers and the last.
    last = list(pair.cosines)[-1]
    names = [
        name
        for name in pair.cosines
        if name in ("word", "position", "segment", "layer 0", "layer 1", last)
    ]
    rows = zip(*pair.tokens, zip(*(pair.cosines[name] for name in names), strict=True), strict=False)
    table = grid(folded("#"), "A", "B", *map(folded, names), header="dim")
    for position, (first, second, cosines) in enumerate(rows):
        cells = ("=" if cosine > _EQUAL else fixed(cosine, 2) for cosine in cosines)
        table.add_row(str(position), one_line(first.text), one_line(second.text), *cells)
    canvas.table(table)
    canvas.gap()
    canvas.dim(f"Equal vectors are marked =, others have their cosine, by {one_line(pair.model)}.")


@as_text
def padded(canvas: Canvas, batch: PaddedBatch) -> None:
    """Draw a padded batch: a line for each position, with each text's token and its mask."""
    canvas.facts(((letters(i), one_line(text)) for i, text in enumerate(batch.texts)), style="bold")
    canvas.gap()
    names = [letters(i) for i in range(len(batch.texts))]
    headers = [header for name in names for header in (name, f"id {name}", f"mask {name}")]
    by_text = zip(batch.tokens, batch.ids, batch.mask, strict=True)
    rows = zip(*(column for columns in by_text for column in columns), strict=True)
    table = grid(folded("#"), *map(folded, headers), header="dim")
    for position, cells in enumerate(rows):
        table.add_row(str(position), *(one_line(str(cell)) for cell in cells))
    canvas.table(table)
    canvas.gap()
    for line in lines_below_batch(batch):
        canvas.line(line)
    canvas.dim(f"Last layer of {one_line(batch.model)}.")


def lines_below_batch(batch: PaddedBatch) -> tuple[str, str]:
    """Return two sentences: about the vectors with the mask, and about their means without it."""
    cosines = ", ".join(f"{letters(i)} {cosine:.3f}" for i, cosine in enumerate(batch.unmasked))
    return (
        f"With mask 0, padding changes no vector: the largest difference is {batch.difference:.1e}.",
        f"If the mask were ignored, the mean vectors would have these cosines with the true ones: {cosines}.",
    )


@as_text
def positions(canvas: Canvas, rows: Positions) -> None:
    """Draw the mean cosines of positions by their distance."""
    n, d = rows.learned.shape
    canvas.line(f"{n} positions, {d} dimensions", style="bold")
    canvas.gap()
    table = grid(number("distance"), number("learned"), number("formula"), header="dim")
    canvas.table(table, cosines_by_distance(rows))
    canvas.gap()
    canvas.dim(where_positions_come_from(rows))


def cosines_by_distance(rows: Positions) -> list[tuple[str, str, str]]:
    """Return distances of two positions, and their mean cosines: learned, and by the formula."""
    learned, formula = rows.cosines

    def mean(cosines: Vector, distance: int) -> str:
        return f"{np.diagonal(cosines, distance).mean():.3f}"

    return [
        (str(distance), mean(learned, distance), mean(formula, distance))
        for distance in (1, 2, 4, 8, 16, 32)
        if distance < len(learned)
    ]


def where_positions_come_from(rows: Positions) -> str:
    """Return a sentence about the two columns of cosines."""
    return f"Mean cosines of two positions: in the table of {one_line(rows.model)}, and by sine and cosine waves."


@as_text
def vocabulary(canvas: Canvas, summary: Vocabulary) -> None:
    """Draw the size of a vocabulary and the kinds of its entries."""
    canvas.facts(vocabulary_facts(summary))


def vocabulary_facts(summary: Vocabulary) -> list[tuple[str, str]]:
    """Return names and values: model, kind, and numbers of entries."""
    special = "  ".join(f"{one_line(entry.piece)} {entry.id}" for entry in summary.special)
    rows = {
        "model": one_line(summary.model),
        "kind": summary.kind,
        "entries": f"{summary.entries:,}",
        "special": special or "none",
        "begin with ##": ""
        if summary.continuing is None
        else f"{summary.continuing:,}, which continue a word",
        "one character": f"{summary.characters:,}",
    }
    return [(name, value) for name, value in rows.items() if value]


@as_text
def decoded(canvas: Canvas, decoding: Decoding) -> None:
    """Draw IDs, their entries, and the text that they decode to."""
    canvas.table(grid(folded("id"), "entry", header="dim"), map(_entry, decoding.entries))
    canvas.gap()
    canvas.line(("reads as: ", "dim"), one_line(decoding.text))


def _entry(entry: Entry) -> tuple[str, Text]:
    """Return the ID of an entry and its text, preceded by the piece if that differs."""
    text = Text(one_line(entry.piece), style="dim" if entry.special else "")
    if entry.word not in (entry.piece, entry.piece.removeprefix("##")):
        text.append(f"  {one_line(entry.word)}", style="dim")
    return str(entry.id), text
