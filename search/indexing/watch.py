"""Tell when the files of a folder change."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from search.errors import SearchError

_TOGETHER_MS = 300  # changes that follow each other so quickly are one
_QUIET_MS = 50  # that nothing more must come before they count
_LOOK_UP_MS = 1000
_LOOK_ANYWAY_SECONDS = 60.0  # because a network drive tells nothing


def changes(folder: Path, index: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """Yield when something in the folder may have changed, once at the beginning, and every minute anyway.

    Args:
        index: if it lies inside the folder, what changes there does not count.
        stop: ends the iteration, within a second.

    Raises:
        SearchError: the system cannot watch the folder.
    """
    from watchfiles import DefaultFilter, watch

    watched = watch(
        folder,
        watch_filter=DefaultFilter(ignore_paths=[index]),
        debounce=_TOGETHER_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_UP_MS,
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )
    looked = -_LOOK_ANYWAY_SECONDS
    try:
        for changed in watched:
            if changed or time.monotonic() - looked >= _LOOK_ANYWAY_SECONDS:
                yield
                looked = time.monotonic()
    except OSError as error:
        raise SearchError(
            f"'{folder}' cannot be watched ({error}). Run `seewhy index` now and then instead, or allow more "
            "watches (on Linux: sysctl fs.inotify.max_user_watches)."
        ) from error
