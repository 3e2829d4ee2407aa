"""Why a file has no passage in an index, or why what it has is not the file's text any more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from search.corpus import Skipped, SourceFile, documents, load
from search.errors import OptionalDependency, ReadError
from search.indexing.plan import listed
from search.store.protocol import Place
from search.store.settings import Source

if TYPE_CHECKING:
    from search.store.protocol import Store

NOT_THERE, OUTSIDE, NEW = "not there", "outside the folder", "new"


def why_missing(store: Store, place: Place) -> tuple[str, str]:
    """Why there is no passage of a place: a reason and a detail.

    The folder is walked as indexing walks it, and the file is read, so what is said holds now, also where it
    has changed since the index was made.

    Raises:
        InputError: the indexed folder is gone.

    Returns:
        NOT_THERE, OUTSIDE, NEW for what the next run would index, or one of search/corpus/reasons.py.
    """
    with store.reading() as snapshot:
        root, source = snapshot.root, snapshot.source
    if place.name is None:
        if os.path.lexists(place.location):
            return OUTSIDE, f"the index is of {root}"
        return NOT_THERE, ""
    files, skipped = listed(root, store.path, source)
    for file in files:
        if file.path == place.name:
            return _unread(file, place, source)
    for skip in skipped:
        if skip.path == place.name:
            return skip.reason, skip.detail
        if skip.is_folder and place.name.startswith(f"{skip.path}/") and os.path.lexists(place.location):
            return skip.reason, f"its folder {skip.path} is" + (f"; {skip.detail}" if skip.detail else "")
    return NOT_THERE, ""


def _unread(file: SourceFile, place: Place, source: Source) -> tuple[str, str]:
    """What becomes of a file that is walked, when it is read."""
    n_records = 0
    try:
        for item in documents(file, load(file), text_field=source.text_field, title_field=source.title_field):
            if isinstance(item, Skipped):
                if item.path == place.document:
                    return item.reason, item.detail
            elif place.record in (None, item.record):
                return NEW, ""
            else:
                n_records += 1
    except ReadError as error:
        return error.reason, error.detail
    except OptionalDependency as error:
        return "cannot be read", str(error)
    return NOT_THERE, f"the file has {n_records} records with text" if place.record else ""


def since_indexed(store: Store, place: Place) -> tuple[Literal["changed", "gone"] | None, str]:
    """What has happened to an indexed file since it was indexed, None for nothing, and a detail.

    A file whose size, time stamp and inode are as they were is taken to be the same, any other is read.
    """
    with store.reading() as snapshot:
        stored = next(
            filter(None, map(snapshot.file_of, place.passages)), None
        )  # None if it has left the index now
    try:
        now = os.lstat(place.location)
        if stored and (stored.size, stored.mtime_ns, stored.inode) == (
            now.st_size,
            now.st_mtime_ns,
            now.st_ino,
        ):
            return None, ""
        file = SourceFile(place.name or "", place.location, now.st_size, now.st_mtime_ns, now.st_ino)
        return (None if stored and load(file).sha256 == stored.sha256 else "changed"), ""
    except FileNotFoundError:
        return "gone", ""
    except (OSError, ReadError) as error:
        return "changed", f"it cannot be read now: {error}"
