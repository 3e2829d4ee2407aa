"""The public `inspect`: one pass of a model over a text or a pair.

The embedding layer is taken apart: for each token

    LayerNorm( word[id] + position[place] + segment[0 or 1] )

(Devlin et al. 2018, "BERT", figure 2). ELECTRA and ALBERT multiply the result by one more matrix where their
embeddings are narrower than their layers; DistilBERT and MPNet have no segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.bert.checkpoint import Checkpoint, load_checkpoint
from search.bert.weights import shape_of
from search.encoding.models import DEFAULT_MODEL
from search.records.inspections import (
    EmbeddingLayer,
    Inspection,
    Pooler,
    Tokenization,
)


def inspect(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Inspection:
    """Tokens, the embedding layer taken apart, hidden states of every layer, pooler, parameter counts.

    Args:
        text2: the second text of a pair, which BERT reads as [CLS] text [SEP] text2 [SEP].
        model: a name or a folder of a checkpoint of one of `FAMILIES`. A checkpoint with a head (for masked words,
            classes, spans) is inspected without it.
        offline: never call out to the hub.

    Raises:
        InputError: a text is empty, or there are more tokens than the model reads; nothing is ever cut.
        ModelError: the model cannot be found, loaded or taken apart.

    Example:
        >>> found = inspect("Sinan loves a beautiful day")      # doctest: +SKIP
        >>> found.tokens[1].id, found.states.shape              # doctest: +SKIP
        (8254, (7, 8, 384))
    """
    checkpoint = load_checkpoint(model, offline)
    made = checkpoint.tokens(text, text2)
    output = checkpoint.run(made)
    states = np.stack([state[0].numpy() for state in output.hidden_states])
    return Inspection(
        made.texts,
        made.tokens,
        made.words,
        shape_of(checkpoint),
        taken_apart(checkpoint, made, states[0]),
        states,
        None if checkpoint.no_pooler else _pooler(checkpoint.model, states[-1, 0], output.pooler_output),
        checkpoint.no_pooler,
    )


def _pooler(model: Any, cls: NDArray[np.float32], output: Any) -> Pooler:
    dense = getattr(model.pooler, "dense", model.pooler)  # ALBERT's pooler is the layer itself
    computed = np.tanh(array(dense.weight) @ cls.astype(np.float64) + array(dense.bias))
    return Pooler(output[0].numpy(), computed)


def taken_apart(checkpoint: Checkpoint, made: Tokenization, output: NDArray[np.float32]) -> EmbeddingLayer:
    """The parts, computed in float64 from the rows of the model's tables.

    Args:
        output: (n, d) what the model itself handed to its first layer.
    """
    tables = checkpoint.model.embeddings
    positions = checkpoint.positions(made)
    words = _rows(tables.word_embeddings, [token.id for token in made.tokens])
    places = _rows(tables.position_embeddings, positions)
    segments = (
        _rows(tables.token_type_embeddings, checkpoint.segments(made)) if checkpoint.segment_rows else None
    )
    total = words + places if segments is None else words + places + segments
    normalized = layer_norm(
        total, array(tables.LayerNorm.weight), array(tables.LayerNorm.bias), float(tables.LayerNorm.eps)
    )
    projection = _projection(checkpoint.model)
    projected = None
    if projection is not None:
        projected = normalized @ array(projection.weight).T + array(projection.bias)
    return EmbeddingLayer(words, places, segments, tuple(positions), normalized, projected, output)


def layer_norm(
    rows: NDArray[np.float64], weight: NDArray[np.float64], bias: NDArray[np.float64], eps: float
) -> NDArray[np.float64]:
    """Each row less its mean, divided by its standard deviation, then scaled and shifted (Ba et al. 2016).

    Args:
        rows: (n, h).
        weight, bias: (h,).
        eps: added to the variance, against division by zero.
    """
    centred = rows - rows.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps)
    return centred / deviation * weight + bias


def array(tensor: Any) -> NDArray[np.float64]:
    """A parameter as float64."""
    found: NDArray[np.float64] = tensor.detach().double().numpy()
    return found


def _rows(table: Any, numbers: list[int]) -> NDArray[np.float64]:
    """Rows of a table; of the table itself no copy is made."""
    return array(table.weight[numbers])


def _projection(model: Any) -> Any:
    """The linear layer from the width of the embeddings to that of the layers; None where there is none."""
    if hasattr(model, "embeddings_project"):  # ELECTRA
        return model.embeddings_project
    return getattr(getattr(model, "encoder", None), "embedding_hidden_mapping_in", None)  # ALBERT
