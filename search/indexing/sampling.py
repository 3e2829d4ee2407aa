"""A sample of random pairs of a query and a passage of an index, by which it can be said whether a score is high.

200 passages are drawn, and of each a sentence, at most 16 words of it, which is then asked as a query: so the
queries speak of what the index speaks of, and are about as long as what people ask. Length matters most. 95 % of
the random pairs score less than 0.354 in Cranfield and 0.304 in CACM; with the collections' own queries, of some
20 words, it is 0.400 and 0.296, with runs of 6 words 0.283 and 0.280. A query's own document is left out, of the
pairs and of what its BM25 is divided by: nothing in it would be random.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.encoder import Encoder
from search.store.bm25 import discriminative, scale, weight
from search.store.sqlite import Snapshot
from search.store.status import PAIRS_NEEDED, Baseline, is_due, put_baseline
from search.store.tables import Tables
from search.store.terms import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUERIES = 200
_PAIRS_OF_A_QUERY = 10
_FEWEST_WORDS, _MOST_WORDS = 4, 16

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n")


def renew_baseline(tables: Tables, snapshot: Snapshot, encoder: Encoder) -> None:
    """Take and store a sample if one is due.

    Args:
        snapshot: the index as the writer sees it.
    """
    if is_due(tables.connection, snapshot.facts.passages):
        put_baseline(tables, sampled(snapshot, encoder))


def sampled(snapshot: Snapshot, encoder: Encoder, seed: int = 0) -> Baseline:
    """A sample of an index as it is now, the same one for the same passages."""
    ids, random = snapshot.ids(), np.random.default_rng(seed)
    asked: list[_Asked] = []
    for row in random.permutation(len(ids))[:_QUERIES]:
        drawn = int(ids[row])
        text = _pseudo_query(snapshot, drawn, random)
        own = np.array(list(snapshot.siblings([drawn])), dtype=np.int64)
        if text and len(own) < len(ids):
            elsewhere = np.setdiff1d(ids, own, assume_unique=True)
            pairs = random.choice(elsewhere, min(_PAIRS_OF_A_QUERY, len(elsewhere)), replace=False)
            asked.append(_Asked(text, own, pairs))
    if sum(len(one.pairs) for one in asked) < PAIRS_NEEDED:
        return Baseline(len(ids), 0, np.empty(0, np.float32), np.empty(0, np.float32))
    queries = encoder.encode([one.text for one in asked], role="query", truncate=True)
    cosine = [snapshot.cosines(query, one.pairs) for one, query in zip(asked, queries, strict=True)]
    lexical = [_word_parts(snapshot, one) for one in asked]
    cosines, parts = (np.concatenate(each).astype(np.float32) for each in (cosine, lexical))
    return Baseline(len(ids), len(asked), cosines, parts)


@dataclass(frozen=True, eq=False)
class _Asked:
    """One text of the sample.

    Attributes:
        own: ids of the passages of the document that it is of; `pairs`, of those that it is paired with.
    """

    text: str
    own: NDArray[np.int64]
    pairs: NDArray[np.int64]


def _pseudo_query(snapshot: Snapshot, passage: int, random: np.random.Generator) -> str:
    """A sentence of a passage, as much of it as a person might type; "" where it has none."""
    sentences = _SENTENCE_END.split(snapshot.passage(passage).shown)
    shuffled = (sentences[place] for place in random.permutation(len(sentences)))
    return next(filter(None, map(_beginning, shuffled)), "")


def _beginning(sentence: str) -> str:
    """The first words of a sentence; "" where it has too few."""
    spans = list(islice(words(sentence), _MOST_WORDS))
    return " ".join(sentence[: spans[-1][1]].split()) if len(spans) >= _FEWEST_WORDS else ""


def _word_parts(snapshot: Snapshot, asked: _Asked) -> NDArray[np.float64]:
    """(n,) the word parts of the pairs of a text."""
    typed = snapshot.terms(asked.text)
    terms = discriminative(typed, snapshot.counts(typed), snapshot.facts.passages)
    if not terms:
        return np.zeros(len(asked.pairs))
    matches = snapshot.matches(terms)
    ids, parts = matches.best(1 + len(asked.own))
    best = float(parts[~np.isin(ids, asked.own)].max(initial=0.0)) * matches.scale
    weights = map(partial(weight, passages=snapshot.facts.passages), snapshot.counts(terms))
    return matches.parts(asked.pairs) * matches.scale / scale(best, weights)
