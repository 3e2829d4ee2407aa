"""Compare two encoders, such as two models, layers or poolings, by the passages that they find in one index.

The passages are encoded again with both, in memory; the embeddings of the index are not used. Two rankings for one
query are compared by the passages among the first k of both, and by Spearman's rank correlation of all cosines.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.pooling import layer_number
from search.encoding.tokenizer import encode_ids, with_context
from search.errors import InputError
from search.index import Index
from search.lab.records.encoder_comparisons import (
    EncoderComparison,
    EncoderSetting,
    NeighbourChange,
    QueryComparison,
)
from search.records.contents import StoredPassage
from search.statistics import mean_of
from search.store.layout import needs_local_index
from search.store.opening import opened
from search.store.passages import existing

_MOST_SAMPLED_QUERIES = 200
_FEWEST_PASSAGES = 3  # a rank correlation of two passages is 1 or -1


def compare_encoders(
    index: Index | str | Path,
    first: Encoder,
    second: Encoder,
    queries: Sequence[str] | None = None,
    *,
    k: int = 10,
    most: int = 2000,
    seed: int = 0,
) -> EncoderComparison:
    """Compare the rankings of two encoders for the passages of an index.

    Args:
        index: an open index, or its folder, path or name; only its texts are read.
        queries: texts of queries. None: up to 200 of the passages are the queries, each among all others.
        k: number of first passages to compare, at least 1; if there are fewer passages, all but one are compared.
        most: maximum number of passages to encode, at least 3; of more, a random sample is drawn.
        seed: seed of the samples.

    Returns:
        Means with 95 % intervals over the queries, and each query with the passages gained and lost.

    Raises:
        InputError: the index has fewer than three passages, or is on a server; a query is empty; or k or `most` is too
            small.
    """
    if k < 1 or most < _FEWEST_PASSAGES:
        raise InputError(f"k is {k} and most is {most}; they must be at least 1 and {_FEWEST_PASSAGES}.")
    texts = None if queries is None else list(queries)
    if texts is not None and not (texts and all(text.strip() for text in texts)):
        raise InputError("a query is empty, or there is none. Give at least one text.")
    chance = np.random.default_rng(seed)
    passages, total = _passages(index, most, chance)
    rows = _sample(len(passages), _MOST_SAMPLED_QUERIES, chance)
    first_cosines, cut = _cosines(first, passages, texts, rows)
    second_cosines, second_cut = _cosines(second, passages, texts, rows)
    candidates = len(passages) - (texts is None)
    k = min(k, candidates - 1)
    if texts is None:
        rows_of_queries = [(passages[row].visible_text, row) for row in rows.tolist()]
    else:
        rows_of_queries = [(text, None) for text in texts]
    compared = [
        _compared(text, passages, row, (first_cosines[i], second_cosines[i]), k)
        for i, (text, row) in enumerate(rows_of_queries)
    ]
    return EncoderComparison(
        first=_setting(first, cut),
        second=_setting(second, second_cut),
        passages=len(passages),
        total=total,
        k=k,
        overlap=mean_of(np.array([query.overlap for query in compared])),
        by_chance=k / candidates,
        correlation=mean_of(np.array([query.correlation for query in compared])),
        queries=tuple(sorted(compared, key=lambda query: (query.overlap, query.correlation))),
    )


def _passages(
    index: Index | str | Path, most: int, chance: np.random.Generator
) -> tuple[list[StoredPassage], int]:
    """Return at most `most` passages of an index, by increasing IDs, and the number of all."""
    store = opened(index.name if isinstance(index, Index) else index)
    if not store.local:
        raise needs_local_index(store.name)
    with store.reading() as snapshot:
        ids = snapshot.ids()
        if len(ids) < _FEWEST_PASSAGES:
            raise InputError(
                f"'{store.name}' has {len(ids)} passages; a comparison needs {_FEWEST_PASSAGES}. Index more texts."
            )
        chosen = ids[_sample(len(ids), most, chance)]
        return list(existing(snapshot, chosen.tolist()).values()), len(ids)


def _sample(total: int, most: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Return all numbers below `total`, or a random sample of `most` of them, in increasing order."""
    if total <= most:
        return np.arange(total)
    return np.sort(chance.choice(total, size=most, replace=False))


def _cosines(
    encoder: Encoder,
    passages: Sequence[StoredPassage],
    queries: Sequence[str] | None,
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.float32], int]:
    """Return the (q, n) cosines of queries and passages, and the number of passages that were truncated.

    Args:
        queries: texts of queries; None if the passages at `rows` are the queries.
    """
    texts = [with_context(passage.context, passage.visible_text) for passage in passages]
    vectors = encoder.encode(texts, role="document", truncate=True)
    prompt = encoder.prompt("document")
    encoded = encode_ids(encoder.tokenizer, [prompt + text for text in texts], encoder.max_tokens)
    cut = sum(bool(text.dropped) for text in encoded)
    of_queries = vectors[rows] if queries is None else encoder.encode(queries, role="query")
    return of_queries @ vectors.T, cut


def _compared(
    query: str,
    passages: Sequence[StoredPassage],
    itself: int | None,
    cosines: tuple[NDArray[np.float32], NDArray[np.float32]],
    k: int,
) -> QueryComparison:
    """Compare the two rankings of one query; `itself` is the row of the passage that is the query."""
    from scipy.stats import rankdata

    rows = np.array([row for row in range(len(passages)) if row != itself])
    ranks = []
    for values in cosines:
        places = np.empty(len(rows), dtype=np.int64)
        places[np.argsort(-values[rows], kind="stable")] = np.arange(1, len(rows) + 1)
        ranks.append(places)
    before, after = ranks
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.corrcoef(rankdata(cosines[0][rows]), rankdata(cosines[1][rows]))
    gained = np.flatnonzero((after <= k) & (before > k))
    lost = np.flatnonzero((before <= k) & (after > k))

    def changes(chosen: NDArray[np.int64], order: NDArray[np.int64]) -> tuple[NeighbourChange, ...]:
        by_rank = chosen[np.argsort(order[chosen])]
        return tuple(
            NeighbourChange(passages[rows[row]], int(before[row]), int(after[row])) for row in by_rank
        )

    return QueryComparison(
        query=query,
        passage=None if itself is None else passages[itself],
        overlap=1 - len(gained) / k,
        correlation=float(np.nan_to_num(matrix[0, 1])),
        gained=changes(gained, after),
        lost=changes(lost, before),
    )


def _setting(encoder: Encoder, truncated: int) -> EncoderSetting:
    layers = encoder.n_layers
    layer = encoder.layer if ":" in encoder.layer else str(layer_number(int(encoder.layer), layers))
    return EncoderSetting(encoder.model, encoder.pooling, layer, layers, truncated)
