"""The embedding layer taken apart: for each token

    LayerNorm( word[id] + position[place] + segment[0 or 1] )

(Devlin et al. 2018, "BERT", figure 2). ELECTRA and ALBERT multiply the result by one more matrix where their
embeddings are narrower than their layers; DistilBERT and MPNet have no segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from search.records.inspections import EmbeddingLayer, Tokenization

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.bert.checkpoint import Checkpoint


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
        _rows(tables.token_type_embeddings, checkpoint.segments(made)) if checkpoint.takes_segments else None
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
