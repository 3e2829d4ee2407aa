"""What random pairs of a query and a passage score in an index: the scale on which a score is high or low.

A cosine has no absolute meaning (corpora/handbook/10-cosine-and-its-traps.md), so a sample of pairs that have
nothing to do with each other lies in table `baseline`, with the parts that every score is made of. It is taken at
the end of a run.

200 passages are drawn, and of each a sentence, at most 16 words of it, which is then asked as a query: so the
queries speak of what the index speaks of, and are about as long as what people ask. Length matters most. 95 % of
the random pairs score less than 0.354 in Cranfield and 0.304 in CACM; with the collections' own queries, of some
20 words, it is 0.400 and 0.296, with runs of 6 words 0.283 and 0.280. A query's own document is left out, of the
pairs and of what its BM25 is divided by: nothing in it would be random.

*Hubs* are passages that are among the nearest of very many others (Radovanović, Nanopoulos and Ivanović 2010,
"Hubs in space"). Their measure is the k-occurrence, how often a passage is among the k nearest; here k = 10. What
is far above the others is not simply what is some standard deviations above their mean: of 200 queries most of
that is chance, and the 150 passages that are two above it in Cranfield come up half as often for 1,500 other
queries. So a hub must come up for at least 6 % of the queries, and five times as often as if all passages came up
alike. With four seeds each these were 1 or 2 passages of the handbook, 1 or 2 of Cranfield and none of CACM, and
each came up for 3.5 to 8.8 % of other queries: scraps of sentences, or examples of something else.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.encoder import Encoder
from search.records.reports import RandomPairs
from search.store.bm25 import scale
from search.store.terms import TOKENIZER, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.protocol import Snapshot
    from search.store.writer import Writer

# Fewer pairs give no percentile: of 500 five are above the 99th.
PAIRS_NEEDED = 500

# How the sample is taken, in words; one that was taken in another way is taken anew.
MADE_WITH = f"sentences of at most 16 words, what three words reach; {TOKENIZER}"

_PAIR = np.dtype([("cosine", "<f4"), ("lexical", "<f4")])


@dataclass(frozen=True, eq=False)
class Baseline:
    """A sample of random pairs.

    Attributes:
        passages: how many the index held when the sample was taken.
        queries: how many texts were asked with.
        cosine, lexical: (n,) float32, of each pair the parts of its score; n is 0 where there were too few.
        hubs: passage id -> of how many of the queries it is among the ten nearest, of those passages that are
            near everything; see `search.store.calibration`.
        made_with: how it was taken.
    """

    passages: int
    queries: int
    cosine: NDArray[np.float32]
    lexical: NDArray[np.float32]
    hubs: Mapping[int, int]
    made_with: str = MADE_WITH

    def scores(self, weight: float) -> NDArray[np.float64]:
        """(n,) what the pairs score, lowest first, when the cosine counts `weight`."""
        return np.sort(weight * self.cosine.astype(float) + (1 - weight) * self.lexical.astype(float))

    def spread(self, weight: float) -> RandomPairs | None:
        """What the pairs score, in short; None where there are none."""
        if not len(self.cosine):
            return None
        median, p95, p99 = np.quantile(self.scores(weight), (0.5, 0.95, 0.99)).tolist()
        return RandomPairs(len(self.cosine), weight, median, p95, p99)


def read_baseline(connection: sqlite3.Connection) -> Baseline | None:
    """The sample that is stored; None before the first run that took one."""
    row = connection.execute("SELECT passages, queries, made_with, pairs, hubs FROM baseline").fetchone()
    if row is None:
        return None
    passages, queries, made_with, pairs, hubs = row
    parts = np.frombuffer(pairs, dtype=_PAIR)
    counts = {int(id_): int(count) for id_, count in json.loads(hubs).items()}
    return Baseline(passages, queries, parts["cosine"], parts["lexical"], counts, made_with)


def put_baseline(writer: Writer, found: Baseline) -> None:
    """Store a sample in place of the earlier one."""
    pairs = np.empty(len(found.cosine), dtype=_PAIR)
    pairs["cosine"], pairs["lexical"] = found.cosine, found.lexical
    hubs = json.dumps({str(id_): count for id_, count in found.hubs.items()})
    row = {
        "id": 1,
        "passages": found.passages,
        "queries": found.queries,
        "made_with": found.made_with,
        "pairs": pairs.tobytes(),
        "hubs": hubs,
    }
    with writer.transaction():
        writer.insert("baseline", [row], replace=True)


def is_due(connection: sqlite3.Connection, passages: int) -> bool:
    """Whether to take a sample: there is none, it was taken in another way, or no longer fits.

    Args:
        passages: how many the index holds now; with more than twice or less than half as many as there were, a
            sample is out of date. One without pairs is, with any other number.
    """
    found = read_baseline(connection)
    if found is None or found.made_with != MADE_WITH:
        return True
    if not len(found.cosine):
        return passages != found.passages
    return not found.passages <= 2 * passages <= 4 * found.passages


_QUERIES = 200
_PAIRS_OF_A_QUERY = 10
_FEWEST_WORDS, _MOST_WORDS = 4, 16
_NEAREST = 10
_HUB_SHARE = 0.06  # of the queries
_HUB_TIMES = 5  # as often as by chance
_HUB_PASSAGES = (
    200  # in a smaller index the ten nearest are so many that some passages are bound to come up often
)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n")


def renew_baseline(writer: Writer, snapshot: Snapshot, encoder: Encoder) -> None:
    """Take and store a sample if one is due.

    Args:
        snapshot: the index as the writer sees it.
    """
    if is_due(writer.connection, snapshot.passage_count):
        put_baseline(writer, sampled(snapshot, encoder))


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
        return Baseline(len(ids), 0, np.empty(0, np.float32), np.empty(0, np.float32), {})
    queries = encoder.encode([one.text for one in asked], role="query", truncate=True)
    cosine = [snapshot.cosines(query, one.pairs) for one, query in zip(asked, queries, strict=True)]
    lexical = [_word_parts(snapshot, one) for one in asked]
    nearest = np.zeros((len(asked), _NEAREST), dtype=np.int64)
    for one, query, row in zip(asked, queries, nearest, strict=True):
        near = [id_ for id_, _ in snapshot.nearest(query, _NEAREST + len(one.own))]
        others = np.array(near)[~np.isin(near, one.own)][:_NEAREST]
        row[: len(others)] = others
    cosines, parts = (np.concatenate(each).astype(np.float32) for each in (cosine, lexical))
    return Baseline(len(ids), len(asked), cosines, parts, hubs(nearest, len(ids)))


def questions(snapshot: Snapshot, most: int, seed: int = 0) -> list[str]:
    """What might be asked of an index, the same of the same passages: sentences of at most so many of them.

    Raises:
        IndexDamaged: a passage cannot be found.
    """
    ids, random = snapshot.ids(), np.random.default_rng(seed)
    drawn = random.permutation(ids)[:most].tolist()
    return list(filter(None, (_pseudo_query(snapshot, passage, random) for passage in drawn)))


@dataclass(frozen=True, eq=False)
class _Asked:
    """One text of the sample.

    Attributes:
        own: ids of the passages of the document that it is of; `pairs`, of those that it is paired with.
    """

    text: str
    own: NDArray[np.int64]
    pairs: NDArray[np.int64]


def hubs(nearest: NDArray[np.int64], passages: int) -> dict[int, int]:
    """The passages that are near everything, the most frequent first, and for how many queries each came up.

    Args:
        nearest: (queries, k) ids of the k nearest passages of each query; 0 where there are fewer.
        passages: how many there are.
    """
    queries, k = nearest.shape
    if passages < _HUB_PASSAGES:
        return {}
    enough = max(_HUB_SHARE * queries, _HUB_TIMES * queries * k / max(1, passages))
    counts = Counter(np.sort(nearest[nearest > 0]).tolist())  # of equally frequent ones the lower id is first
    return {id_: count for id_, count in counts.most_common() if count >= enough}


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
    terms = snapshot.telling(snapshot.terms(asked.text))
    if not terms:
        return np.zeros(len(asked.pairs))
    matches = snapshot.matches(terms)
    ids, parts = matches.best(1 + len(asked.own))
    best = float(parts[~np.isin(ids, asked.own)].max(initial=0.0)) * matches.scale
    whole = scale(best, snapshot.counts(terms), snapshot.passage_count)
    return matches.parts(asked.pairs) * matches.scale / whole
