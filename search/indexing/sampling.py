"""Null distribution of an index: scores of random pairs of a query and a passage.

200 passages are drawn. A sentence of each, at most 16 words, is used as a query, so the queries have the topics of the
index and a realistic length. Length matters most: longer queries score higher with random passages, too. In Cranfield,
95 % of the random pairs score below 0.354 with such sentences, but below 0.283 with queries of 6 words.

Passages of a query's own document are related to it, so they are excluded from its pairs and from the BM25 divisor.

The verdict needs the highest cosine that a question without an answer reaches. It is estimated with the foreign
questions in foreign.txt (about gardens, history, sport and so on), which hardly any index answers: as the median of
their highest cosines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.encoder import Encoder
from search.encoding.models import DEFAULT_WEIGHTS
from search.store.bm25 import discriminative, scale, weight
from search.store.database import one_meta
from search.store.null_distribution import PAIRS_NEEDED, Baseline, is_due, put_baseline
from search.store.snapshot import Snapshot
from search.store.tables import Tables
from search.store.terms import word_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUERIES = 200
_PAIRS_OF_A_QUERY = 10
_FEWEST_WORDS, _MOST_WORDS = 4, 16
_FOREIGN = Path(__file__).with_name("foreign.txt")
# Factor of the number of passages after which foreign questions are measured again.
_CHANGE = 1.5

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n")


def renew_baseline(tables: Tables, snapshot: Snapshot, encoder: Encoder) -> None:
    """Draw and store a new sample if there is none, or the stored one is out of date.

    Args:
        snapshot: the index, with the uncommitted changes of the writer.
    """
    if is_due(tables.connection, snapshot.facts.passages):
        put_baseline(tables, sampled(snapshot, encoder))


def renew_foreign_cosine(tables: Tables, snapshot: Snapshot, encoder: Encoder) -> None:
    """Compute and store the median of the highest cosines of the foreign questions, if that is due.

    It is not needed for indexes without a verdict: with another model than the default, or fewer than ten passages.
    """
    passages = snapshot.facts.passages
    before = one_meta(tables.connection, "foreign", {}).get("passages", 0)
    if passages < 10 or snapshot.facts.fingerprint.weights != DEFAULT_WEIGHTS:
        return
    if not before / _CHANGE <= passages <= before * _CHANGE:
        questions = encoder.encode(foreign_questions(), role="query")
        highest = np.full(len(questions), -1.0)
        for _, vectors in snapshot.embedding_blocks():
            np.maximum(highest, (vectors @ questions.T).max(axis=0), out=highest)
        tables.put_meta(foreign={"passages": passages, "cosine": round(float(np.median(highest)), 4)})


def foreign_questions() -> list[str]:
    """Return the foreign questions: 124 short questions about subjects that have little in common."""
    return _FOREIGN.read_text(encoding="utf-8").splitlines()


def sampled(snapshot: Snapshot, encoder: Encoder, seed: int = 0) -> Baseline:
    """Return a sample of random pairs; the same index and seed give the same sample."""
    ids, random = snapshot.ids(), np.random.default_rng(seed)
    sample: list[_SampleQuery] = []
    for row in random.permutation(len(ids))[:_QUERIES]:
        drawn = int(ids[row])
        text = _pseudo_query(snapshot, drawn, random)
        own = np.array(list(snapshot.siblings([drawn])), dtype=np.int64)
        if text and len(own) < len(ids):
            elsewhere = np.setdiff1d(ids, own, assume_unique=True)
            pairs = random.choice(elsewhere, min(_PAIRS_OF_A_QUERY, len(elsewhere)), replace=False)
            sample.append(_SampleQuery(text, own, pairs))
    if sum(len(query.pairs) for query in sample) < PAIRS_NEEDED:
        return Baseline(len(ids), 0, np.empty(0, np.float32), np.empty(0, np.float32))
    vectors = encoder.encode([query.text for query in sample], role="query", truncate=True)
    cosine = [snapshot.cosines(v, query.pairs) for query, v in zip(sample, vectors, strict=True)]
    lexical = [_keyword_scores(snapshot, query) for query in sample]
    cosines = np.concatenate(cosine).astype(np.float32)
    keyword_scores = np.concatenate(lexical).astype(np.float32)
    return Baseline(len(ids), len(sample), cosines, keyword_scores)


@dataclass(frozen=True, eq=False)
class _SampleQuery:
    """A query for the sample of random pairs.

    Attributes:
        own: passage IDs of its own document.
        pairs: IDs of the passages that it is paired with.
    """

    text: str
    own: NDArray[np.int64]
    pairs: NDArray[np.int64]


def _pseudo_query(snapshot: Snapshot, passage: int, random: np.random.Generator) -> str:
    """Return a random sentence of a passage, cut to the length of a typed query; "" if it has none."""
    sentences = _SENTENCE_END.split(snapshot.passage(passage).visible_text)
    for position in random.permutation(len(sentences)):
        if beginning := _beginning(sentences[position]):
            return beginning
    return ""


def _beginning(sentence: str) -> str:
    """Return the first words of a sentence; "" if it is too short."""
    spans = list(islice(word_spans(sentence), _MOST_WORDS))
    return " ".join(sentence[: spans[-1][1]].split()) if len(spans) >= _FEWEST_WORDS else ""


def _keyword_scores(snapshot: Snapshot, query: _SampleQuery) -> NDArray[np.float64]:
    """Return the (n,) keyword scores of a query's pairs."""
    typed = snapshot.terms(query.text)
    terms = discriminative(typed, snapshot.counts(typed), snapshot.facts.passages)
    if not terms:
        return np.zeros(len(query.pairs))
    keyword_scores = snapshot.keyword_scores(terms)
    ids, scores = keyword_scores.best(1 + len(query.own))
    best = float(scores[~np.isin(ids, query.own)].max(initial=0.0)) * keyword_scores.scale
    weights = [weight(count, snapshot.facts.passages) for count in snapshot.counts(terms)]
    return keyword_scores.of(query.pairs) * keyword_scores.scale / scale(best, weights)
