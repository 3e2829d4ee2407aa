"""The indexes that a server answers from: opened once, and answers of one generation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from search.encoding import Encoder, Fingerprint
from search.errors import IndexNotFound, SearchError, first_line
from search.index import Index
from search.indexes import Indexes, name_of
from search.store.layout import all_indexes, is_own

Answered = TypeVar("Answered")

_TRIES = 5  # of an index that is written to all the time


class GenerationGone(SearchError):
    """The index is no longer at the expected generation."""


class IndexBusy(SearchError):
    """The index kept changing while a request was answered."""


def in_one_generation(
    index: Index | Indexes, expected: int | None, work: Callable[[], Answered]
) -> tuple[int, Answered]:
    """Run `work` in one generation of an index, again if the index changes meanwhile; return its number and the result.

    Raises:
        GenerationGone: the index is not at the expected generation.
        IndexBusy: the index changed during every attempt.
    """
    generation = index.generation
    for _ in range(_TRIES):
        if expected not in (None, generation):
            raise GenerationGone(
                f"the index has changed since generation {expected}. Try again without generation."
            )
        answer, before = work(), generation
        generation = index.generation
        if generation == before:
            return generation, answer
    raise IndexBusy("the index is being updated. Try again in a moment.")


class AppState:
    """Indexes by name, each open once. Those made in the same way share an encoder. Safe between threads.

    Attributes:
        indexes: index by name; the HTTP API asks the first if a request names none.
        notes: indexes that were left out, and why.
        ready: set when `warm` has loaded what the first queries need, or tried to.
    """

    def __init__(self, *, offline: bool = False, engine: str = "auto") -> None:
        self.indexes: dict[str, Index] = {}
        self.notes: tuple[str, ...] = ()
        self.ready = threading.Event()
        self._lock, self._every = threading.RLock(), False
        self._encoders: WeakValueDictionary[Fingerprint, Encoder] = WeakValueDictionary()
        self._open = partial(Index.open, offline=offline, engine=engine)

    @classmethod
    def open(
        cls, indexes: Sequence[Index | str | Path] = (), *, own: bool = False, **options: Any
    ) -> AppState:
        """Open indexes: those that are named; else the one that `Index.open()` means, and all others of the user.

        Args:
            own: unless some are named, only those of the user, as another may have come with somebody's files.
            options: of `Index.open`: offline, engine.

        Raises:
            IndexNotFound: there is no index of a name.
        """
        served = cls(**options)
        for source in indexes or (() if own else (None,)):
            with nullcontext() if indexes else suppress(SearchError):
                index = source if isinstance(source, Index) else served._open(source)
                served.indexes[name_of(index)] = served._prepared(index)
        served._every = not indexes
        served.renew()
        return served

    def renew(self) -> None:
        """Serve the user's indexes as they are now, with new ones and without those removed; unless some were named."""
        if not self._every:
            return
        with self._lock:
            own, notes = {path.name: path for path in all_indexes()}, []
            indexes = {
                name: index
                for name, index in self.indexes.items()
                if name in own or not is_own(index.path)
            }
            for name in sorted(own.keys() - indexes.keys()):
                try:
                    indexes[name] = self._prepared(self._open(own[name]))
                except SearchError as error:
                    notes.append(f"skipped one index: {error}")
            self.indexes, self.notes = indexes, tuple(notes)

    def _prepared(self, index: Index) -> Index:
        index.find_encoders_by(self._encoder)
        return index

    def _encoder(self, fingerprint: Fingerprint, **options: Any) -> Encoder:
        """`Encoder.of`, once for all indexes that were made in the same way."""
        key = replace(fingerprint, passages="")
        with self._lock:
            encoder = self._encoders.get(key) or Encoder.of(fingerprint, **options)
            self._encoders[key] = encoder
            return encoder

    @property
    def first(self) -> str:
        """The name of the first index; "" where there is none."""
        return next(iter(self.indexes), "")

    def index(self, name: str | None = None) -> Index:
        """An index by its name; the first for None or "".

        Raises:
            IndexNotFound: there is none of that name here.
        """
        if not self.indexes:
            raise IndexNotFound("there is no index yet. Make one with: seewhy index FOLDER")
        index = self.indexes.get(name or self.first)
        if index is None:
            raise IndexNotFound(
                f"this server has no index '{name}'. Choose from: {', '.join(self.indexes)}."
            )
        return index

    def named(self, name: str | None) -> dict[str, Index]:
        """The index of a name; all for None.

        Raises:
            IndexNotFound: there is none of that name here, or none at all.
        """
        index = self.index(name)
        return {name: index} if name else dict(self.indexes)

    def warm(self, ends: threading.Event, say: Callable[[str], None] = lambda _: None) -> None:
        """Load what the first queries need.

        Args:
            ends: nothing more is loaded once it is set.
            say: is told what is wrong with an index.
        """
        for name, index in self.indexes.items():
            if ends.is_set():
                return
            try:
                index.query("a", k=1)
            except Exception as error:
                say(f"note: the index '{name}' cannot be searched: {first_line(error)}")
        self.ready.set()
