"""Are the hits of an index the right ones? Every passage is scored, for scale.py, and what the product says compared.

Cosines are sums of float64 products of the rows in index.db, rounded to float32 as the product's are. BM25 is that of
an FTS5 table of all texts that is made here, in memory. Scores of words may differ by 1e-12, as sums do; where two
passages are nearer to each other than that, either may come first.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scale_corpus import Made, StandIn

from search.encoding.encoder import Role, with_context
from search.ranking.fusion import Fusion
from search.ranking.options import MODES, Ranking
from search.ranking.question import EncodedQuery
from search.ranking.where import parse
from search.records.shown import shown
from search.store.sqlite import SQLiteStore
from search.store.terms import TOKENIZER, Stemmer, Term, indexable
from tests.faults.double import WordEncoder

KS = (1, 10, 100, 1000)
FILTER = "path:0000/*1.txt"
TOLERANCE = 1e-12
_NEAR = 1e-6  # far more than rounding to float32 takes away
_ROWS, _QUERIES = 65_536, 100

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass
class Compared:
    """How many lists of hits were compared, how many were wrong, and by how much scores differed at most."""

    lists: int = 0
    hits: int = 0
    other_order: int = 0  # within the tolerance
    largest: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Everything:
    """All passages of an index, and their scores for any query."""

    def __init__(self, index: Path) -> None:
        with closing(sqlite3.connect(f"file:{index / 'index.db'}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT passage, vector FROM embeddings ORDER BY passage")
            ids, blobs = zip(*rows, strict=True)
            self.ids = np.array(ids, dtype=np.int64)
            self.vectors = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(ids), -1)
            self._words = sqlite3.connect(":memory:")
            self._words.execute(
                f"CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = '{TOKENIZER}')"
            )
            passages = connection.execute("SELECT context, text, hidden FROM passages ORDER BY id")
            self.texts = [
                with_context(context, shown(text, json.loads(hidden))) for context, text, hidden in passages
            ]
            self._words.executemany(
                "INSERT INTO words (rowid, text) VALUES (?, ?)",
                ((id_, indexable("", text)) for id_, text in zip(ids, self.texts, strict=True)),
            )
            passing = connection.execute(
                """SELECT passages.id FROM passages
                   JOIN documents ON documents.id = document JOIN files ON files.id = file
                   WHERE CAST(path AS TEXT) GLOB '0000/*1.txt' ORDER BY passages.id"""
            )
            self.passing = np.array([row[0] for row in passing], dtype=np.int64)
        self._kept: dict[str, tuple[NDArray[np.int32], Floats]] = {}

    def cosines(self, queries: NDArray[np.float32]) -> Floats:
        """(passages, queries), but for rounding."""
        found = np.empty((len(self.ids), len(queries)))
        for start in range(0, len(found), _ROWS):
            rows = self.vectors[start : start + _ROWS].astype(np.float64)
            found[start : start + _ROWS] = rows @ queries.T.astype(np.float64)
        return found

    def words(self, terms: Sequence[Term]) -> Floats:
        """(passages,) the word parts of a query's terms."""
        found = {term: self._postings(term.expression) for term in terms}
        there = [rows for rows, _ in found.values() if len(rows)]
        telling = [rows for rows in there if len(rows) <= len(self.ids) / 2] or there
        scores, weights = np.zeros(len(self.ids)), []
        for rows, of_rows in found.values():
            if any(rows is one for one in telling):
                scores[rows] += of_rows
                n = len(rows)
                weights.append(max(1e-6, math.log((len(self.ids) - n + 0.5) / (n + 0.5))))
        whole = max(float(scores.max()), 2.2 * sum(heapq.nlargest(3, weights)))
        return scores / whole if whole else scores

    def _postings(self, expression: str) -> tuple[NDArray[np.int32], Floats]:
        if expression not in self._kept:
            rows = self._words.execute(
                "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY rowid", (expression,)
            ).fetchall()
            ids, scores = np.array(rows).reshape(-1, 2).T
            self._kept[expression] = np.searchsorted(self.ids, ids).astype(np.int32), scores
        return self._kept[expression]

    def ranked(
        self, query: NDArray[np.float32], cosines: Floats, words: Floats, weight: float, rows: Ids, k: int
    ) -> tuple[Ids, Floats]:
        """Ids and scores of the k best of some rows, and of all that are as good but for rounding."""
        if not weight:
            rows = rows[words[rows] > 0]
        rough = weight * cosines[rows] + (1 - weight) * words[rows]
        if len(rows) > k:
            rows = rows[rough >= np.partition(rough, -k)[-k] - _NEAR]
        exact = np.multiply(self.vectors[rows], query, dtype=np.float64).sum(axis=1).astype(np.float32)
        scores = weight * exact.astype(np.float64) + (1 - weight) * words[rows]
        first = np.lexsort((self.ids[rows], -scores))
        return self.ids[rows][first], scores[first]


