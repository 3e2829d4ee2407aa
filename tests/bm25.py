"""BM25 by brute force: SQLite's FTS5 cuts and stems the words, plain Python does the sum."""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

TOKENIZER = "porter unicode61 remove_diacritics 2"


class BruteForce:
    """BM25 of some texts, with Lucene's idf and lengths capped at 1.5 times the mean."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.tokens: dict[int, list[str]] = {id_: [] for id_ in texts} | _stems(texts)
        self.mean = sum(map(len, self.tokens.values())) / max(1, len(self.tokens))
        self.frequencies = cache(self._frequencies)

    def _frequencies(self, term: str) -> dict[int, int]:
        """Number of times that a text has the words of a term in a row, by text."""
        words = _words(term)
        n = len(words)
        times = {
            id_: sum(tokens[start : start + n] == words for start in range(len(tokens)))
            for id_, tokens in self.tokens.items()
            if n and words[0] in tokens
        }
        return {id_: count for id_, count in times.items() if count}

    def idf(self, term: str) -> float:
        n = len(self.frequencies(term))
        return math.log(1 + (len(self.tokens) - n + 0.5) / (n + 0.5))

    def scores(self, terms: Iterable[str]) -> dict[int, float]:
        """BM25 of the texts that have a term."""
        scores: dict[int, float] = defaultdict(float)
        for term in terms:
            idf = self.idf(term)
            for id_, count in self.frequencies(term).items():
                norm = 1.2 * (0.25 + 0.75 * min(len(self.tokens[id_]) / self.mean, 1.5))
                scores[id_] += idf * count * 2.2 / (count + norm)
        return scores

    def discriminative(self, terms: Iterable[str]) -> list[str]:
        """The terms that at most half of the texts have; all that occur where there are none."""
        counts = {term: len(self.frequencies(term)) for term in terms}
        rare = [term for term, n in counts.items() if 0 < n <= len(self.tokens) / 2]
        return rare or [term for term, n in counts.items() if n]

    def scale(self, terms: Iterable[str]) -> float:
        """The BM25 of a keyword score of 1."""
        terms = list(terms)
        return max(
            [2.2 * sum(sorted(map(self.idf, terms))[-3:]), *self.scores(terms).values()], default=1.0
        )


@lru_cache(maxsize=8)
def brute_force(texts: tuple[tuple[int, str], ...]) -> BruteForce:
    return BruteForce(dict(texts))


@cache
def _words(term: str) -> list[str]:
    return _stems({0: term}).get(0, [])


def _stems(texts: Mapping[int, str]) -> dict[int, list[str]]:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE own USING fts5 (text, tokenize = '{TOKENIZER}')")
    connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab (own, instance)")
    connection.executemany("INSERT INTO own (rowid, text) VALUES (?, ?)", texts.items())
    stems: dict[int, list[str]] = defaultdict(list)
    for id_, stem in connection.execute("SELECT doc, term FROM tokens ORDER BY doc, offset"):
        stems[id_].append(stem)
    connection.close()
    return stems
