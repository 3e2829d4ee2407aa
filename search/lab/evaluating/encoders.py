"""Compare two encoders, such as two models, layers or poolings, on one index or on a pair of texts.

The passages of an index are encoded again with both, in memory; its embeddings are not used. Two rankings for one query
are compared by the passages among the first k of both, and by Spearman's rank correlation of all cosines. What changes
a cosine is shown by the contributions of the words with both encoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.tokenizer import ModelInput, encode_ids, with_context
from search.errors import InputError, TextTooLong
from search.explaining.explanation import Layers, TextPart, TracedHits
from search.index import Index
from search.lab.evaluating.encoder_shares import among_unrelated, setting_of, shares_of_both
from search.lab.records.encoder_comparisons import (
    EncoderComparison,
    NeighbourChange,
    QueryComparison,
    TextComparison,
)
from search.records.contents import StoredPassage
from search.records.explanations import Explanation
from search.statistics import mean_of
from search.store.layout import needs_local_index
from search.store.opening import opened
from search.store.passages import existing
from search.texts import explain

_MOST_SAMPLED_QUERIES = 200
_FEWEST_PASSAGES = 3  # a rank correlation of two passages is 1 or -1


def compare_texts(text: str, text2: str, first: Encoder, second: Encoder) -> TextComparison:
    """Compare the cosines of two encoders for a pair of texts.

    Returns:
        Both cosines, each among the cosines of unrelated pairs with its encoder, and the contribution of each word of
        the first text to both. They sum to the cosines; see `CosineShares.residuals`.

    Raises:
        InputError: a text is empty.
        TextTooLong: a text has more tokens than an encoder reads.
    """
    if not (text.strip() and text2.strip()):
        raise InputError("a text is empty. Give two texts.")
    shares = shares_of_both(*(explain(text, text2, model=encoder) for encoder in (first, second)))
    return TextComparison(
        texts=(text, text2),
        first=setting_of(first),
        second=setting_of(second),
        shares=shares,
        unrelated=(
            among_unrelated(first, shares.totals[0]),
            among_unrelated(second, shares.totals[1]),
        ),
    )


def compare_encoders(
    index: Index | str | Path,
    first: Encoder,
    second: Encoder,
    queries: Sequence[str] | None = None,
    *,
    k: int = 10,
    most: int = 2000,
    explained: int = 3,
    seed: int = 0,
) -> EncoderComparison:
    """Compare the rankings of two encoders for the passages of an index.

    Args:
        index: an open index, or its folder, path or name; only its texts are read.
        queries: texts of queries. None: up to 200 of the passages are the queries, each among all others.
        k: number of first passages to compare, at least 1; if there are fewer passages, all but one are compared.
        most: maximum number of passages to encode, at least 3; of more, a random sample is drawn.
        explained: number of queries, the least alike first, for which the passage whose rank changes most is explained:
            what each word of the query adds to its cosine with both encoders.
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
    sides = [_cosines(encoder, passages, texts, rows) for encoder in (first, second)]
    candidates = len(passages) - (texts is None)
    k = min(k, candidates - 1)
    if texts is None:
        rows_of_queries = [(passages[row].visible_text, row) for row in rows.tolist()]
    else:
        rows_of_queries = [(text, None) for text in texts]
    compared = [
        _compared(text, passages, row, (sides[0].cosines[i], sides[1].cosines[i]), k)
        for i, (text, row) in enumerate(rows_of_queries)
    ]
    compared.sort(key=lambda query: (query.overlap, query.correlation))
    encoders = ((first, sides[0].mean), (second, sides[1].mean))
    compared[:explained] = [_explained(query, encoders) for query in compared[:explained]]
    return EncoderComparison(
        first=setting_of(first, sides[0].truncated),
        second=setting_of(second, sides[1].truncated),
        passages=len(passages),
        total=total,
        k=k,
        overlap=mean_of(np.array([query.overlap for query in compared])),
        by_chance=k / candidates,
        correlation=mean_of(np.array([query.correlation for query in compared])),
        queries=tuple(compared),
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


@dataclass(frozen=True, eq=False)
class _Cosines:
    """Cosines of q queries and n passages with one encoder.

    Attributes:
        cosines: (q, n) float32.
        mean: (d,) mean of the passages' embeddings.
        truncated: number of passages that were truncated.
    """

    cosines: NDArray[np.float32]
    mean: NDArray[np.float32]
    truncated: int


def _cosines(
    encoder: Encoder,
    passages: Sequence[StoredPassage],
    queries: Sequence[str] | None,
    rows: NDArray[np.int64],
) -> _Cosines:
    """Return the cosines of queries and passages.

    Args:
        queries: texts of queries; None if the passages at `rows` are the queries.
    """
    texts = [with_context(passage.context, passage.visible_text) for passage in passages]
    vectors = encoder.encode(texts, role="document", truncate=True)
    prompt = encoder.prompt("document")
    encoded = encode_ids(encoder.tokenizer, [prompt + text for text in texts], encoder.max_tokens)
    cut = sum(bool(text.dropped) for text in encoded)
    of_queries = vectors[rows] if queries is None else encoder.encode(queries, role="query")
    return _Cosines(of_queries @ vectors.T, vectors.mean(axis=0), cut)


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

    most_changed = None
    among_first = np.flatnonzero((before <= k) | (after <= k))
    differences = np.abs(after - before)[among_first]
    if differences.any():
        most_changed = changes(among_first[[differences.argmax()]], after)[0]
    return QueryComparison(
        query=query,
        passage=None if itself is None else passages[itself],
        overlap=1 - len(gained) / k,
        correlation=float(np.nan_to_num(matrix[0, 1])),
        gained=changes(gained, after),
        lost=changes(lost, before),
        most_changed=most_changed,
    )


def _explained(
    query: QueryComparison, encoders: Sequence[tuple[Encoder, NDArray[np.float32]]]
) -> QueryComparison:
    """Add what each word of a query adds to its cosine with the passage whose rank changes most.

    Nothing is added if there is no such passage, or if an encoder reads only a part of it or of the query.

    Args:
        encoders: each encoder, with the mean of the passages' embeddings.
    """
    if query.most_changed is None:
        return query
    passage = query.most_changed.passage
    try:
        first, second = (_explanations(encoder, mean, query, passage) for encoder, mean in encoders)
    except TextTooLong:
        return query
    shares, above_mean = (shares_of_both(*both) for both in zip(first, second, strict=True))
    return replace(query, shares=shares, above_mean=above_mean)


def _explanations(
    encoder: Encoder, mean: NDArray[np.float32], query: QueryComparison, passage: StoredPassage
) -> tuple[Explanation, Explanation]:
    """Explain the cosine of a query and a passage, and its distance from the mean cosine of all passages."""
    target = _input(encoder, passage)
    if query.passage is None:
        (read,) = encoder.inputs([query.query], role="query")
        embedding = encoder.encode([query.query], role="query")[0]
    else:
        read = _input(encoder, query.passage)
        embedding = encoder.encode([read.whole])[0]
    of_passage = encoder.encode([target.whole])[0]
    directions = np.stack([of_passage, of_passage - mean])
    layers = Layers.of(None, encoder.n_layers)
    hits = TracedHits(encoder, [TextPart(read, 1.0, embedding)], [target] * 2, directions, layers)
    return hits.explanation(0), hits.explanation(1)


def _input(encoder: Encoder, passage: StoredPassage) -> ModelInput:
    (read,) = encoder.inputs([passage.visible_text], contexts=[passage.context], role="document")
    return read
