"""Rerank by late interaction: each query token with the passage token that is most like it.

The MaxSim of ColBERT (Khattab and Zaharia 2020, section 3.3), with the vectors of the model at hand, made a
weighted mean: `late = sum_i w_i max_j cos(q_i, p_j) / sum_i w_i`, over the tokens of the query, with the best of the
tokens of the passage and its context; special tokens and prompts are left out. A token weighs as much as its word
tells passages apart: log((N - n + 0.5) / (n + 0.5)) for a word in n of N passages, and at least 0.05.
The score is half the score before and half this, so it is a sum like any other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.encoder import Encoder
from search.ranking.ranking import Scored
from search.records.tokens import TokenVectors
from search.store.lexicon import Lexicon
from search.store.snapshot import StoredPassage
from search.store.token_vectors import kept, stored, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARE = 0.5  # of the new part; chosen with benchmarks/quality.py on Cranfield, CACM, TIME and XQuAD
_LEAST = 0.05


@dataclass(frozen=True, eq=False)
class Matched:
    """What late interaction says of one passage.

    Attributes:
        value: the weighted mean.
        addends: (q,) of each token of the query, 0 for those that are left out; they sum to `value`.
        best: (q,) its partner: a position among the tokens of the passage that are of its text or context.
    """

    value: float
    addends: NDArray[np.float64]
    best: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What late interaction takes from the index: weights of the kept query tokens, vectors that are stored."""

    weights: NDArray[np.float64]
    vectors: dict[int, NDArray[np.float32]]


class LateInteraction:
    """Late interaction of one query with passages of an index; see `search.ranking.rank.Reranker`.

    Args:
        query: with vectors of the last layer.
    """

    def __init__(self, lexicon: Lexicon, encoder: Encoder, query: TokenVectors) -> None:
        self._lexicon, self._encoder, self._query = lexicon, encoder, query
        self._rows = unit_rows(query)
        self._kept = kept(query.tokens)

    def prepare(self, connection: sqlite3.Connection, passages: Sequence[StoredPassage]) -> _Prepared:
        """Within a read transaction, in which no model runs."""
        found = stored(connection, [passage.id for passage in passages], self._rows.shape[1])
        return _Prepared(self._weights(connection), found)

    def rerank(
        self, best: Sequence[Scored], passages: Sequence[StoredPassage], prepared: _Prepared
    ) -> list[Scored]:
        """The same passages by their new scores, best first."""
        found = []
        matches = zip(best, self.matches(passages, prepared), strict=True)
        for rank, (item, matched) in enumerate(matches, start=1):
            score = (1 - SHARE) * item.score + SHARE * matched.value
            found.append(replace(item, score=score, reranked=matched.value, before=rank))
        return sorted(found, key=lambda item: (-item.score, item.passage))

    def matches(
        self,
        passages: Sequence[StoredPassage],
        prepared: _Prepared,
        encoded_before: Mapping[int, TokenVectors] | None = None,
    ) -> list[Matched]:
        """Of each passage, with its stored token vectors where it has them; others are encoded, once."""
        vectors = {id_: unit_rows(found) for id_, found in (encoded_before or {}).items()} | prepared.vectors
        if missing := {passage.id: passage for passage in passages if passage.id not in vectors}:
            encoded = self._encoder.tokens(
                [passage.text for passage in missing.values()],
                contexts=[passage.context for passage in missing.values()],
                role="document",
            )
            vectors |= {id_: unit_rows(found) for id_, found in zip(missing, encoded, strict=True)}
        return [self._matched(vectors[passage.id], prepared.weights) for passage in passages]

    def _matched(self, passage: NDArray[np.float32], weights: NDArray[np.float64]) -> Matched:
        n = len(self._query.tokens)
        addends, best = np.zeros(n), np.zeros(n, dtype=np.int64)
        if len(self._kept) and len(passage):
            cosines = self._rows @ passage.T
            partner = cosines.argmax(axis=1)
            best[self._kept] = partner
            addends[self._kept] = weights * cosines[np.arange(len(partner)), partner]
        return Matched(float(addends.sum()), addends, best)

    def _weights(self, connection: sqlite3.Connection) -> NDArray[np.float64]:
        """(kept tokens,) what each counts; they sum to 1."""
        words = self._lexicon.word_weights(connection, self._query.text)
        found = np.full(len(self._kept), _LEAST)
        for place, i in enumerate(self._kept):
            at = self._query.tokens[i].start
            weight = next((weight for start, end, weight in words if start <= at < end), _LEAST)
            found[place] = max(_LEAST, weight)
        return found / found.sum() if len(found) else found
