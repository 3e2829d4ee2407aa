"""Watch the folders of an index for changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from search.errors import SearchError
from search.store.settings import Folders, as_text

# Changes that follow each other so quickly count as one.
_TOGETHER_MS = 300
_TIMEOUT_MS = 1000
# After so many timeouts, a minute, the folders are compared anyway: network drives report no changes.
_MOST_TIMEOUTS = 60


def changes(folders: Folders, index: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """Yield at the start, whenever something in the folders may have changed, and at least once a minute.

    Args:
        index: folder of the index; changes in it are ignored.
        stop: ends the iteration when it is set.

    Raises:
        SearchError: the system cannot watch the folders.
    """
    from watchfiles import DefaultFilter, watch

    folders.require_files()
    watched = watch(
        *filter(Path.is_dir, folders.paths),
        watch_filter=DefaultFilter(ignore_paths=[index]),
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
