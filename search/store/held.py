"""What a process holds of an index: open files, and what belongs to the state that it was in when it was last read.

Files never change, so they stay open as long as the index names them. All else is of one state: which passages of a
segment are still there, the embeddings of the tail, the words.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from search.errors import IndexDamaged
from search.store import words
from search.store.bm25 import Words
from search.store.database import one_meta
from search.store.files import DATABASE
from search.store.nearest import Piece
from search.store.segments import Segment, after, open_codes, open_words, read_segments, tombstones
from search.store.terms import Stemmer
from search.store.vectors import embeddings

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from search.store.codes import Codes
    from search.store.postings import Block

_Opened = TypeVar("_Opened")
_TAIL_KEPT = 1 << 14  # passages of a tail whose embeddings stay in memory


class Held:
    """The files of an index that are open in a process, and its last state. Safe between threads.

    Attributes:
        problem: what is wrong with a file though queries are answered; "" for nothing.
        searches: how often passages were looked for by their embeddings.
    """

    def __init__(self, index: Path) -> None:
        self._index = index
        self.stemmer = Stemmer()
        self.lock = threading.RLock()
        self._codes: dict[str, Codes] = {}
        self._blocks: dict[str, Block] = {}
        self._distrusted: set[object] = set()
        self._state: State | None = None
        self.problem = ""
        self.searches = 0

    def state(self, connection: sqlite3.Connection) -> State:
        """The state that a read transaction sees."""
        segments = read_segments(connection)
        counted = tuple(one_meta(connection, key) for key in ("passages", "last_passage"))
        key = (*counted, *_marks(self._index / DATABASE), *(segment.file for segment in segments))
        with self.lock:
            if self._state is None or self._state.key != key:
                self._state = State(self, key, segments, counted[0])
                for opened in (self._codes, self._blocks):
                    for name in opened.keys() - set(key):
                        del opened[name]
                self._distrusted &= set(key)
                if not self._distrusted:
                    self.problem = ""
            return self._state

    def codes(self, segment: Segment, dimension: int) -> Codes:
        """The FAISS file of a segment.

        Raises:
            IndexDamaged: it cannot be used.
        """
        with self.lock:
            if segment.file in self._distrusted:
                raise IndexDamaged(self.problem)
            try:
                return _kept(self._codes, segment, lambda: open_codes(self._index, segment, dimension))
            except IndexDamaged:
                self.distrust(segment)
                raise

    def block(self, segment: Segment) -> Block:
        """The words of a segment."""
        with self.lock:
            return _kept(self._blocks, segment, lambda: open_words(self._index, segment))

    def distrust(self, segment: Segment) -> None:
        """Let nobody use the FAISS file of a segment: it does not hold what index.db holds."""
        with self.lock:
            self._distrusted.add(segment.file)
            self.problem = (
                f"the file '{segment.faiss}' of the index is damaged or missing. Queries are exact without it, only "
                "slower. To fix this, run: seewhy check --repair"
            )


def _marks(database: Path) -> tuple[int, int]:
    """What tells a copy that was put back, in which ids were given to other passages; nothing of one that is made."""
    try:
        found = database.stat()
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def _kept(opened: dict[str, _Opened], segment: Segment, open_it: Callable[[], _Opened]) -> _Opened:
    if segment.file not in opened:
        opened[segment.file] = open_it()
    return opened[segment.file]


class State:
    """One state of an index, as far as it was asked for. Safe between threads.

    Attributes:
        key: no other state has it, as ids of passages are never used twice.
        passages: how many there are.
    """

    def __init__(self, held: Held, key: Hashable, segments: list[Segment], passages: int) -> None:
        self.key, self.segments, self.passages = key, segments, passages
        self._held = held
        self._dead: NDArray[np.int64] | None = None
        self._tail: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None
        self._words: Words | None = None

    def pieces(
        self, connection: sqlite3.Connection, dimension: int, among: NDArray[np.int64] | None = None
    ) -> dict[Segment, Piece]:
        """What there is to be looked at in each segment.

        Args:
            among: ids of the passages to choose from, increasing; None for all that are there.

        Raises:
            IndexDamaged: a file cannot be used.
        """
        found = {}
        for segment in self.segments:
            codes = self._held.codes(segment, dimension)
            if among is None:
                chosen = self._living(connection, codes.ids)
            else:
                chosen = np.zeros(len(codes.ids), dtype=bool)
                chosen[_places(codes.ids, _between(among, segment.first, segment.last))] = True
            found[segment] = Piece(codes, chosen, sparing=self._held.searches == 1)
        return found

    def tail(
        self, connection: sqlite3.Connection, dimension: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Blocks of (ids, embeddings) of the passages behind the last segment."""
        if self._tail is not None:
            yield self._tail
            return
        kept, count = [], 0
        for block in embeddings(connection, dimension, after(self.segments)):
            count += len(block[0])
            if count <= _TAIL_KEPT:
                kept.append(block)
            yield block
        if 0 < count <= _TAIL_KEPT:
            self._tail = np.concatenate([ids for ids, _ in kept]), np.concatenate([rows for _, rows in kept])

    def ids(self, connection: sqlite3.Connection, dimension: int) -> NDArray[np.int64]:
        """Of all passages, increasing."""
        pieces = self.pieces(connection, dimension).values()
        rows = connection.execute("SELECT id FROM passages WHERE id > ? ORDER BY id", (after(self.segments),))
        tail = np.array([row[0] for row in rows], dtype=np.int64)
        return np.concatenate([*(piece.passages for piece in pieces), tail])

    def words(self, connection: sqlite3.Connection) -> Words:
        """The words of all passages.

        Raises:
            IndexDamaged: they are not to be trusted.
        """
        with self._held.lock:
            if self._words is None:
                if not words.hold(connection):
                    raise IndexDamaged(words.DAMAGED)
                blocks = [*map(self._held.block, self.segments), *words.tail(connection)]
                self._words = Words(
                    self._held.stemmer, blocks, [self._living(connection, block.ids) for block in blocks]
                )
            return self._words

    def _living(self, connection: sqlite3.Connection, ids: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """(n,) which of some passages, by increasing ids, are still there; None for all."""
        if self._dead is None:
            self._dead = tombstones(connection)
        dead = _between(self._dead, int(ids[0]), int(ids[-1])) if len(ids) else self._dead[:0]
        if not len(dead):
            return None
        living = np.ones(len(ids), dtype=bool)
        living[_places(ids, dead)] = False
        return living


def _between(ids: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
    """Those of increasing ids that are in a range."""
    return ids[np.searchsorted(ids, first) : np.searchsorted(ids, last, side="right")]


def _places(ids: NDArray[np.int64], those: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where some of increasing ids are.

    Raises:
        IndexDamaged: one is not among them.
    """
    places = np.searchsorted(ids, those)
    if (ids[np.minimum(places, len(ids) - 1)] != those).any():
        raise IndexDamaged("a segment of the index lacks passages. To fix this, run: seewhy check --repair")
    return places
