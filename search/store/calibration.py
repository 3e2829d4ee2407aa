"""What random pairs of a query and a passage score in an index: the scale on which a score is high or low.

A cosine has no absolute meaning (corpora/handbook/10-cosine-and-its-traps.md), so a sample of pairs that have
nothing to do with each other lies in table `baseline`, with the parts that every score is made of. It is taken at
the end of a run (search/indexing/sampling.py).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.records.reports import RandomPairs
from search.store.terms import TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.tables import Tables

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
            near everything; see `search.indexing.sampling`.
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


def put_baseline(tables: Tables, found: Baseline) -> None:
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
    with tables.transaction():
        tables.insert("baseline", [row], replace=True)


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
