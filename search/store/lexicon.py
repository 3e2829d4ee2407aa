"""The words of the passages: an FTS5 table in index.db that can be rebuilt from them.

The table keeps no text, so a passage is taken out of it by the text that was put in. It has a seal in `meta`: what it
was made with, and a name for its present state. A reader trusts a table that has one, of these rules, and refuses any
other. `seewhy check` compares every word.

What FTS5 says of single terms is kept for as long as the words of an index stay as they are.
"""

from __future__ import annotations

import heapq
import math
import secrets
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from search.errors import IndexDamaged, SearchError
from search.records.shown import shown
from search.store.checksums import COVERED, covered, hidden_of, require, row_checksum
from search.store.database import one_meta, put_meta
from search.store.schema import WORDS
from search.store.terms import RULES, TOKENIZER, Stemmer, Term, indexable

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    _Ranked: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]


_Found = TypeVar("_Found", "Postings", int)

_KEY = "lexicon"
_K1, _LEAST_WEIGHT = 1.2, 1e-6  # of FTS5's bm25
_CARRYING = 3  # terms; chosen with benchmarks/quality.py and benchmarks/folders.py
_ADD = "INSERT INTO lexicon (rowid, text) VALUES (?, ?)"
_ROWS = np.dtype([("id", np.int64), ("score", np.float64)])
_MADE_WITH = {"tokenizer": TOKENIZER, "rules": RULES}
_UNSEALED = {"state": ""}
_PROBLEM = (
    "the words of the index are damaged or missing, and without them it can be asked by meaning alone (--mode dense). "
    "Mend it with: seewhy repair"
)
_NO_FTS5 = (
    "this Python's SQLite was built without FTS5, which seewhy needs to find words. Use a Python from python.org, "
    "conda-forge or your system."
)


def create(connection: sqlite3.Connection) -> None:
    """Make the empty table, and a view of its tokens."""
    try:
        for statement in WORDS.values():
            connection.execute(statement)
    except sqlite3.OperationalError as error:
        raise SearchError(_NO_FTS5) if "no such module" in str(error) else error from None


def add(connection: sqlite3.Connection, passage: int, context: str, text: str) -> None:
    """Put a passage's words in, within a transaction that ends with `seal`.

    Args:
        text: as it is read, without markup.
    """
    connection.execute(_ADD, (passage, indexable(context, text)))


def _indexed(row: Sequence[Any]) -> tuple[int, str]:
    """Id and text, as they were put in, of a row with the covered columns of a passage."""
    passage = dict(zip(COVERED["passages"], row, strict=True))
    text = shown(passage["text"], hidden_of(passage["hidden"], passage["text"]))
    return passage["id"], indexable(passage["context"], text)


def words_of(connection: sqlite3.Connection, document: int) -> list[tuple[int, str]]:
    """What was put in of a document's passages, which are still there: id and text, for `take_out`.

    Nothing where the table is not sealed: it need not hold them, and is made anew in the end.
    """
    if not is_sealed(connection):
        return []
    rows = connection.execute(
        f"SELECT {covered('passages')}, checksum FROM passages WHERE document = ?", (document,)
    )
    found = []
    for *row, checksum in rows.fetchall():
        if row_checksum(*row) != checksum:  # its words cannot be told any more
            unseal(connection)
            return []
        found.append(_indexed(row))
    return found


def take_out(connection: sqlite3.Connection, words: Iterable[tuple[int, str]]) -> None:
    """Take the words of deleted passages out, within a transaction."""
    if is_sealed(connection):
        connection.executemany("INSERT INTO lexicon (lexicon, rowid, text) VALUES ('delete', ?, ?)", words)


def seal(connection: sqlite3.Connection) -> None:
    """Name the state that the table is in now, at the end of a transaction that changed it and was sealed before."""
    if is_sealed(connection):  # else it stays without one until it is rebuilt
        _write_seal(connection)


def unseal(connection: sqlite3.Connection) -> None:
    """Let nobody trust the table until it is rebuilt, within a transaction."""
    put_meta(connection, {_KEY: _UNSEALED})


def rebuild(connection: sqlite3.Connection) -> None:
    """Make the table anew from the passages, within a transaction; it stays unsealed if one is damaged."""
    connection.execute("INSERT INTO lexicon (lexicon) VALUES ('delete-all')")
    try:
        fill(connection, connection)
    except IndexDamaged:
        connection.execute("INSERT INTO lexicon (lexicon) VALUES ('delete-all')")
        unseal(connection)
    else:
        _write_seal(connection)


