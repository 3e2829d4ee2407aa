"""Watch the folders of an index for changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import SearchError
from search.store.settings import Folders, as_text

if TYPE_CHECKING:
    from search.records.reports import Report

# Changes that follow each other so quickly count as one.
_TOGETHER_MS = 300
_TIMEOUT_MS = 1000
# After so many timeouts, a minute, the folders are compared anyway: network drives report no changes.
_MOST_TIMEOUTS = 60


def watch(
    update: Callable[[], Report], folders: Folders, index: Path, stop: threading.Event | None
) -> Iterator[Report | SearchError | OSError]:
    """Run an update whenever files change, and yield its report or error; see `Index.watch`."""
    for _ in changes(folders, index, stop):
        try:
            report = update()
        except (SearchError, OSError) as error:
            yield error
        else:
            if not report.nothing_changed:
                yield report


def changes(folders: Folders, index: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """Yield at the start, whenever something in the folders may have changed, and at least once a minute.

    Args:
        index: folder of the index; changes in it are ignored.
        stop: ends the iteration when it is set.

    Raises:
        SearchError: the system cannot watch the folders.
    """
    import watchfiles

    folders.require_files()
    watched = watchfiles.watch(
        *filter(Path.is_dir, folders.paths),
        watch_filter=watchfiles.DefaultFilter(ignore_paths=[index]),
        debounce=_TOGETHER_MS,
        rust_timeout=_TIMEOUT_MS,
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )
    try:
        for number, changed in enumerate(watched):
            if changed or number % _MOST_TIMEOUTS == 0:
                yield
    except OSError as error:
        raise SearchError(f"{as_text(folders.paths)} cannot be watched ({error})") from error
