"""Facets of all documents, found beside the requests that ask for them: a page does not wait for what takes seconds."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait

from search.index import Index
from search.records.contents import Facet

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
