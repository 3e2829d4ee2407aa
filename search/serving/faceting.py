"""Facets of all documents, found beside the requests that ask for them: a page does not wait for what takes seconds."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait

from search.index import Index
from search.records.contents import Facet

Found = Future[tuple[Facet, ...]]


class Faceting:
    """The facets of an index, looked for once in each of its states. Safe between threads."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._generation, self._found = -1, Found()

    def facets(self, seconds: float | None = None) -> tuple[Facet, ...] | None:
        """Those of the index as it is; None if they are not there in that time.

        Raises:
            SearchError: as `Index.facets`.
        """
        with self._lock:
            generation = self._index.generation
            failed = self._found.done() and self._found.exception() is not None
            if failed or generation != self._generation:
                self._generation, self._found = generation, Found()
                threading.Thread(target=self._find, args=(self._found,), daemon=True).start()
            found = self._found
        wait([found], seconds)
        return found.result() if found.done() else None

    def _find(self, found: Found) -> None:
        try:
            found.set_result(self._index.facets())
        except BaseException as error:
            found.set_exception(error)
