"""Answerability: the probability that the index answers a query, from two features of its ranking.

    score: the score of the best hit
    coverage: the largest share of the query's words in the first ten hits of one document, weighted by idf; words that
    no passage contains count, too

The model is a logistic regression. `benchmarks/verdict.py` fits it on queries with and without their answers in the
index and prints the coefficients; its page reports the accuracy. They hold only for the default ranking with the
default model: other rankings and models have other scores, and get no verdict.
"""

from __future__ import annotations

import math
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.models import DEFAULT_WEIGHTS
from search.records.hits import Verdict
from search.records.options import Ranking
from search.store.bm25 import weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search.ranking.fusion import Fusion, Scored
    from search.ranking.question import EncodedQuery
    from search.store.sqlite import Snapshot

FIRST_HITS = 10

CONSTANT, SCORE, WORDS = -6.99, 5.96, 8.49
LIKELY, NOTHING = 0.7, 0.08  # from here on, and below


def answerability(
    snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, fusion: Fusion, best: Sequence[Scored]
) -> Verdict | None:
    """Answerability verdict for a query and its best passages, best first; None for rankings without calibration."""
    if not best or ranking != Ranking.of() or query.parts:
        return None
    fingerprint = snapshot.facts.fingerprint
    if (fingerprint.weights, fingerprint.pooling, fingerprint.layer) != (DEFAULT_WEIGHTS, "mean", "-1"):
        return None
    score, coverage = best[0].score, _coverage(snapshot, fusion, best[:FIRST_HITS])
    probability = 1 / (1 + math.exp(-(CONSTANT + SCORE * score + WORDS * coverage)))
    if probability >= LIKELY:
        return Verdict("answers likely", probability, score, coverage)
    return Verdict("perhaps" if probability >= NOTHING else "nothing", probability, score, coverage)


def _coverage(snapshot: Snapshot, fusion: Fusion, best: Sequence[Scored]) -> float:
    """Return the largest share of the query's words, by idf, that the best passages of one document contain.

    The share is a number from 0 to 1.
    """
    passages = list(map(attrgetter("passage"), best))
    weights = partial(weight, passages=snapshot.facts.passages)
    idf = dict(zip(fusion.typed, map(weights, fusion.counts), strict=True))
    has = fusion.matches.addends(np.array(passages, dtype=np.int64)) > 0
    document_of = snapshot.documents(passages)
    documents = np.array(list(map(document_of.__getitem__, passages)))
    worth, most = np.array(list(map(idf.__getitem__, fusion.terms))), 0.0
    for document in set(documents.tolist()):
        most = max(most, float(has[documents == document].any(axis=0) @ worth))
    return most / (sum(idf.values()) or 1.0)
