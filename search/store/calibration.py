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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.encoder import Encoder
from search.errors import IndexDamaged
from search.records.reports import RandomPairs
from search.records.shown import shown
from search.store.checksums import covered, hidden_of, require, with_checksum
from search.store.database import one_meta
from search.store.lexicon import Lexicon, scale, summed
from search.store.terms import TOKENIZER, words
from search.store.vectors import embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.writer import Writer

# Fewer pairs give no percentile: of 500 five are above the 99th.
PAIRS_NEEDED = 500

# How the sample is taken, in words; one that was taken in another way is taken anew.
MADE_WITH = f"sentences of at most 16 words, what three words reach; {TOKENIZER}"

_PAIR = np.dtype([("cosine", "<f4"), ("lexical", "<f4")])
_PROBLEM = (
    "the sample of random pairs is damaged, so hits have no percentiles and hubs are not named. Mend it with: "
    "seewhy repair"
)


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
    """The sample that is stored; None before the first run that took one.

    Raises:
        IndexDamaged: the row is not the one that was written, or makes no sense.
    """
    row = connection.execute(f"SELECT {covered('baseline')}, checksum FROM baseline").fetchone()
    if row is None:
        return None
    require("baseline", row[:-1], row[-1])
    _, passages, queries, made_with, pairs, hubs, _ = row
    try:
        found = np.frombuffer(pairs, dtype=_PAIR)
        counts = {int(id_): int(count) for id_, count in json.loads(hubs).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise IndexDamaged(_PROBLEM) from None
    if not (np.isfinite(found["cosine"]).all() and np.isfinite(found["lexical"]).all()):
        raise IndexDamaged(_PROBLEM)
    return Baseline(passages, queries, found["cosine"], found["lexical"], counts, made_with)


def put_baseline(writer: Writer, found: Baseline) -> None:
    """Store a sample in place of the earlier one."""
    pairs = np.empty(len(found.cosine), dtype=_PAIR)
    pairs["cosine"], pairs["lexical"] = found.cosine, found.lexical
    hubs = json.dumps({str(id_): count for id_, count in found.hubs.items()})
    values = (1, found.passages, found.queries, found.made_with, pairs.tobytes(), hubs)
    with writer.transaction():
        writer.insert("baseline", [with_checksum("baseline", *values)], replace=True)


def is_due(connection: sqlite3.Connection, passages: int) -> bool:
    """Whether to take a sample: there is none, it is damaged or was taken in another way, or no longer fits.

    Args:
        passages: how many the index holds now; with more than twice or less than half as many as there were, a
            sample is out of date. One without pairs is, with any other number.
    """
    try:
        found = read_baseline(connection)
    except IndexDamaged:
        return True
    if found is None or found.made_with != MADE_WITH:
        return True
    if not len(found.cosine):
        return passages != found.passages
    return not found.passages <= 2 * passages <= 4 * found.passages


def trusted_baseline(connection: sqlite3.Connection) -> tuple[Baseline | None, str]:
    """The sample that is stored, and why it is not used though one is; an answer is right without it."""
    try:
        return read_baseline(connection), ""
    except (IndexDamaged, sqlite3.DatabaseError):
        return None, _PROBLEM


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


def renew_baseline(writer: Writer, encoder: Encoder) -> None:
    """Take and store a sample if one is due.

    Where a row that it needs is damaged there is none: a check names that row.
    """
    if is_due(writer.connection, one_meta(writer.connection, "passages")):
        with suppress(IndexDamaged):
            put_baseline(writer, sampled(writer.connection, encoder))


def sampled(connection: sqlite3.Connection, encoder: Encoder, seed: int = 0) -> Baseline:
    """A sample of an index as it is now, the same one for the same passages.

    Raises:
        IndexDamaged: something that it needs is damaged.
    """
    rows = connection.execute("SELECT id, document FROM passages ORDER BY id").fetchall()
    try:
        ids, documents = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    except (ValueError, TypeError):
        raise IndexDamaged("a passage is of no document. Mend it with: seewhy repair") from None
    random = np.random.default_rng(seed)
    asked, others = [], []  # per query: its text, and the rows of the passages it is paired with
    for row in random.permutation(len(ids))[:_QUERIES]:
        elsewhere = np.flatnonzero(documents != documents[row])
        text = _pseudo_query(connection, int(ids[row]), random)
        if text and len(elsewhere):
            pairs = random.choice(elsewhere, min(_PAIRS_OF_A_QUERY, len(elsewhere)), replace=False)
            asked.append((text, int(documents[row])))
            others.append(pairs)
    if sum(map(len, others)) < PAIRS_NEEDED:
        return Baseline(len(ids), 0, np.empty(0, np.float32), np.empty(0, np.float32), {})
    queries = encoder.encode([text for text, _ in asked], role="query", truncate=True)
    sources = np.array([document for _, document in asked])
    cosine, nearest = _compared(connection, queries, sources, ids, documents, others)
    lexical = _word_parts(connection, [text for text, _ in asked], sources, ids, documents, others)
    return Baseline(len(ids), len(asked), cosine, lexical, hubs(nearest, len(ids)))


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


def _pseudo_query(connection: sqlite3.Connection, passage: int, random: np.random.Generator) -> str:
    """A sentence of a passage, as much of it as a person might type; "" where it has none."""
    row = connection.execute("SELECT text, hidden FROM passages WHERE id = ?", (passage,)).fetchone()
    if row is None:
        raise IndexDamaged(f"passage {passage} cannot be found. Mend the index with: seewhy repair")
    text, hidden = row
    sentences = _SENTENCE_END.split(shown(text, hidden_of(hidden, text)))
    shuffled = (sentences[place] for place in random.permutation(len(sentences)))
    return next(filter(None, map(_beginning, shuffled)), "")


def _beginning(sentence: str) -> str:
    """The first words of a sentence; "" where it has too few."""
    spans = list(islice(words(sentence), _MOST_WORDS))
    return " ".join(sentence[: spans[-1][1]].split()) if len(spans) >= _FEWEST_WORDS else ""


def _compared(
    connection: sqlite3.Connection,
    queries: NDArray[np.float32],
    sources: NDArray[np.int64],
    ids: NDArray[np.int64],
    documents: NDArray[np.int64],
    others: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The cosines of the pairs, one query after the other, and (queries, 10) ids of the nearest passages.

    Args:
        queries: (n, d) embeddings; `sources`, (n,), the documents that they were drawn from.
        ids, documents: of all passages.
        others: for each query the rows of `ids` that it is paired with.
    """
    of_query, of_passage = _pairs(others)
    found = np.empty(len(of_query), dtype=np.float32)
    best = np.full((len(queries), _NEAREST), -np.inf, dtype=np.float32)
    nearest = np.zeros((len(queries), _NEAREST), dtype=np.int64)
    done = 0
    for block, vectors in embeddings(connection, queries.shape[1]):
        end = done + len(block)
        if not np.array_equal(block, ids[done:end]):
            break
        cosines = queries @ vectors.T
        here = (of_passage >= done) & (of_passage < end)
        found[here] = cosines[of_query[here], of_passage[here] - done]
        cosines[sources[:, None] == documents[None, done:end]] = -np.inf
        best = np.hstack([best, cosines])
        nearest = np.hstack([nearest, np.broadcast_to(block, cosines.shape)])
        keep = np.argpartition(-best, _NEAREST - 1, axis=1)[:, :_NEAREST]
        best, nearest = np.take_along_axis(best, keep, 1), np.take_along_axis(nearest, keep, 1)
        done = end
    if done < len(ids):
        raise IndexDamaged("the embedding of a passage is missing. Mend it with: seewhy repair")
    return found, np.where(np.isfinite(best), nearest, 0)


def _pairs(others: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each pair the number of its query, and the row of its passage."""
    numbers = np.repeat(np.arange(len(others)), [len(paired) for paired in others])
    return numbers, np.concatenate(others)


def _word_parts(
    connection: sqlite3.Connection,
    queries: Sequence[str],
    sources: NDArray[np.int64],
    ids: NDArray[np.int64],
    documents: NDArray[np.int64],
    others: Sequence[NDArray[np.int64]],
) -> NDArray[np.float32]:
    """The word parts of the pairs, arguments as for `_compared`."""
    lexicon, passages = Lexicon(), one_meta(connection, "passages")
    found = []
    for query, source, paired in zip(queries, sources, others, strict=True):
        terms = lexicon.telling(connection, lexicon.stemmer.terms(query))
        postings = lexicon.postings(connection, terms)
        matching = summed(postings).among(ids)
        every = np.zeros(len(ids))
        every[np.searchsorted(ids, matching.ids)] = matching.scores
        best = float(every[documents != source].max())
        whole = scale(best, (len(term.ids) for term in postings), passages) if terms else 1.0
        found.append(every[paired] / whole)
    return np.concatenate(found).astype(np.float32)
