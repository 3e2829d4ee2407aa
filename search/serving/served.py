"""The indexes that a server answers from."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from search.errors import IndexNotFound, SearchError
from search.index import Index
from search.serving.encoding import Encoders
from search.several import name_of
from search.store.layout import all_indexes


class Served:
    """Indexes by name, each open once. Those made in the same way share an encoder. Safe between threads.

    Attributes:
        indexes: name -> index; the first is asked where none is named.
        notes: what was left out, and why.
        ready: set when `warm` has loaded what the first queries need.
    """

    def __init__(self, indexes: Sequence[Index], notes: Sequence[str] = ()) -> None:
        if not indexes:
            raise IndexNotFound("there is no index to serve. Make one with: seewhy index FOLDER")
        self.indexes = {name_of(index): index for index in indexes}
        self.notes = tuple(notes)
        self.ready = threading.Event()
        find = Encoders()
        for index in indexes:
            index.find_encoders_by(find)

    @classmethod
    def open(cls, what: Sequence[str | Path] = (), *, offline: bool = False, engine: str = "auto") -> Served:
        """Open indexes: those that are named; else the one that `Index.open()` means, and all others of the user.

        Raises:
            IndexNotFound: there is no such index, or none at all.
        """
        if what:
            return cls([Index.open(one, offline=offline, engine=engine) for one in what])
        opened: dict[Path, Index] = {}
        notes = []
        for one in (None, *all_indexes()):
            try:
                index = Index.open(one, offline=offline, engine=engine)
                opened.setdefault(index.path.resolve(), index)
            except SearchError as error:
                if one is not None:
                    notes.append(f"an index is left out: {error}")
        return cls(list(opened.values()), notes)

    @property
    def first(self) -> str:
        """The name of the index that is asked where none is named."""
        return next(iter(self.indexes))

    def index(self, name: str | None = None) -> Index:
        """An index by its name; the first for None or "".

        Raises:
            IndexNotFound: there is none of that name here.
        """
        found = self.indexes.get(name or self.first)
        if found is None:
            raise IndexNotFound(f"there is no index '{name}' here. Choose one of: {', '.join(self.indexes)}.")
        return found

    def warm(self, ends: threading.Event | None = None) -> None:
        """Load what the first queries need. What is wrong with an index is said to whoever asks it.

        Args:
            ends: nothing more is loaded once it is set.
        """
        for index in self.indexes.values():
            if ends and ends.is_set():
                return
            with suppress(SearchError, OSError, MemoryError):
                index.query("a", k=1)
        self.ready.set()
