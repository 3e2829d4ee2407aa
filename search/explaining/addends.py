"""Addends of a score besides the cosine: keywords and rerankers; and the recomputed score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.ranking.rank import require_same_passage
from search.ranking.rerank import LateInteraction
from search.ranking.words import occurrences
from search.records.contents import StoredPassage
from search.records.hits import Hit
from search.records.option_tools import Ranking
from search.records.options import LATE_SHARE
from search.records.shares import Term
from search.records.tokens import TokenVectors
from search.store.snapshot import Snapshot
from search.store.terms import IndexTerm
from search.store.token_vectors import stored_positions


@dataclass(frozen=True, eq=False)
class Addends:
    """Addends of a score other than those of token pairs.

    Attributes:
        embedding: embedding of the passage, from the index.
        terms: addends of the query's words as keywords, or of a cross-encoder.
        recomputed: the score, recomputed from the index; None for a cross-encoder's score, as it is not run again.
        late: (q, p) addends of late interaction, by tokens of query and passage.
    """

    embedding: NDArray[np.float32]
    terms: tuple[Term, ...] = ()
    recomputed: float | None = None
    late: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class IndexedHit:
    """Data of a hit from the index.

    Attributes:
        terms: addends of the query's words as keywords.
        score: score before reranking.
        prepared: data for late interaction; None if the hit was not reranked by it.
    """

    passage: StoredPassage
    embedding: NDArray[np.float32]
    terms: tuple[Term, ...]
    score: float
    prepared: Any


class AddendFinder:
    """Finds the addends for the hits of one query.

    Args:
        query_of: returns the query as it was ranked, without the words that the ranking leaves out.
    """

    def __init__(self, encoder: Encoder, query_of: Callable[[Ranking], EncodedQuery]) -> None:
        self._encoder, self._query_of = encoder, query_of
        self._late_interaction: LateInteraction | None = None

    def _late(self, ranking: Ranking) -> LateInteraction:
        if self._late_interaction is None:
            tokens = self._query_of(ranking).tokens
            assert tokens is not None  # a query of several parts is not reranked
            self._late_interaction = LateInteraction(self._encoder, tokens)
        return self._late_interaction

    def fetch(self, snapshot: Snapshot, hits: Sequence[Hit]) -> list[IndexedHit]:
        """Read the data of each hit from the index."""
        fusions: dict[Ranking, Fusion] = {}
        return [self._fetch(snapshot, hit, fusions) for hit in hits]

    def of(self, hits: Sequence[Hit], stored: Sequence[IndexedHit]) -> list[Addends]:
        """Return the addends of hits; `stored` is their data from the index."""
        late = [hit for hit in hits if hit.ranking.rerank == "late"]
        vectors: Iterator[TokenVectors] = iter(())
        if late:
            vectors = iter(
                self._encoder.tokens(
                    [hit.text for hit in late],
                    contexts=[hit.context for hit in late],
                    hidden=[hit.hidden for hit in late],
                    role="document",
                )
            )
        return [
            self._of_late(hit, of_hit, next(vectors))
            if hit.ranking.rerank == "late"
            else self._of(hit, of_hit)
            for hit, of_hit in zip(hits, stored, strict=True)
        ]

    def terms(self, snapshot: Snapshot, hits: Sequence[Hit], ranking: Ranking) -> list[list[Term]]:
        """Return the terms of hits of one ranking, without their places in the passages, which are not read."""
        if ranking.rerank:
            return [[_of_model(hit)] for hit in hits]
        fusion = Fusion(snapshot, self._query_of(ranking), ranking)
        ids = np.array([hit.passage_id for hit in hits], dtype=np.int64)
        return [
            [
                Term(term.text, (1 - ranking.weight) * value, term.start, term.end)
                for term, value in present
            ]
            for present in _keyword_addends(fusion, ids)
        ]

    def _of(self, hit: Hit, stored: IndexedHit) -> Addends:
        if hit.ranking.rerank:
            return Addends(stored.embedding, (_of_model(hit),))
        return Addends(stored.embedding, stored.terms, stored.score)

    def _of_late(self, hit: Hit, stored: IndexedHit, encoded: TokenVectors) -> Addends:
        """Return the addends of a hit of late interaction; `encoded` has the vectors of its passage's tokens."""
        (matched,) = self._late(hit.ranking).matches(
            [stored.passage], stored.prepared, {stored.passage.passage_id: encoded}
        )
        share = hit.ranking.first_share
        cells = np.zeros((len(matched.addends), len(encoded.tokens)))
        columns = stored_positions(encoded.tokens)
        for row in np.flatnonzero(matched.addends):
            cells[row, columns[matched.best[row]]] = LATE_SHARE * matched.addends[row]
        score = share * stored.score + LATE_SHARE * matched.value
        terms = tuple(replace(term, contribution=share * term.contribution) for term in stored.terms)
        return Addends(stored.embedding, terms, score, cells)

    def _fetch(self, snapshot: Snapshot, hit: Hit, fusions: dict[Ranking, Fusion]) -> IndexedHit:
        """Read the data of a hit from the index.

        Raises:
            InputError: the hit's passage is no longer in the index, or the hit is from another index.
        """
        passage = snapshot.passage(hit.passage_id)
        require_same_passage(hit, passage)
        ranking = hit.ranking
        query = self._query_of(ranking)
        assert query.embedding is not None
        if ranking not in fusions:
            fusions[ranking] = Fusion(snapshot, query, ranking)
        fusion = fusions[ranking]
        (embedding,) = snapshot.embeddings([passage.passage_id])
        terms = _terms(snapshot, fusion, ranking, passage)
        (lexical,) = fusion.keyword_scores.of(np.array([passage.passage_id]))
        meaning = float(embedding @ query.embedding)
        score = ranking.weight * meaning + (1 - ranking.weight) * float(lexical)
        prepared = None
        if ranking.rerank == "late":
            prepared = self._late(ranking).prepare(snapshot, [passage])
        return IndexedHit(passage, embedding, terms, score, prepared)


def _terms(
    snapshot: Snapshot, fusion: Fusion, ranking: Ranking, passage: StoredPassage
) -> tuple[Term, ...]:
    """Return the addend of each query word in a passage's keyword score, without words that it lacks."""
    (present,) = _keyword_addends(fusion, np.array([passage.passage_id]))
    places = occurrences(snapshot, [term for term, _ in present], passage)
    return tuple(
        Term(term.text, (1 - ranking.weight) * value, term.start, term.end, occurrences_of_term)
        for (term, value), occurrences_of_term in zip(present, places, strict=True)
    )


def _keyword_addends(fusion: Fusion, passages: NDArray[np.int64]) -> list[list[tuple[IndexTerm, float]]]:
    """Return for each passage the query words that it contains, and their addends to its keyword score."""
    rows = fusion.keyword_scores.addends(passages) / fusion.keyword_scores.scale
    return [
        [(term, value) for term, value in zip(fusion.terms, row, strict=True) if value]
        for row in rows.tolist()
    ]


def _of_model(hit: Hit) -> Term:
    """Return the score of a cross-encoder, which does not run again."""
    return Term(f"score of {hit.ranking.rerank}", hit.reranked or 0.0, kind="model")
