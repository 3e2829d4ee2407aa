"""An index of an earlier format that is read through a copy in the current format."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from weakref import finalize

from search.store.files import DATABASE
from search.store.home import rebuild_command
from search.store.snapshot import Store


class EarlierFormatStore(Store):
    """An index of documents from memory of an earlier format, and a copy of it in the current format.

    Once somebody converts or changes the index, it is read instead of the copy.

    Args:
        path: folder of the index.
        copy: folder of the copy, which is deleted with this object.
    """

    def __init__(self, path: Path, copy: Path) -> None:
        super().__init__(path)
        self._copy, self._state_of_index = copy, _state(path)
        finalize(self, rmtree, copy, ignore_errors=True)

    @property
    def files(self) -> Path:
        """Folder of the files to read."""
        return self._copy if self.is_current else self.path

    @property
    def is_current(self) -> bool:
        """True while the index is as it was when it was copied."""
        return _state(self.path) == self._state_of_index

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about the copy."""
        if not self.is_current:
            return ()
        command = rebuild_command(self.path)
        return (
            f"the index has an earlier format and is read through a temporary copy. Convert it with: {command}",
        )


def _state(index: Path) -> tuple[int, ...]:
    try:
        stat = (index / DATABASE).stat()
    except OSError:
        return ()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