def is_sealed(connection: sqlite3.Connection) -> bool:
    """Whether the table holds the words of all passages, by the rules of this version."""
    return state_of(connection) != ""


def state_of(connection: sqlite3.Connection) -> str:
    """The name of the table's present state, which no other state has; "" where it is not to be trusted."""
    try:
        found = one_meta(connection, _KEY)
    except IndexDamaged:
        return ""
    if not isinstance(found, dict) or {key: found.get(key) for key in _MADE_WITH} != _MADE_WITH:
        return ""
    return str(found.get("state", ""))


def _write_seal(connection: sqlite3.Connection) -> None:
    put_meta(connection, {_KEY: {"state": secrets.token_hex(8), **_MADE_WITH}})


def fill(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Put the words of all passages of one database into the empty table of another.

    Raises:
        IndexDamaged: the row of a passage is damaged.
    """
    rows = source.execute(f"SELECT {covered('passages')}, checksum FROM passages ORDER BY id").fetchall()
    for *row, checksum in rows:
        require("passages", row, checksum)
        target.execute(_ADD, _indexed(row))


class Lexicon:
    """The words of an index as one process asks for them. Safe between threads."""

    def __init__(self) -> None:
        self.stemmer = Stemmer()
        self._kept = KeptTerms()

    def telling(self, connection: sqlite3.Connection, terms: Sequence[Term]) -> list[Term]:
        """Those of the terms that tell passages apart: found in some, and in no more than half of them.

        FTS5's bm25 gives a term in more than half of all passages next to nothing. Where the query has no
        other, these are taken.
        """
        passages, counts = one_meta(connection, "passages"), self.counts(connection, terms)
        there = [term for term, count in zip(terms, counts, strict=True) if count]
        return [t for t, count in zip(terms, counts, strict=True) if 0 < count <= passages / 2] or there

    def counts(self, connection: sqlite3.Connection, terms: Sequence[Term]) -> list[int]:
        """In how many passages each term is."""
        found = [term for term in terms if term.stems]
        counts = dict(zip(found, self._asked(connection, found, _count), strict=True))
        return [counts.get(term, 0) for term in terms]

    def postings(self, connection: sqlite3.Connection, terms: Sequence[Term]) -> list[Postings]:
        """For each term the passages that have it, and what it adds to their BM25, which is a sum over terms.

        FTS5's own function: Okapi BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009, section 3.4), a
        term's weight being log((N - n + 0.5) / (n + 0.5)) for n of N passages, and at least 1e-6.
        """
        return self._asked(connection, terms, _postings)

    def _asked(
        self,
        connection: sqlite3.Connection,
        terms: Sequence[Term],
        ask: Callable[[sqlite3.Connection, Term], _Found],
    ) -> list[_Found]:
        """What FTS5 says of each term, as far as it is not kept.

        Raises:
            IndexDamaged: the table is not to be trusted.
        """
        found: list[_Found] = []
        state = state_of(connection) if terms else ""
        if terms and not state:
            raise IndexDamaged(_PROBLEM)
        for term in terms:
            key = (ask.__name__, term.expression)
            answer = self._kept.get(state, key)
            if answer is None:
                answer = ask(connection, term)
                self._kept.keep(state, key, answer)
            found.append(answer)
        return found


def _postings(connection: sqlite3.Connection, term: Term) -> Postings:
    rows = connection.execute(
        "SELECT rowid, -bm25(lexicon) FROM lexicon WHERE lexicon MATCH ?", (term.expression,)
    )
    found = np.fromiter(rows, dtype=_ROWS)
    found = found[np.argsort(found["id"], kind="stable")]
    return Postings(found["id"].copy(), found["score"].copy())


def _count(connection: sqlite3.Connection, term: Term) -> int:
    """In how many passages a term is."""
    if len(term.stems) == 1:
        sql, value = "SELECT doc FROM lexicon_terms WHERE term = ?", term.stems[0]
    else:
        sql, value = "SELECT count(*) FROM lexicon WHERE lexicon MATCH ?", term.expression
    row = connection.execute(sql, (value,)).fetchone()
    return int(row[0]) if row else 0


_MOST = 2_000_000  # entries of 16 bytes
_EACH = 30  # entries that a term takes besides


@dataclass(frozen=True, eq=False)
class Postings:
    """The passages that have a term.

    Attributes:
        ids: (n,) increasing.
        scores: (n,) float64, what the term adds to the BM25 of each.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]

    def at(self, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) the scores of passages, in their order; 0 for those that do not have the term."""
        if not len(self.ids):
            return np.zeros(len(passages))
        places = np.minimum(np.searchsorted(self.ids, passages), len(self.ids) - 1)
        return np.where(self.ids[places] == passages, self.scores[places], 0.0)

    def among(self, passages: NDArray[np.int64]) -> Postings:
        """Those of some passages, by increasing ids."""
        kept = np.isin(self.ids, passages, assume_unique=True)
        return Postings(self.ids[kept], self.scores[kept])


def summed(terms: Sequence[Postings]) -> Postings:
    """The passages that have any of the terms, each with the sum of what these add, in their order."""
    if not terms:
        return Postings(np.empty(0, dtype=np.int64), np.empty(0))
    ids, places = np.unique(np.concatenate([term.ids for term in terms]), return_inverse=True)
    scores = np.bincount(places, np.concatenate([term.scores for term in terms]), len(ids))
    return Postings(ids, scores.astype(np.float64, copy=False))


def weight(count: int, passages: int) -> float:
    """What a term counts that is in so many of the passages: its inverse document frequency, as FTS5 has it.

    Where an index says that it has fewer passages than the term is in, that is told elsewhere.
    """
    return max(_LEAST_WEIGHT, math.log((max(passages - count, 0) + 0.5) / (count + 0.5)))


def scale(best: float, counts: Iterable[int], passages: int) -> float:
    """The BM25 that is a word part of 1: what the three most telling terms could reach, or the best if that is more.

    A term adds at most its weight times k1 + 1, to a passage that says nothing else. So a word part means the same in
    every query, and where only poor matches exist none of them gets the whole. Few words carry a query: with all of
    them a long one would get next to nothing for its words (benchmarks/README.md).

    Args:
        best: the highest BM25 of all passages.
        counts: in how many passages each term is.
        passages: how many there are.
    """
    weights = (weight(n, passages) for n in counts)
    return max(best, (_K1 + 1) * sum(heapq.nlargest(_CARRYING, weights)))


class Matches:
    """The passages that have any of some terms; see `search.store.protocol.Matches`.

    Args:
        passages: how many there are in the index.
    """

    def __init__(self, terms: Sequence[Postings], passages: int) -> None:
        self._terms = terms
        self._sum = summed(terms)
        best = float(self._sum.scores.max()) if len(self._sum.ids) else 0.0
        self.scale = scale(best, (len(term.ids) for term in terms), passages) if terms else 1.0
        self._parts = self._sum.scores / self.scale

    def best(self, n: int, among: NDArray[np.int64] | None = None) -> _Ranked:
        ids, parts = self._chosen(-np.inf, among)
        first = np.lexsort((ids, -parts))[:n]
        return ids[first], parts[first]

    def at_least(self, part: float, among: NDArray[np.int64] | None = None) -> _Ranked:
        return self._chosen(part, among)

    def parts(self, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._sum.at(passages) / self.scale

    def addends(self, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        columns = [term.at(passages) for term in self._terms]
        return np.array(columns).reshape(len(columns), len(passages)).T / self.scale

    def _chosen(self, part: float, among: NDArray[np.int64] | None) -> _Ranked:
        chosen = self._parts >= part
        if among is not None:
            chosen[chosen] = np.isin(self._sum.ids[chosen], among)
        return self._sum.ids[chosen], self._parts[chosen]


@dataclass(eq=False)
class KeptTerms:
    """What FTS5 says of single terms, of one state of the words. Safe between threads.

    BM25 is a sum over terms, so a term that was asked for once need not be asked for again: a process that answers many
    queries asks FTS5 only for what is new in each. Common terms, which cost the most, are soon all there. What was not
    asked for longest is dropped where there are more than `most` entries in all.
    """

    most: int = _MOST
    _state: Hashable = None
    _values: OrderedDict[tuple[str, str], Any] = field(default_factory=OrderedDict)
    _held: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, state: Hashable, key: tuple[str, str]) -> Any:
        """What is kept for a question and a term; None for nothing."""
        with self._lock:
            if state != self._state or key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def keep(self, state: Hashable, key: tuple[str, str], value: Postings | int) -> None:
        """Keep an answer, unless it is too long."""
        if _entries(value) > self.most + _EACH:
            return
        with self._lock:
            if state != self._state:
                self._state, self._held = state, 0
                self._values.clear()
            if key not in self._values:
                self._values[key] = value
                self._held += _entries(value)
            while self._held > self.most:
                self._held -= _entries(self._values.popitem(last=False)[1])


def _entries(value: Postings | int) -> int:
    return _EACH + (len(value.ids) if isinstance(value, Postings) else 0)