def compared(
    index: Path, queries: Sequence[str], vectors: NDArray[np.float32], ks: Sequence[int] = KS, seed: int = 0
) -> Compared:
    """Ask an index, in every mode, for every k; and each query once more with a filter."""
    everything, found, stemmer = Everything(index), Compared(), Stemmer()
    sets = list(_filters(everything, np.random.default_rng(seed)))
    with SQLiteStore(index).reading() as snapshot:
        passing = snapshot.passing(parse(FILTER))
        if passing is None or not np.array_equal(passing, everything.passing):
            found.wrong.append(f"the filter {FILTER}")
        for start in range(0, len(queries), _QUERIES):
            block = vectors[start : start + _QUERIES]
            cosines = everything.cosines(block)
            for i, text in enumerate(queries[start : start + _QUERIES]):
                words = everything.words(stemmer.terms(text))
                query = EncodedQuery(text, block[i])
                asked = [(None, k) for k in ks] + [(sets[(start + i) % len(sets)], ks[(start + i) % len(ks)])]
                for mode in MODES:
                    ranking, n = Ranking.of(mode), max(ks)
                    full = everything.ranked(
                        block[i], cosines[:, i], words, ranking.weight, np.arange(len(words)), n
                    )
                    for among, k in asked:
                        truth = full
                        if among is not None:
                            rows = np.searchsorted(everything.ids, among)
                            truth = everything.ranked(block[i], cosines[:, i], words, ranking.weight, rows, k)
                        hits = Fusion(snapshot, query, ranking, among).top(k)
                        _compare(found, hits, truth, k, f"{mode}, k = {k}, '{text}'")
    return found


