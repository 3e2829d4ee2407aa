"""The indexes of a server, each opened once; answers from a single generation of an index."""

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
from search.errors import NO_INDEX, IndexNotFound, SearchError, first_line
from search.index import Index, searcher_of
from search.indexes import Indexes, name_of
from search.records.options import EngineName
from search.store.home import is_own
from search.store.layout import all_indexes
from search.store.namespaces import MARK

Answered = TypeVar("Answered")

_TRIES = 5  # attempts to answer from an index that keeps changing


class GenerationGone(SearchError):
    """The index is no longer at the expected generation."""


class IndexBusy(SearchError):
    """The index kept changing while a request was answered."""


def in_one_generation(
    index: Index | Indexes, expected: int | None, work: Callable[[], Answered]
) -> tuple[int, Answered]:
    """Return the generation of the index that `work` saw, and its result; repeat it if the index changes meanwhile.

    Args:
        expected: the generation that the request names; None accepts any.

    Raises:
        GenerationGone: the index is not at the expected generation.
        IndexBusy: the index changed during every attempt.
    """
    generation = index.generation
    for _ in range(_TRIES):
        if expected not in (None, generation):
            raise GenerationGone(f"the index has changed since generation {expected}. Omit `generation`.")
        answer, before = work(), generation
        generation = index.generation
        if generation == before:
            return generation, answer
    raise IndexBusy("the index is being updated. Try again in a moment.")


def has_documents_from_memory(index: Index) -> bool:
    """Return True for an index of documents from memory; False for that of a folder, or one that cannot be read."""
    with suppress(SearchError):
        return searcher_of(index).store.facts.folders.memory
    return False


class AppState:
    """The open indexes of a server. Indexes with the same embeddings share an encoder. Thread-safe.

    Attributes:
        indexes: name -> index; the HTTP API uses the first one if a request names none.
        notes: sentences about indexes that could not be opened.
        ends: set when the server stops, so that streams of events end.
        ready: set when `warm` is done: what the first queries need is loaded, or loading failed.
    """

    def __init__(self, *, offline: bool = False, engine: EngineName = "auto") -> None:
        self.indexes: dict[str, Index] = {}
        self.notes: tuple[str, ...] = ()
        self.ready, self.ends = threading.Event(), threading.Event()
        self._lock, self._every = threading.RLock(), False
        self._encoders: WeakValueDictionary[Fingerprint, Encoder] = WeakValueDictionary()
        self._open = partial(Index.open, offline=offline, engine=engine)

    @classmethod
    def open(
        cls, indexes: Sequence[Index | str | Path] = (), *, own: bool = False, **options: Any
    ) -> AppState:
        """Open indexes to serve.

        Args:
            indexes: the indexes to open; () opens the one that `Index.open()` finds, and all others of the user.
            own: without `indexes`, open only those in the user's data folder, not an index found in some other folder.
            options: options of `Index.open`: offline, engine.

        Raises:
            IndexNotFound: a named index does not exist.
        """
        served = cls(**options)
        for source in indexes or (() if own else (None,)):
            with nullcontext() if indexes else suppress(SearchError):
                index = source if isinstance(source, Index) else served._open(source)
                served.indexes[name_of(index)] = served._prepared(index)
        served._every = not indexes
        served.refresh()
        return served

    @property
    def to_complete(self) -> list[Path]:
        """Indexes with passages to encode, which a process in the background may complete."""
        return [index.path for index in self.indexes.values() if searcher_of(index).to_complete]

    def refresh(self) -> None:
        """Open the user's new indexes and drop the removed ones; does nothing if `open` was given indexes."""
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
        searcher_of(index).load_encoders_with(self._encoder)
        return index

    def _encoder(self, fingerprint: Fingerprint, **options: Any) -> Encoder:
        """Return `Encoder.of` a fingerprint; indexes with the same embeddings share the encoder."""
        key = replace(fingerprint, passages="")
        with self._lock:
            encoder = self._encoders.get(key) or Encoder.of(fingerprint, **options)
            self._encoders[key] = encoder
            return encoder

    @property
    def first(self) -> str:
        """Name of the first index; "" if there is none."""
        return next(iter(self.indexes), "")

    def index(self, name: str | None = None, *, create: bool = False) -> Index:
        """Return the index with a name, or its namespace ("tickets@acme"); None and "" mean the first one.

        Args:
            create: create a namespace that does not exist.

        Raises:
            IndexNotFound: the server has no index of that name.
        """
        if not self.indexes:
            raise IndexNotFound(NO_INDEX)
        index = self.indexes.get(name or self.first)
        if index is None and (inner := self._namespace(name or "", create)):
            return inner
        if index is None:
            raise IndexNotFound(
                f"this server has no index '{name}'. Choose from: {', '.join(self.indexes)}."
            )
        return index

    def _namespace(self, name: str, create: bool) -> Index | None:
        """Return the namespace of a name such as "tickets@acme"; None if there is none."""
        for outer, index in self.indexes.items():
            namespace = name.removeprefix(f"{outer}{MARK}")
            if namespace and namespace != name and has_documents_from_memory(index):
                searcher = searcher_of(index)
                inner = searcher.within(namespace, create=True) if create else searcher.within(namespace)
                return Index(inner) if inner else None
        return None

    def named(self, name: str | None) -> dict[str, Index]:
        """Return the named index as {name: index}; for None, all indexes.

        Raises:
            IndexNotFound: the server has no index of that name, or none at all.
        """
        index = self.index(name)
        return {name: index} if name else dict(self.indexes)

    def warm(self, ends: threading.Event, say: Callable[[str], None] = lambda _: None) -> None:
        """Load what the first queries need.

        Args:
            ends: stops loading when it is set.
            say: called with a message about each index that cannot be loaded.
        """
        for name, index in self.indexes.items():
            if ends.is_set():
                return
            try:
                index.query("a", k=1)
            except Exception as error:
                say(f"note: the index '{name}' cannot be searched: {first_line(error)}")
        self.ready.set()
