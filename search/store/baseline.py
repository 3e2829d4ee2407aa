"""What random pairs of a query and a passage score in an index: the scale on which a score is high or low.

A cosine has no absolute meaning (corpora/handbook/10-cosine-and-its-traps.md), so a sample of pairs that have
nothing to do with each other lies in table `baseline`, with the parts that every score is made of. sampling.py
takes it, at the end of a run; here it is kept and read.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.records.reports import RandomPairs
from search.store.checksums import COVERED, covered, require, row_checksum
from search.store.terms import TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Fewer pairs give no percentile: of 500 five are above the 99th.
PAIRS_NEEDED = 500

# How the sample is taken, in words; one that was taken in another way is taken anew.
MADE_WITH = f"sentences of at most 16 words; {TOKENIZER}"

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
            near everything; see `search.store.sampling`.
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


def put_baseline(connection: sqlite3.Connection, found: Baseline) -> None:
    """Store a sample in place of the earlier one, within a transaction."""
    pairs = np.empty(len(found.cosine), dtype=_PAIR)
    pairs["cosine"], pairs["lexical"] = found.cosine, found.lexical
    hubs = json.dumps({str(id_): count for id_, count in found.hubs.items()})
    row = (1, found.passages, found.queries, found.made_with, pairs.tobytes(), hubs)
    names = ", ".join(COVERED["baseline"])
    connection.execute(
        f"INSERT OR REPLACE INTO baseline ({names}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*row, row_checksum(*row)),
    )


def forget_baseline(connection: sqlite3.Connection) -> None:
    """Delete the sample, within a transaction: the next run takes another."""
    connection.execute("DELETE FROM baseline")


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


class LoadedBaseline:
    """The sample of an index as one process uses it, read again when another is stored. Safe between threads.

    Attributes:
        problem: why there is none though one is stored; "" when all is well.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._lock = threading.Lock()
        self._row: tuple[int] | None = None
        self._loaded: Baseline | None = None

    def get(self, connection: sqlite3.Connection) -> Baseline | None:
        """The sample, within a read transaction; None where there is none that can be trusted."""
        with self._lock:
            try:
                row = connection.execute("SELECT checksum FROM baseline").fetchone()
                if row is None or row != self._row:
                    self._loaded = read_baseline(connection)
                    self._row = row
                    self.problem = ""
            except (IndexDamaged, sqlite3.DatabaseError):  # an answer is right without it
                self._loaded = self._row = None
                self.problem = _PROBLEM
            return self._loaded
