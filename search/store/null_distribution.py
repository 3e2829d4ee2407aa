"""Null distribution of the scores: the scores of unrelated pairs of a query and a passage.

A cosine has no absolute meaning (corpora/handbook/10-cosine-and-its-traps.md), so table `baseline` has a sample of
unrelated pairs, with the cosine and the keyword score of each pair. The sample is drawn at the end of a run
(search/indexing/sampling.py). All functions run within an open transaction.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.store.settings import readable
from search.store.terms import TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.tables import Tables

# With fewer pairs there is no percentile; of 500 pairs, only five are above the 99th.
PAIRS_NEEDED = 500

# Sampling method; a stored sample from another method is replaced.
MADE_WITH = f"sentences of at most 16 words, what three words reach; {TOKENIZER}"

_PAIR = np.dtype([("cosine", "<f4"), ("lexical", "<f4")])


@dataclass(frozen=True, eq=False)
class Baseline:
    """A sample of random pairs.

    Attributes:
        passages: number of passages in the index when the sample was drawn.
        queries: number of query texts.
        cosine, lexical: (n,) float32, cosine and keyword score of each pair; n is 0 if there were too few passages.
        made_with: identifier of the sampling method.
    """

    passages: int
    queries: int
    cosine: NDArray[np.float32]
    lexical: NDArray[np.float32]
    made_with: str = MADE_WITH

    def scores(self, weight: float) -> NDArray[np.float64]:
        """Return the (n,) scores of the pairs, lowest first; `weight` is the cosine's share of a score."""
        return np.sort(weight * self.cosine.astype(float) + (1 - weight) * self.lexical.astype(float))


def read_baseline(connection: sqlite3.Connection) -> Baseline | None:
    """Read the stored sample; None if none was drawn yet."""
    row = connection.execute("SELECT passages, queries, made_with, pairs FROM baseline").fetchone()
    if row is None:
        return None
    passages, queries, made_with, pairs = row
    with readable("the sample of random pairs"):
        scores = np.frombuffer(pairs, dtype=_PAIR)
    return Baseline(passages, queries, scores["cosine"], scores["lexical"], made_with)


def put_baseline(tables: Tables, baseline: Baseline) -> None:
    """Store a sample, replacing the earlier one."""
    pairs = np.empty(len(baseline.cosine), dtype=_PAIR)
    pairs["cosine"], pairs["lexical"] = baseline.cosine, baseline.lexical
    row = {
        "id": 1,
        "passages": baseline.passages,
        "queries": baseline.queries,
        "made_with": baseline.made_with,
        "pairs": pairs.tobytes(),
    }
    with tables.transaction():
        tables.insert("baseline", [row], replace=True)


def is_due(connection: sqlite3.Connection, passages: int) -> bool:
    """Return True if a new sample of scores is due: there is none, it is outdated, or another method drew it.

    Args:
        passages: current number of passages. A sample is outdated once this number has more than doubled
            or halved. A sample without pairs is outdated after any change of the number.
    """
    baseline = read_baseline(connection)
    if baseline is None or baseline.made_with != MADE_WITH:
        return True
    if not len(baseline.cosine):
        return passages != baseline.passages
    return not baseline.passages <= 2 * passages <= 4 * baseline.passages
