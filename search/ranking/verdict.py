"""Does anything here answer this? How likely it is, by two figures that a ranking has at hand.

    the score of the best hit
    how much of the query's words is found together: of the first ten hits, the most that those of one document have,
    each word counting its idf; words that no passage has count, too, as what nobody says here is not answered here

A logistic regression of the two; its coefficients are what `benchmarks/verdict.py` prints, which asks questions with
and without what answers them (its page says how sure the verdicts are, and on what). They hold for the default ranking
with the default model: other rankings and models have other scores, and no verdict.
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

SEEN = 10  # first hits that are looked at

CONSTANT, SCORE, WORDS = -6.99, 5.96, 8.49
LIKELY, NOTHING = 0.7, 0.08  # from here on, and below


def answerability(
    snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, fusion: Fusion, best: Sequence[Scored]
) -> Verdict | None:
    """Whether the best passages, best first, seem to answer a query; None where that cannot be told."""
    if not best or ranking != Ranking.of() or query.parts:
        return None
    fingerprint = snapshot.facts.fingerprint
    if (fingerprint.weights, fingerprint.pooling, fingerprint.layer) != (DEFAULT_WEIGHTS, "mean", "-1"):
        return None
    score, coverage = best[0].score, _coverage(snapshot, fusion, best[:SEEN])
    probability = 1 / (1 + math.exp(-(CONSTANT + SCORE * score + WORDS * coverage)))
    if probability >= LIKELY:
        return Verdict("answers likely", probability, score, coverage)
    return Verdict("perhaps" if probability >= NOTHING else "nothing", probability, score, coverage)


def _coverage(snapshot: Snapshot, fusion: Fusion, best: Sequence[Scored]) -> float:
    """The most of the query's words that passages of one document have between them, in [0, 1]."""
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
