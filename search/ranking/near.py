"""Near-copies in a ranking, such as similar rows of a table: one hit stands for all passages that say nearly the same.

Two passages are near-copies if the cosine of their embeddings is at least 0.7 and they share at least 0.8 of their
words (Jaccard index of the sets; numbers are alike). A passage is folded into the first higher-ranked hit of which it
is a near-copy. Passages are compared in blocks of 50 until there are 30 hits, at most 1,000 passages. Whether a passage
is folded depends only on the passages above it, so a rank means the same passage for any number of hits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from search.store.sqlite import Snapshot

COSINE, SHARED = 0.7, 0.8
STEP, ENOUGH, LIMIT = 50, 30, 1000  # passages, hits, passages
_WORD, _DIGIT = re.compile(r"[^\W_]+"), re.compile(r"\d")


@dataclass(frozen=True)
class Folds:
    """Near-copies in the beginning of a ranking.

    Attributes:
        into: passage -> the hit that stands for it.
        complete: True if the whole ranking was compared.
    """

    into: Mapping[int, int]
    complete: bool = True

    def counts(self, snapshot: Snapshot, hits: Sequence[int]) -> dict[int, tuple[int, bool]]:
        """Return the number of other passages that each hit stands for, and whether there may be more."""
        copies = snapshot.copies([*hits, *self.into])
        number = {id_: copied.documents for id_, copied in copies.items()}
        standing = {hit: number.get(hit, 1) - 1 for hit in hits}
        for passage, hit in self.into.items():
            if hit in standing:
                standing[hit] += number.get(passage, 1)
        open_ = set() if self.complete else set(self.into.values())
        return {hit: (count, hit in open_) for hit, count in standing.items() if count}


NO_FOLDS = Folds({})


class Comparison:
    """Passages of a snapshot, compared by embedding and words; methods take positions in `passages`."""

    def __init__(self, snapshot: Snapshot, passages: Sequence[int]) -> None:
        vectors = snapshot.embeddings(passages)
        self._close = vectors @ vectors.T >= COSINE
        rows = np.flatnonzero(self._close.sum(axis=1) > 1).tolist()
        stored = snapshot.stored([passages[row] for row in rows]) if rows else {}
        self._words = {row: _words(stored[passages[row]].text) for row in rows}

    def near(self, row: int, others: Iterable[int]) -> list[int]:
        """Return the rows in `others` that are near-copies of `row`."""
        if row not in self._words:
            return []
        close, mine = self._close[row], self._words[row]
        return [other for other in others if close[other] and _shared(mine, self._words[other])]


def folds(snapshot: Snapshot, best: Sequence[int], once: Collection[int], whole: bool) -> Folds | None:
    """Find the near-copies in the beginning of a ranking; None if a longer one is needed.

    Args:
        best: passages in the order of the ranking.
        once: those of them that are not exact copies of a passage above.
        whole: True if `best` is the whole ranking.
    """
    hits: list[int] = []
    into: dict[int, int] = {}
    end = min(len(best), LIMIT)
    for start in range(0, end, STEP):
        if len(hits) >= ENOUGH:
            return Folds(into, complete=False)
        part = [id_ for id_ in best[start : start + STEP] if id_ in once]
        _fold(snapshot, part, hits, into)
    if whole or end == LIMIT or len(hits) >= ENOUGH:
        return Folds(into, complete=whole and len(best) <= LIMIT)
    return None


def pairs(snapshot: Snapshot, passages: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return passage -> its near-copies among the other passages."""
    comparison, rows = Comparison(snapshot, passages), range(len(passages))
    return {
        id_: tuple(passages[other] for other in comparison.near(row, rows) if other != row)
        for row, id_ in enumerate(passages)
    }


def standing_for(snapshot: Snapshot, hits: Sequence[int], passage: int) -> int | None:
    """Return the position of the first hit of which a passage is a copy or near-copy; None if there is none."""
    copies, rows = snapshot.copies([*hits, passage]), range(len(hits))
    near = Comparison(snapshot, [*hits, passage]).near(len(hits), rows)
    mine = copies.get(passage)
    same = [row for row in rows if mine and copies.get(hits[row]) == mine]
    return min(near + same, default=None)


def _fold(snapshot: Snapshot, part: Sequence[int], hits: list[int], into: dict[int, int]) -> None:
    """Add the next passages of a ranking to `hits`, or to `into` if they are near-copies of a hit."""
    passages = [*hits, *part]
    comparison, rows = Comparison(snapshot, passages), list(range(len(hits)))
    for row in range(len(hits), len(passages)):
        if near := comparison.near(row, rows):
            into[passages[row]] = passages[near[0]]
        else:
            rows.append(row)
    hits[:] = [passages[row] for row in rows]


def _words(text: str) -> frozenset[str]:
    """Return the set of words of a text; all words with a digit count as the same word."""
    words = set(_WORD.findall(text.casefold()))
    numbers = {word for word in words if _DIGIT.search(word)}
    return frozenset(words - numbers | ({"0"} if numbers else set()))


def _shared(a: frozenset[str], b: frozenset[str]) -> bool:
    return a == b or len(a & b) >= SHARED * len(a | b)
