"""Changes of the documents of an index, whoever makes them: this process, another, or a server.

The states of all documents are compared when the generation of the index has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from search.errors import IndexNotFound, SearchError
from search.records.reports import DocumentChanges
from search.store.database import one_meta, reading
from search.store.file_states import document_hashes
from search.store.files import DATABASE

SECONDS_BETWEEN = 1.0
"""Seconds between two looks at the generation."""


class ChangeFinder:
    """Finds the documents that have changed since it last looked.

    Args:
        index: folder of an index.
    """

    def __init__(self, index: Path) -> None:
        self._database = index / DATABASE
        self.generation, self._hashes = self._state()

    def changes(self) -> DocumentChanges | None:
        """Return the changes since the last call; None if the index has not changed.

        Raises:
            SearchError: the index cannot be read; the next call compares with the same state as this one.
        """
        with reading(self._database) as connection:
            if one_meta(connection, "generation", 0) == self.generation:
                return None
        before = self._hashes
        self.generation, now = self._state()
        self._hashes = now
        return DocumentChanges(
            self.generation,
            added=tuple(name for name in now if name not in before),
            changed=tuple(name for name in now if name in before and now[name] != before[name]),
            removed=tuple(name for name in before if name not in now),
        )

    def _state(self) -> tuple[int, dict[str, str | None]]:
        """Return the generation, and name -> hash of each document."""
        with reading(self._database) as connection:
            return one_meta(connection, "generation", 0), document_hashes(connection)


class ChangeSubscription:
    """A thread that calls a function after each change of documents; see `Index.on_change`. `close` ends it."""

    def __init__(self, index: Path, callback: Callable[[DocumentChanges], object]) -> None:
        self._finder, self._callback = ChangeFinder(index), callback
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="seewhy changes")
        self._thread.start()

    def __enter__(self) -> ChangeSubscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the subscription; changes so far are still reported."""
        self._ends.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch(self) -> None:
        while True:
            is_last = self._ends.wait(SECONDS_BETWEEN)
            try:
                changes = self._finder.changes()
            except IndexNotFound:  # it was removed
                return
            except SearchError:  # it cannot be read at the moment: a backup is being restored, say
                changes = None
            if changes and changes.documents:
                self._callback(changes)
            if is_last:
                return
