"""Alignment of the words of two texts: pairs of words that are each other's best match.

It is computed here, not in `search.explaining`, because the method `Explanation.alignment` calls it, and records import
no other stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records.tokens import Word, WordMatrices

if TYPE_CHECKING:
    from search.records.tokens import Matrix

# Weight of the neighbours' cosines in an alignment; from 0.1 to 0.3 the F1 differs by at most 0.002.
NEIGHBOURS = 0.15


@dataclass(frozen=True)
class Pair:
    """A query word and a passage word that are each other's best match, and their cosine in [-1, 1]."""

    query: Word
    passage: Word
    similarity: float


def align(words: WordMatrices, threshold: float, *, punctuation: bool) -> list[Pair]:
    """Return the pairs of an alignment; see `Explanation.alignment`."""
    kinds = ("word", "punctuation") if punctuation else ("word",)
    rows = [i for i, word in enumerate(words.query) if word.kind in kinds]
    columns = [j for j, word in enumerate(words.passage) if word.kind in kinds]
    if not rows or not columns:
        return []
    cosines = words.similarity[rows][:, columns]
    matches = _with_neighbours(cosines)
    best_column, best_row = matches.argmax(axis=1), matches.argmax(axis=0)
    return [
        Pair(words.query[rows[i]], words.passage[columns[j]], float(cosines[i, j]))
        for i, j in enumerate(best_column)
        if best_row[j] == i and cosines[i, j] >= threshold
    ]


def _with_neighbours(cosines: Matrix) -> Matrix:
    """Return the (Q, P) cosines of words, each increased by a share of the cosines of the words before and after."""
    scores = cosines.copy()
    scores[1:, 1:] += NEIGHBOURS * cosines[:-1, :-1]
    scores[:-1, :-1] += NEIGHBOURS * cosines[1:, 1:]
    return scores