def _filters(everything: Everything, chance: np.random.Generator) -> Iterator[Ids]:
    """Passages to choose from: those that pass a filter, and so many of all."""
    if len(everything.passing):
        yield everything.passing
    for n in (1, 20, 3000, len(everything.ids) // 3):
        if 0 < n <= len(everything.ids):
            yield np.sort(chance.choice(everything.ids, n, replace=False))


def _compare(found: Compared, hits: Sequence[Any], truth: tuple[Ids, Floats], k: int, what: str) -> None:
    ids, scores = np.array([hit.passage for hit in hits]), np.array([hit.score for hit in hits])
    found.lists += 1
    found.hits += len(hits)
    if len(hits) != min(k, len(truth[0])):
        found.wrong.append(f"{what}: {len(hits)} hits")
        return
    if not len(hits):
        return
    off = float(np.abs(scores - truth[1][: len(hits)]).max())
    score_of = dict(zip(truth[0].tolist(), truth[1].tolist(), strict=True))
    theirs = max(
        abs(score_of.get(id_, np.inf) - score) for id_, score in zip(ids.tolist(), scores, strict=True)
    )
    found.largest = max(found.largest, off)
    if max(off, theirs) > TOLERANCE or len(set(ids.tolist())) < len(ids):
        found.wrong.append(f"{what}: scores off by {max(off, theirs):.1e}")
    elif not np.array_equal(ids, truth[0][: len(ids)]):
        found.other_order += 1


def asked(index: Path, n: int, seed: int) -> list[str]:
    """Sentences of 4 to 16 words of passages drawn at random."""
    with closing(sqlite3.connect(f"file:{index / 'index.db'}?mode=ro", uri=True)) as connection:
        (last,) = connection.execute("SELECT max(id) FROM passages").fetchone()
        drawn = random.Random(seed)
        found: dict[str, None] = {}
        for _ in range(100 * n):
            row = connection.execute(
                "SELECT text FROM passages WHERE id >= ? LIMIT 1", (drawn.randint(1, last),)
            ).fetchone()
            fit = [
                s for s in re.split(r"(?<=[.?!])\s+", " ".join(row[0].split())) if 4 <= len(s.split()) <= 16
            ]
            if fit:
                found[drawn.choice(fit)] = None
            if len(found) == n:
                break
    return list(found)


def export(index: Path, place: Path, n: int) -> None:
    """Write what peers.py takes: vectors and texts of an index, and n queries with the ten passages nearest to each."""
    place.mkdir(parents=True, exist_ok=True)
    everything, texts = Everything(index), asked(index, n, 2)
    queries = StandIn().encode(texts, role="query", truncate=True)
    nearest = np.argsort(-everything.cosines(queries), axis=0, kind="stable")[:10].T
    np.savez(place / "passages.npz", ids=everything.ids, vectors=everything.vectors)
    np.savez(place / "queries.npz", vectors=queries, nearest=everything.ids[nearest])
    (place / "queries.json").write_text(json.dumps(texts), encoding="utf-8")
    with (place / "texts.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(text) + "\n" for text in everything.texts)


class Adversarial:
    """Passages whose embeddings are hard to tell apart.

    Of each kind some: the same vector, and the opposite of it; one dimension alone; zeros; vectors that differ by 1e-6,
    and by what float32 can just hold; any.
    """

    def __init__(self, dimension: int, many: int, seed: int = 0) -> None:
        chance = np.random.default_rng((seed, dimension))

        def any_of(n: int) -> NDArray[np.float64]:
            return chance.standard_normal((n, dimension))

        one, centre, tight = any_of(3)
        groups = [
            np.tile(one, (many, 1)),
            np.tile(-one, (many // 4, 1)),
            np.eye(dimension)[: many // 2],
            -np.eye(dimension)[: many // 4],
            np.zeros((many // 8, dimension)),
            centre / np.linalg.norm(centre) + 1e-6 * any_of(4 * many),
            tight / np.linalg.norm(tight) + 3e-8 * any_of(many),
            any_of(many),
        ]
        rows = np.concatenate(groups)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        self.vectors = chance.permutation(rows.astype(np.float32))
        self.starts = np.arange(0, len(rows) + 7, 7)
        asked = np.concatenate(
            [one[None], centre[None], tight[None], -one[None], np.eye(dimension)[:3], any_of(9)]
        )
        asked = np.concatenate([asked, asked[:1] + 1e-4 * any_of(1), asked[1:2] + asked[2:3]])
        self.queries = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)

    def document(self, number: int) -> list[Made]:
        rows = range(7 * number, min(7 * number + 7, len(self.vectors)))
        return [Made(f"w{row % 3} w{row % 50} n{row}.", "", self.vectors[row]) for row in rows]


class AnyDimension(WordEncoder):
    """Made-up embeddings of passages, random ones of queries."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension, self.made_up = dimension, dict[str, NDArray[np.float32]]()

    def encode(self, texts: Sequence[str], *, role: Role | None = None, **_: Any) -> NDArray[np.float32]:
        if role == "document":
            return np.array([self.made_up[text] for text in texts])
        vectors = np.random.default_rng(0).standard_normal((len(texts), self.dimension), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
