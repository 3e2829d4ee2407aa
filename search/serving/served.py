"""The indexes that a server answers from: opened once, their facets, and answers of one generation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import TypeVar

from search.errors import IndexNotFound, SearchError, first_line
from search.index import Index
from search.records.contents import Facet
from search.serving.encoding import Encoders
from search.several import Indexes, name_of
from search.store.layout import all_indexes, is_own

Answered = TypeVar("Answered")

_TRIES = 5  # of an index that is written to all the time


class GenerationGone(SearchError):
    """The index is not the one of the generation that is wanted any more."""


class IndexBusy(SearchError):
    """There was no generation that lasted as long as a question."""


def in_one_generation(
    index: Index | Indexes, wanted: int | None, work: Callable[[], Answered]
) -> tuple[int, Answered]:
    """What is found in one generation of an index, and its number; asked anew where the index changes meanwhile.

    Raises:
        GenerationGone: another generation is wanted.
        IndexBusy: there was none that lasted.
    """
    generation = index.generation
    for _ in range(_TRIES):
        if wanted not in (None, generation):
            raise GenerationGone(
                f"the index has changed: it is not the one of generation {wanted} any more, but of {generation}. "
                "Ask anew, without generation and next."
            )
        found, before = work(), generation
        generation = index.generation
        if generation == before:
            return generation, found
    raise IndexBusy("the index is being written to. Ask again in a moment.")


Found = Future[tuple[Facet, ...]]


class Faceting:
    """The facets of an index, looked for once in each of its states, and in one at a time. Safe between threads."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._generation, self._found = -1, Found()
        self._found.set_result(())

    def facets(self, seconds: float | None = None) -> tuple[Facet, ...] | None:
        """Those of the index as it is; None if they are not there in that time.

        Raises:
            SearchError: as `Index.facets`.
        """
        while True:
            found, is_now = self._looked_for()
            wait([found], seconds)
            if found.done() and is_now:
                return found.result()
            if seconds is not None:
                return None

    def _looked_for(self) -> tuple[Found, bool]:
        """What is or was looked for last, and whether that is of the index as it is."""
        with self._lock:
            generation = self._index.generation
            outdated = generation != self._generation or (self._found.done() and self._found.exception())
            if outdated and self._found.done():
                self._generation, self._found = generation, Found()
                threading.Thread(target=self._find, args=(self._found,), daemon=True).start()
            return self._found, generation == self._generation

    def _find(self, found: Found) -> None:
        try:
            found.set_result(self._index.facets())
        except BaseException as error:
            found.set_exception(error)


_SECONDS_BETWEEN_TRIES = 30.0


class Served:
    """Indexes by name, each open once. Those made in the same way share an encoder. Safe between threads.

    Attributes:
        indexes: name -> index; of the HTTP API the first is asked where none is named.
        faceting: by the same names, what finds facets.
        notes: what was left out, and why.
        ready: set when `warm` has loaded what the first queries need, or tried to.
        failed: name of an index -> why it could not be asked when that was tried last.
    """

    def __init__(self, indexes: Sequence[Index] = (), *, offline: bool = False, engine: str = "auto") -> None:
        self.indexes: dict[str, Index] = {}
        self.faceting: dict[str, Faceting] = {}
        self.notes: tuple[str, ...] = ()
        self.ready = threading.Event()
        self.failed: dict[str, Exception] = {}
        self._lock, self._encoders, self._every = threading.Lock(), Encoders(), False
        self._open = partial(Index.open, offline=offline, engine=engine)
        for index in indexes:
            self.indexes[name_of(index)] = self._prepared(index)

    @classmethod
    def open(cls, what: Sequence[str | Path] = (), *, offline: bool = False, engine: str = "auto") -> Served:
        """Open indexes: those that are named; else the one that `Index.open()` means, and all others of the user.

        Raises:
            IndexNotFound: there is no index of a name.
        """
        served = cls(offline=offline, engine=engine)
        for one in what or (None,):
            with nullcontext() if what else suppress(SearchError):
                index = served._open(one)
                served.indexes[name_of(index)] = served._prepared(index)
        served._every = not what
        served.renew()
        return served

    def renew(self) -> None:
        """Serve the user's indexes as they are now, with new ones and without those removed; unless some were named."""
        if not self._every:
            return
        with self._lock:
            own, notes = {path.name: path for path in all_indexes()}, []
            indexes = {
                name: index for name, index in self.indexes.items() if name in own or not is_own(index.path)
            }
            for name in sorted(own.keys() - indexes.keys()):
                try:
                    indexes[name] = self._prepared(self._open(own[name]))
                except SearchError as error:
                    notes.append(f"an index is left out: {error}")
            self.indexes, self.notes = indexes, tuple(notes)

    def _prepared(self, index: Index) -> Index:
        index.find_encoders_by(self._encoders)
        self.faceting[name_of(index)] = Faceting(index)
        return index

    def only(self, names: Sequence[str], every: bool = False) -> Served:
        """The same with some of the indexes, in this order.

        Args:
            every: `renew` adds indexes of the user that are made later.

        Raises:
            IndexNotFound: there is no index of such a name here.
        """
        fewer = copy(self)
        fewer.indexes, fewer._every = {name: self.index(name) for name in names}, every
        return fewer

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
        found = self.indexes.get(name or self.first)
        if found is None:
            raise IndexNotFound(f"there is no index '{name}' here. Choose one of: {', '.join(self.indexes)}.")
        return found

    def named(self, name: str | None) -> dict[str, Index]:
        """The index of a name; all for None.

        Raises:
            IndexNotFound: there is none of that name here, or none at all.
        """
        index = self.index(name)
        return {name: index} if name else dict(self.indexes)

    def warm(self, ends: threading.Event | None = None, say: Callable[[str], None] = lambda _: None) -> None:
        """Load what the first queries need; until `ends`, try again now and then what failed.

        Args:
            ends: nothing more is loaded once it is set.
            say: is told what is wrong with an index.
        """
        for name in self.indexes:
            if ends and ends.is_set():
                return
            self._try(name)
            if name in self.failed:
                say(f"note: the index '{name}' cannot be asked: {first_line(self.failed[name])}")
        self.ready.set()
        while ends and self.failed and not ends.wait(_SECONDS_BETWEEN_TRIES):
            for name in list(self.failed):
                self._try(name)

    def _try(self, name: str) -> None:
        try:
            self.indexes[name].query("a", k=1)
        except Exception as error:
            self.failed[name] = error
        else:
            self.failed.pop(name, None)
