"""A look inside a model -> JSON, for programs: records with what they derive."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from search.records.inspections import Attention, ContextualCosines, Inspection, TokenizerComparison
from search.render import json
from search.render.inside import context_columns, embedding_rows, state_rows, turned_rows

_STATE_NAMES = ("layer", "cls_length", "mean_length", "cosine_to_layer_before", "cosine_of_two_tokens")


def inspection(found: Inspection, *, vectors: bool = False) -> str:
    """Tokens, words, model, lengths and checks; with `vectors` every vector too."""
    names, rows = embedding_rows(found)
    layer = found.embedding
    said: dict[str, Any] = {
        "texts": found.texts,
        "tokens": found.tokens,
        "words": [{**asdict(word), "split": word.split} for word in found.words],
        "model": {
            **asdict(found.model),
            "parameters": found.model.parameters,
            "in_matrices": found.model.in_matrices,
            "tensors": found.model.tensors,
        },
        "embedding": {
            "position_ids": layer.position_ids,
            "lengths": [dict(zip(names, row, strict=True)) for row in rows],
            "difference": layer.difference,
        },
        "states": [dict(zip(_STATE_NAMES, row, strict=True)) for row in state_rows(found)],
        "cosines_to_layer_before": turned_rows(found),
        "pooler": {"difference": found.pooler.difference} if found.pooler else None,
        "no_pooler": found.no_pooler,
    }
    if vectors:
        said["embedding"] |= {
            "words": layer.words,
            "positions": layer.positions,
            "segments": layer.segments,
            "sum": layer.total,
            "normalized": layer.normalized,
            "projected": layer.projected,
            "output": layer.output,
        }
        said["hidden_states"] = found.states
        if found.pooler:
            said["pooler"] |= {"output": found.pooler.output, "computed": found.pooler.computed}
    return json.document(said)


def comparison(found: TokenizerComparison) -> str:
    """Both tokenizations, and the stretches of the text with what each makes of them."""
    stretches = [{**asdict(stretch), "same": stretch.same} for stretch in found.stretches]
    return json.document({"first": found.first, "second": found.second, "stretches": stretches})


def contexts(found: ContextualCosines) -> str:
    """The record, and its cosines by name."""
    names, columns = context_columns(found)
    return json.document({**asdict(found), "layers": dict(zip(names, columns, strict=True))})


def attention(
    found: Attention, layer: int | None = None, head: int | None = None, *, rollout: bool = False
) -> str:
    """Tokens and weights: of all heads (layers, heads, n, n), or of what `layer` and `head` name, (n, n)."""
    if rollout:
        weights: Any = found.rollout(layer)
    else:
        weights = found.weights if layer is None else found.matrix(layer, head)
    return json.document(
        {
            "texts": found.texts,
            "tokens": found.tokens,
            "model": found.model,
            "layers": found.layers,
            "heads": found.heads,
            "layer": layer,
            "head": head,
            "rollout": rollout,
            "row_error": found.row_error,
            "weights": weights,
        }
    )
