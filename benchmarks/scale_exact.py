"""Are the hits of an index the right ones? Every passage is scored, for scale.py, and what the product says compared.

Cosines are sums of float64 products of the rows in index.db, rounded to float32 as the product's are. BM25 is that of
an FTS5 table of all texts that is made here. Scores of words may differ by 1e-12, as sums do; where two passages are
nearer to each other than that, either may come first. Cosines may not differ at all.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scale_corpus
from numpy.typing import NDArray
from scale_corpus import Adversarial, AnyDimension, StandIn, build, fill

from search.encoding.encoder import with_context
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.ranking.where import parse
from search.records.option_tools import Ranking
from search.records.options import MODES
from search.records.visible_text import visible
from search.store import segments
from search.store.snapshot import Store
from search.store.terms import TOKENIZER, IndexTerm, Stemmer, folded, indexable

DIMENSIONS = (1, 2, 32, 384, 1100)
KS = (1, 10, 100, 1000)
FILTER = "path:0000/*1.txt"
TOLERANCE = 1e-12
_NEAR = 1e-6  # far more than rounding to float32 takes away
_ROWS = 65_536

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

    def __add__(self, more: Compared) -> Compared:
        return Compared(
            self.lists + more.lists,
            self.hits + more.hits,
            self.other_order + more.other_order,
            max(self.largest, more.largest),
            self.wrong + more.wrong,
        )


class Everything:
    """All passages of an index, and their scores for any query.

    Args:
        words: where the FTS5 table is made, or is from an earlier try; in memory if it is not said.
    """

    def __init__(self, index: Path, words: str | Path = ":memory:") -> None:
        with closing(_opened(index)) as connection:
            ids = connection.execute("SELECT passage FROM embeddings ORDER BY passage").fetchall()
            self.ids = np.array(ids, dtype=np.int64).ravel()
            rows = connection.execute("SELECT vector FROM embeddings ORDER BY passage")
            self.vectors = np.array([np.frombuffer(vector, dtype="<f4") for (vector,) in rows])
            self._words = sqlite3.connect(words)
            self._fill_words(connection)
            passing = connection.execute(
                """SELECT passages.id FROM passages
                   JOIN documents ON documents.id = document JOIN files ON files.id = file
                   WHERE CAST(path AS TEXT) GLOB '0000/*1.txt' ORDER BY passages.id"""
            )
            self.passing = np.array([row[0] for row in passing], dtype=np.int64)
        self._kept: dict[str, tuple[NDArray[np.int32], Floats]] = {}

    def _fill_words(self, connection: sqlite3.Connection) -> None:
        table = f"fts5 (text, content = '', tokenize = '{TOKENIZER}')"
        self._words.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS words USING {table}")
        if self._words.execute("SELECT count(*) FROM words_docsize").fetchone() != (len(self.ids),):
            with self._words:
                self._words.execute("INSERT INTO words (words) VALUES ('delete-all')")
                rows = ((id_, indexable("", text)) for id_, text in texts(connection))
                self._words.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)

    def cosines(self, queries: NDArray[np.float32]) -> Floats:
        """(passages, queries), but for rounding."""
        found = np.empty((len(self.ids), len(queries)))
        for start in range(0, len(found), _ROWS):
            rows = self.vectors[start : start + _ROWS].astype(np.float64)
            found[start : start + _ROWS] = rows @ queries.T.astype(np.float64)
        return found

    def words(self, terms: Sequence[IndexTerm]) -> Floats:
        """(passages,) the word parts of a query's terms."""
        found = {term: self._postings(f'"{folded(term.text)}"') for term in terms}
        there = [rows for rows, _ in found.values() if len(rows)]
        telling = [rows for rows in there if len(rows) <= len(self.ids) / 2] or there
        scores, weights = np.zeros(len(self.ids)), []
        for rows, of_rows in found.values():
            if any(rows is one for one in telling):
                scores[rows] += of_rows
                n = len(rows)
                weights.append(math.log(1 + (len(self.ids) - n + 0.5) / (n + 0.5)))
        whole = max(float(scores.max()), 2.2 * sum(heapq.nlargest(3, weights)))
        return scores / whole if whole else scores

    def _postings(self, expression: str) -> tuple[NDArray[np.int32], Floats]:
        if expression not in self._kept:
            rows = self._words.execute(
                "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? ORDER BY rowid", (expression,)
            ).fetchall()
            ids, scores = np.array(rows).reshape(-1, 2).T
            places = np.searchsorted(self.ids, ids).astype(np.int32)
            self._kept[expression] = places, self._rescored(places, scores)
        return self._kept[expression]

    def _rescored(self, places: NDArray[np.int32], scores: Floats) -> Floats:
        """Scores of a term by this project's BM25, from those of FTS5: the frequencies that they came from, weighted
        with Lucene's idf, and with lengths of at most 1.5 times the mean."""
        n, total = len(places), len(self.ids)
        ratios = self._lengths[places] / self._lengths.mean()
        norms = 1.2 * (0.25 + 0.75 * ratios)
        parts = scores / max(1e-6, math.log((total - n + 0.5) / (n + 0.5)))
        often = np.rint(parts * norms / (2.2 - parts))
        norms = 1.2 * (0.25 + 0.75 * np.minimum(ratios, 1.5))
        return math.log(1 + (total - n + 0.5) / (n + 0.5)) * often * 2.2 / (often + norms)

    @cached_property
    def _lengths(self) -> Floats:
        """(passages,) number of tokens."""
        sizes = self._words.execute("SELECT sz FROM words_docsize ORDER BY id")
        return np.array([_number(size) for (size,) in sizes], dtype=np.float64)

    def ranked(
        self,
        query: NDArray[np.float32],
        cosines: Floats,
        words: Floats,
        weight: float,
        rows: Ids,
        k: int,
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


def _number(varint: bytes) -> int:
    """The first number of SQLite's varints: seven bits a byte, the highest first."""
    value = 0
    for byte in varint:
        value = value << 7 | byte & 127
        if byte < 128:
            break
    return value


def compared(
    everything: Everything,
    index: Path,
    queries: Sequence[str],
    vectors: NDArray[np.float32],
    ks: Sequence[int] = KS,
) -> Compared:
    """Ask an index, in every mode, for every k; and each query once more with a filter."""
    found, stemmer, cosines = Compared(), Stemmer(), everything.cosines(vectors)
    sets, every = list(_filters(everything)), np.arange(len(everything.ids))
    with Store(index).reading() as snapshot:
        passing = snapshot.passing(parse(FILTER))
        if passing is None or not np.array_equal(passing, everything.passing):
            found.wrong.append(f"the filter {FILTER}")
        for i, text in enumerate(queries):
            words = everything.words(stemmer.terms(text))
            among = sets[i % len(sets)]
            asked = [(None, k) for k in ks] + [(among, ks[i % len(ks)])]
            for ranking in (Ranking.of(mode=mode) for mode in MODES):

                def truth(  # type: ignore[no-untyped-def]
                    rows: Ids, k: int, i=i, words=words, weight=ranking.weight
                ) -> tuple[Ids, Floats]:
                    return everything.ranked(vectors[i], cosines[:, i], words, weight, rows, k)

                full = truth(every, max(ks))
                filtered = truth(np.searchsorted(everything.ids, among), asked[-1][1])
                for only, k in asked:
                    hits = Fusion(snapshot, EncodedQuery(text, vectors[i]), ranking, only).top(k)
                    _compare(
                        found,
                        hits,
                        full if only is None else filtered,
                        k,
                        f"{ranking.mode}, k = {k}, '{text}'",
                    )
    return found


def _filters(everything: Everything) -> Iterator[Ids]:
    """Passages to choose from: those that pass a filter, and so many of all."""
    chance = np.random.default_rng(0)
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
    tolerance = 0 if what.startswith("dense") else TOLERANCE
    if max(off, theirs) > tolerance or len(set(ids.tolist())) < len(ids):
        found.wrong.append(f"{what}: scores off by {max(off, theirs):.1e}")
    elif not np.array_equal(ids, truth[0][: len(ids)]):
        found.other_order += 1
        if not tolerance:
            found.wrong.append(f"{what}: equal scores, not in the order of ids")


def _opened(index: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{index / 'index.db'}?mode=ro", uri=True)


def texts(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Ids of all passages, and what is encoded of each."""
    for id_, context, text, hidden in connection.execute(
        "SELECT id, context, text, hidden FROM passages ORDER BY id"
    ):
        yield id_, with_context(context, visible(text, json.loads(hidden)))


def asked(index: Path, n: int, seed: int) -> list[str]:
    """Sentences of 4 to 16 words of passages drawn at random; fewer than n where there are few."""
    drawn, found = random.Random(seed), dict[str, None]()
    with closing(_opened(index)) as connection:
        (last,) = connection.execute("SELECT max(id) FROM passages").fetchone()
        for _ in range(100 * n):
            row = connection.execute(
                "SELECT text FROM passages WHERE id >= ? LIMIT 1", (drawn.randint(1, last),)
            ).fetchone()
            sentences = re.split(r"(?<=[.?!])\s+", " ".join(row[0].split()))
            if fit := [
                sentence
                for sentence in sentences
                if len(sentence) <= 120 and 4 <= len(sentence.split()) <= 16
            ]:
                found[drawn.choice(fit)] = None
            if len(found) == n:
                break
    return list(found)


def export(index: Path, place: Path, n: int) -> None:
    """Write what peers.py takes: vectors and texts of an index, and n queries with the ten passages nearest to each."""
    place.mkdir(parents=True, exist_ok=True)
    everything, questions = Everything(index), asked(index, n, 2)
    queries = StandIn().encode(questions, role="query", truncate=True)
    nearest = np.argsort(-everything.cosines(queries), axis=0, kind="stable")[:10].T
    np.savez(place / "passages.npz", ids=everything.ids, vectors=everything.vectors)
    np.savez(place / "queries.npz", vectors=queries, nearest=everything.ids[nearest])
    (place / "queries.json").write_text(json.dumps(questions), encoding="utf-8")
    with (
        closing(_opened(index)) as connection,
        (place / "texts.jsonl").open("w", encoding="utf-8") as out,
    ):
        out.writelines(json.dumps(text) + "\n" for _, text in texts(connection))


def adversarial(place: Path, many: int, seed: int) -> None:
    """Compare the hits among vectors that are hard to tell apart, and print a table.

    Segments are small here, so that what is equal lies in several, and in the tail.

    Args:
        many: vectors of a kind.
    """
    names = (
        "dimensions",
        "passages",
        "lists compared",
        "wrong",
        "in another order",
        "largest difference",
    )
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    wrong = []
    for dimension in DIMENSIONS:
        here, corpus = place / f"adversarial{dimension}", Adversarial(dimension, many, seed)
        shutil.rmtree(here, ignore_errors=True)
        numbers = range(len(corpus.starts) - 1)
        older = len(numbers) * 19 // 20
        with ExitStack() as patched:
            for owner, name, few in ((scale_corpus, "_BATCH", many // 8), (segments, "LARGEST", 2 * many),
                                     (segments, "LONGEST_TAIL", many)):  # fmt: skip
                patched.enter_context(patch.object(owner, name, few))
            for part in (numbers[:older], numbers[older:]):  # what the first run sealed, and a tail
                fill(here / "files", corpus, part)
                build(here / "files", here / "index", corpus, AnyDimension(dimension))
            for path in sorted((here / "files").rglob("*.txt"))[::9]:
                path.unlink()
            build(here / "files", here / "index", corpus, AnyDimension(dimension))
        texts = [f"w{n % 3} w{n % 50} n{n}" for n in range(len(corpus.queries))]
        found = compared(Everything(here / "index"), here / "index", texts, corpus.queries)
        counts = (dimension, len(corpus.vectors), found.lists, len(found.wrong), found.other_order)
        print(f"| {' | '.join(map(str, counts))} | {found.largest:.1e} |")
        wrong += [f"d = {dimension}: {text}" for text in found.wrong]
    if wrong:
        sys.exit("\n".join(["lists of hits are wrong:", *wrong[:20]]))
