"""Two matrices over query tokens and passage tokens, which must not be confused.

The similarity matrix says which token is like which. The contribution matrix says what the cosine of the
two embeddings is made of: with mean pooling over n query tokens and m passage tokens

    cos(q, p) = (mean_i q_i) . (mean_j p_j) / (|q_mean| |p_mean|)
              = sum_ij  (q_i . p_j) / (n m |q_mean| |p_mean|)

so each pair of tokens adds (q_i . p_j) / (n m |q_mean| |p_mean|), and these addends sum to the cosine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def similarity_matrix(query: NDArray[Any], passage: NDArray[Any]) -> NDArray[np.float32]:
    """Cosine similarity of every query token with every passage token.

    Args:
        query: (q, d) token vectors, q >= 1, any length, any scale.
        passage: (p, d) token vectors from the same model and layer, p >= 1.

    Returns:
        (q, p) float32 in [-1, 1]; row i belongs to query token i. A token whose vector is all zeros gets
        a row or column of zeros, never NaN.

    Raises:
        InputError: if either array is not 2-D, is empty, or the widths differ.

    Example:
        >>> similarity_matrix(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 5.0]]))
        array([[1., 0.]], dtype=float32)
    """
    _check(query, passage)
    cosines = _directions(query) @ _directions(passage).T
    return np.clip(cosines, -1, 1).astype(np.float32)


def contribution_matrix(
    query: NDArray[Any], passage: NDArray[Any], pooling: str = "mean"
) -> NDArray[np.float64]:
    """What each pair of tokens adds to the cosine of the two pooled embeddings.

    Args:
        query: (q, d) last-layer vectors of all query tokens, special tokens included.
        passage: (p, d) likewise.
        pooling: "mean" or "mean_sqrt_len" (the same cosine), or "max", where each dimension's
            addend goes to the pair of tokens that hold its largest values.

    Returns:
        (q, p) float64; its sum is the cosine, to rounding. Addends may be negative.

    Raises:
        InputError: for shapes that do not fit, for "cls" and "pooler", whose embeddings are no
            linear function of the token vectors, and when a pooled vector is all zeros.

    Example:
        >>> contribution_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 0.0]])).round(4)
        array([[0.7071],
               [0.    ]])
    """
    _check(query, passage)
    q, p = query.astype(np.float64), passage.astype(np.float64)
    if pooling in ("mean", "mean_sqrt_len"):
        lengths = np.linalg.norm(q.mean(axis=0)) * np.linalg.norm(p.mean(axis=0))
        _require_direction(lengths)
        return (q @ p.T) / (len(q) * len(p) * lengths)
    if pooling == "max":
        lengths = np.linalg.norm(q.max(axis=0)) * np.linalg.norm(p.max(axis=0))
        _require_direction(lengths)
        addends = np.zeros((len(q), len(p)))
        np.add.at(addends, (q.argmax(axis=0), p.argmax(axis=0)), q.max(axis=0) * p.max(axis=0) / lengths)
        return addends
    raise InputError(
        f"with pooling '{pooling}' an embedding is not a sum over tokens, so its cosine has no exact addends. "
        "Build the index with --pooling mean, mean_sqrt_len or max to have scores explained."
    )


def _require_direction(length: np.floating[Any]) -> None:
    if length == 0:
        raise InputError("the token vectors cancel out: a pooled vector is all zeros and has no cosine.")


def _check(query: NDArray[Any], passage: NDArray[Any]) -> None:
    for name, array in (("query", query), ("passage", passage)):
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(
                f"the {name}'s token vectors must be (tokens, d) with at least one token, not {array.shape}."
            )
    if query.shape[1] != passage.shape[1]:
        raise InputError(
            f"the token vectors differ in width: {query.shape[1]} for the query, {passage.shape[1]} for the passage."
        )


def _directions(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Rows scaled to length 1; a row of zeros stays one."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
