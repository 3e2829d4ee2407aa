"""X-rays of scores: the pieces of two texts, their embeddings, attention and poolings, beside the contributions.

The length of the three embeddings of a token, the weights of the attention and the pooler are read from the parameters
that `NumpyTracer` computes with; for models of other architectures an X-ray lacks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.encoding import Encoder
from search.encoding.pooling import pool
from search.explaining.explanation import HitNumbers
from search.explaining.traced_numpy import NumpyTracer
from search.explaining.tracers import tracer
from search.records.explanations import Explanation, Side
from search.records.xrays import RankByMeaning, XRay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.tokens import Matrix
    from search.store.snapshot import Snapshot

LOOKED = 200
"""Passages with the highest cosines that `rank_by_meaning` looks at."""

_POOLINGS = ("mean", "cls", "pooler")
_SIDES: tuple[Side, ...] = ("query", "passage")


def xray(explained: Explanation, rank: RankByMeaning | None = None) -> XRay:
    """Return the X-ray of an explanation.

    Args:
        explained: explanation of a score. One that was pickled has its own matrices only, so its X-ray has neither
            embeddings nor attention.
        rank: rank of the passage in an index.
    """
    numbers, own = explained.numbers, {explained.pooling: explained.cosine}
    if not isinstance(numbers, HitNumbers) or not numbers.has_two_texts:
        return XRay(explained, {}, own, rank=rank)
    encoder = numbers.hits.encoder
    of_model = tracer(encoder)
    readable = of_model if isinstance(of_model, NumpyTracer) else None
    lengths: dict[Side, Matrix] = (
        {side: readable.input_lengths(numbers.input(side)) for side in _SIDES} if readable else {}
    )
    weights = numbers.attention("query", 1) if explained.n_layers else None
    return XRay(
        explained,
        lengths,
        own | _other_poolings(numbers, encoder, readable, explained.pooling),
        0 if weights is None else len(weights),
        rank,
        numbers.attention,
    )


def _other_poolings(
    numbers: HitNumbers, encoder: Encoder, readable: NumpyTracer | None, own: str
) -> dict[str, float]:
    """Return the cosines of two texts with poolings of the last layer other than the model's own."""
    if readable is None:
        return {}
    others = {}
    for name in _POOLINGS:
        pooler = readable.pooler if name == "pooler" else None
        if name == own or (name == "pooler" and pooler is None):
            continue
        vectors = []
        for side in _SIDES:
            last = np.asarray(numbers.states(side)[-1], dtype=np.float32)[None]
            pooled = pooler(last[:, 0]) if pooler else None
            mask = np.ones(last.shape[:2], dtype=np.int64)
            vectors.append(pool(last, mask, name, pooled, encoder.skipped(numbers.input(side).role))[0])
        others[name] = _cosine(*vectors)
    return others


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def rank_by_meaning(
    snapshot: Snapshot, embedding: Matrix, cosine: float, without: Sequence[int] = ()
) -> RankByMeaning:
    """Return the rank that a text with this cosine has among the passages of an index.

    Args:
        embedding: (d,) embedding of the query, of unit length.
        cosine: cosine of the query and the text.
        without: IDs of passages that are not counted, such as the one that the text is a version of.
    """
    direction = embedding.astype(np.float32, copy=False)
    nearest = snapshot.nearest(direction, LOOKED + len(without))
    above = sum(value > cosine for id_, value in nearest if id_ not in without)
    others = snapshot.encoded - len(without)
    is_beyond = above >= min(LOOKED, others) and others > LOOKED
    return RankByMeaning(None if is_beyond else above + 1, others + bool(without), LOOKED)
