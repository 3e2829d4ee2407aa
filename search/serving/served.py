"""The indexes that a server answers from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path

from search.errors import IndexNotFound, SearchError, first_line
from search.index import Index
from search.serving.encoding import Encoders
from search.serving.faceting import Faceting
from search.several import name_of
from search.store.layout import all_indexes, known_as

_SECONDS_BETWEEN_TRIES = 30.0


class Served:
    """Indexes by name, each open once. Those made in the same way share an encoder. Safe between threads.

    Attributes:
        indexes: name -> index; the first is asked where none is named.
        faceting: by the same names, what finds facets.
        notes: what was left out, and why.
        ready: set when `warm` has loaded what the first queries need, or tried to.
        failed: name of an index -> why it could not be asked when that was tried last.
    """

    def __init__(self, indexes: Sequence[Index], notes: Sequence[str] = ()) -> None:
        if not indexes:
            raise IndexNotFound("there is no index to serve. Make one with: seewhy index FOLDER")
        self.indexes = {name_of(index): index for index in indexes}
        self.faceting = {name: Faceting(index) for name, index in self.indexes.items()}
        self.notes = tuple(notes)
        self.ready = threading.Event()
        self.failed: dict[str, Exception] = {}
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
        opened: dict[str, Index] = {}
        notes = []
        for one in (None, *all_indexes()):
            try:
                index = Index.open(one, offline=offline, engine=engine)
                opened.setdefault(known_as(index.name), index)
            except SearchError as error:
                if one is not None:
                    notes.append(f"an index is left out: {error}")
        return cls(list(opened.values()), notes)

    def only(self, names: Sequence[str]) -> Served:
        """The same with some of the indexes, in this order.

        Raises:
            IndexNotFound: there is none of such a name here, or none is named.
        """
        if not names:
            raise IndexNotFound("there is no index of your own. Make one with: seewhy index FOLDER")
        fewer = copy(self)
        fewer.indexes = {name: self.index(name) for name in names}
        return fewer

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
