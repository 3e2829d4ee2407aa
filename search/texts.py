"""Similarity of texts without an index: `similarity`, `compare` and `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.explaining.explanation import Layers, explain_pair, similarity_matrix
from search.records.comparisons import Similarities
from search.records.explanations import Explanation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.options import Pooling
    from search.records.tokens import Layer


def similarity(
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    model: str | Encoder = DEFAULT_MODEL,
    pooling: Pooling | None = None,
    truncate: bool = False,
) -> NDArray[np.float32]:
    """Return the cosine similarities of sentences.

    Args:
        texts: n sentences.
        others: m sentences; None compares `texts` with each other.
        model: a name, a folder, or a loaded Encoder.
        pooling: "mean", "cls", "pooler", "max", ... as for `Encoder`; None for the model's own.
        truncate: cut texts that do not fit the model instead of raising TextTooLong.

    Returns:
        (n, m) float32 in [-1, 1]; (n, n) without `others`.

    Raises:
        ModelError: the model cannot be found or used.
        TextTooLong: a text has more tokens than the model can read, and `truncate` is False.
    """
    return compare(texts, others, model=model, pooling=pooling, truncate=truncate).cosines


def compare(
    texts: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    model: str | Encoder = DEFAULT_MODEL,
    pooling: Pooling | None = None,
    truncate: bool = False,
) -> Similarities:
    """Return the cosine similarities of sentences as a record, which notebooks show as a heat map.

    Arguments and errors are those of `similarity`; `Similarities.cosines` is the matrix.
    """
    encoder = _encoder_of(model, pooling)
    rows = encoder.encode(texts, truncate=truncate)
    columns = rows if others is None else encoder.encode(others, truncate=truncate)
    return Similarities(
        rows=tuple(texts),
        columns=tuple(texts if others is None else others),
        cosines=similarity_matrix(rows, columns),
        itself=others is None,
        model=encoder.model,
        pooling=encoder.pooling,
    )


def explain(
    query: str,
    passage: str,
    *,
    layer: Layer | None = None,
    model: str | Encoder = DEFAULT_MODEL,
    pooling: Pooling | None = None,
) -> Explanation:
    """Explain the cosine similarity of two texts, as `Index.explain` does for a hit.

    Args:
        query, passage: the two texts.
        layer: layer of both matrices: 0 for tokens as typed, "last" for their last vectors; None takes the layer that
            aligns words best (the middle one) for `similarity`, and 0 for `contributions`.
        model, pooling: as for `similarity`.

    Raises:
        InputError: the model has no such layer.
        TextTooLong: a text has more tokens than the model can read.
    """
    encoder = _encoder_of(model, pooling)
    first, second = encoder.inputs([query, passage])
    return explain_pair(first, second, encoder, Layers.of(layer, encoder.n_layers))


def _encoder_of(model: str | Encoder, pooling: Pooling | None) -> Encoder:
    if not isinstance(model, Encoder):
        return _loaded_encoder(str(model), pooling)
    if pooling and pooling != model.pooling:
        raise InputError(
            f"the encoder uses pooling '{model.pooling}', not '{pooling}'. Omit `pooling`, or load another encoder."
        )
    return model


@lru_cache(maxsize=1)
def _loaded_encoder(model: str, pooling: Pooling | None) -> Encoder:
    """Return an encoder; the encoder of the last call is cached, so repeated calls do not reload the model."""
    return Encoder(model, pooling=pooling)
