"""Answerability: the probability that the index answers a query, from three figures of its first hits.

    excess: cosine of the best hit, minus the cosine that a question without an answer reaches in this index
        (search/indexing/sampling.py). At most 0.25: a higher cosine tells how near the topic is, but not whether there
        is an answer.
    coverage: the largest share of the query's words in one of the first three hits, weighted by idf. Words that no
        passage contains count; words in more than half of the passages do not.
    lead: score of the best hit, minus the score of the tenth; at most 0.25.

The probability is a logistic regression on the three figures. `benchmarks/verdict.py` fits it to questions with and
without answers, in collections of many kinds; benchmarks/README.md reports the accuracy. It is valid only for the
default ranking with the default model, without prompts, and all its dimensions. Others get no verdict, as what they
claimed would be a guess; nor do fewer than ten passages.

Who types an identifier (`search.ranking.identifiers`) asks where it stands. That is counted, whatever the model and
ranking.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.models import DEFAULT_WEIGHTS
from search.ranking.identifiers import identifiers_of
from search.records.hits import IdentifierCount, Verdict, VerdictWords
from search.records.option_tools import Ranking
from search.store.bm25 import weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search.ranking.fusion import Fusion, Scored
    from search.ranking.question import EncodedQuery
    from search.store.snapshot import Ids, Snapshot

FIRST_HITS = 10

CONSTANT, EXCESS, COVERAGE, LEAD = -4.0, 11.95, 2.42, 6.9
MOST_EXCESS, MOST_LEAD = 0.25, 0.25
# 5 % of the unanswered questions reach ANSWERED, 3 % of the answered ones stay below PERHAPS.
ANSWERED, PROBABLY, PERHAPS = 0.83, 0.5, 0.15
# Where another hit has that much more of the words than the first, it is the better one in 8 of 11 answered questions,
# the first in 5.
MORE_COVERAGE = 0.2
DEFAULT_DIMENSION = "384"  # of the default model
# Default for an index that did not measure it; most indexes measure 0.13 to 0.25.
FOREIGN_COSINE = 0.18


def answerability(
    snapshot: Snapshot,
    query: EncodedQuery,
    ranking: Ranking,
    fusion: Fusion,
    best: Sequence[Scored],
    among: Ids | None = None,
) -> Verdict | None:
    """Answerability verdict for a query and its best passages, best first; None for rankings without calibration.

    Args:
        among: the passages that pass the filter; None for all. The foreign cosine is that of the whole index.
    """
    if verdict := about_identifiers(snapshot, query, best, among):
        return verdict
    if len(best) < FIRST_HITS or ranking != Ranking.of() or query.parts:
        return None
    fingerprint = snapshot.facts.fingerprint
    settings = fingerprint.pooling, fingerprint.layer, fingerprint.dimension, fingerprint.prompts
    if fingerprint.weights != DEFAULT_WEIGHTS or settings != ("mean", "-1", DEFAULT_DIMENSION, "{}"):
        return None
    score, (excess, coverage, lead) = best[0].score, figures(snapshot, fusion, best)
    odds = CONSTANT + EXCESS * excess + COVERAGE * coverage + LEAD * lead
    probability = 1 / (1 + math.exp(-odds))
    return Verdict(in_words(probability), probability, score, coverage, _evidence(snapshot, fusion, best))


def in_words(probability: float) -> VerdictWords:
    """Return the words for a probability."""
    if probability >= PROBABLY:
        return "answered" if probability >= ANSWERED else "probably answered"
    return "perhaps" if probability >= PERHAPS else "probably not here"


def about_identifiers(
    snapshot: Snapshot, query: EncodedQuery, best: Sequence[Scored], among: Ids | None
) -> Verdict | None:
    """Count the files with each identifier of a query; None without identifiers, and for an index on a server."""
    names = () if query.parts or snapshot.approximate or not best else identifiers_of(query.text)
    if not names:
        return None
    counts = tuple(IdentifierCount(name, snapshot.files_with(name, among)) for name in names)
    occurs = any(count.files for count in counts)
    return Verdict("found" if occurs else "not found", None, best[0].score, None, identifiers=counts)


def figures(snapshot: Snapshot, fusion: Fusion, best: Sequence[Scored]) -> tuple[float, float, float]:
    """Return excess, coverage and lead of at least ten hits of a hybrid ranking."""
    excess = (best[0].cosine or 0.0) - (snapshot.facts.foreign_cosine or FOREIGN_COSINE)
    lead = best[0].score - best[FIRST_HITS - 1].score
    return min(excess, MOST_EXCESS), _coverage(snapshot, fusion, best[:3]), min(lead, MOST_LEAD)


def _evidence(snapshot: Snapshot, fusion: Fusion, best: Sequence[Scored]) -> int | None:
    """Return the ID of the second or third passage if much more of the query's words are in it than in the first."""
    first, *others = (_coverage(snapshot, fusion, [item]) for item in best[:3])
    most = max(others)
    return best[1 + others.index(most)].passage if most - first >= MORE_COVERAGE else None


def _coverage(snapshot: Snapshot, fusion: Fusion, best: Sequence[Scored]) -> float:
    """Return the largest share of the query's words in one of the passages, weighted by idf, in [0, 1]."""
    passages, counts = snapshot.facts.passages, dict(zip(fusion.typed, fusion.counts, strict=True))
    rare = {term: count for term, count in counts.items() if count <= passages / 2} or counts
    idf = {term: weight(count, passages) for term, count in rare.items()}
    ids = np.array([item.passage for item in best], dtype=np.int64)
    contains = fusion.keyword_scores.addends(ids) > 0
    weights = np.array([idf.get(term, 0.0) for term in fusion.terms])
    return min(1.0, float((contains @ weights).max(initial=0.0)) / (sum(idf.values()) or 1.0))
