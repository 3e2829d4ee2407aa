"""A disk that forgets what was not forced to it.

What it promises, and no more: the bytes of a file that were written before a sync of that file are there after it;
names made, changed and deleted in a folder before a sync of that folder are there after it. Of all that came later it
keeps what it likes: any of the writes, and the changes of names up to any of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

WRITE, SYNC, TRUNCATE, RENAME, UNLINK, CREATE, MKDIR, RMDIR = range(1, 9)
_HEAD = struct.Struct("=IIIIqq")


@dataclass(frozen=True)
class Change:
    """One call that the shim wrote down. `end` is where the next one begins in the log."""

    kind: int
    path: str
    other: str
    offset: int
    length: int
    data: bytes
    end: int


def changes(log: bytes) -> Iterator[Change]:
    """Changes in a log of the shim, in order."""
    position = 0
    while position < len(log):
        kind, n_path, n_other, has_data, offset, length = _HEAD.unpack_from(log, position)
        position += _HEAD.size
        path = log[position : position + n_path].decode("utf-8", "surrogateescape")
        other = log[position + n_path : position + n_path + n_other].decode("utf-8", "surrogateescape")
        position += n_path + n_other
        data = log[position : position + length] if has_data else b""
        position += len(data)
        yield Change(kind, path, other, offset, length, data, position)


@dataclass(eq=False)
class _File:
    """The bytes of a file that are on disk for sure, and the changes since."""

    synced: bytearray
    pending: list[Change] = field(default_factory=list)

    def content(self, writes: list[Change]) -> bytes:
        data = bytearray(self.synced)
        for change in writes:
            if change.kind == TRUNCATE:
                del data[change.length :]
                data.extend(bytes(change.length - len(data)))
            else:
                data.extend(bytes(max(0, change.offset - len(data))))
                data[change.offset : change.offset + len(change.data)] = change.data
        return bytes(data)


_Edit = dict[str, _File | str]  # what becomes of names: a file, "folder" or "gone"


class Disk:
    """The files below one folder, as they are and as they may be found.

    Args:
        root: a folder; what is in it now is on disk for sure.
    """

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self._durable: dict[str, _File | str] = {}
        for path in sorted(root.rglob("*")) if root.exists() else []:
            self._durable[str(path)] = "folder" if path.is_dir() else _File(bytearray(path.read_bytes()))
        self._current = dict(self._durable)
        self._edits: list[_Edit] = []

    def apply(self, change: Change) -> None:
        """Do what a call did."""
        path, entry = change.path, self._current.get(change.path)
        if change.kind in (WRITE, TRUNCATE):
            if isinstance(entry, _File):  # else it was deleted while it was open
                entry.pending.append(change)
        elif change.kind == SYNC:
            if isinstance(entry, _File):
                entry.synced, entry.pending = bytearray(entry.content(entry.pending)), []
            else:
                self._sync_names(path)
        elif change.kind == CREATE:
            self._edit({path: _File(bytearray())})
        elif change.kind == MKDIR:
            self._edit({path: "folder"})
        elif change.kind in (UNLINK, RMDIR):
            self._edit({path: "gone"})
        elif change.kind == RENAME and entry is not None:
            self._edit({path: "gone", change.other: entry})

    def _edit(self, edit: _Edit) -> None:
        self._edits.append(edit)
        _do(self._current, edit)

    def _sync_names(self, folder: str) -> None:
        edits = [edit for edit in self._edits if any(_parent(name) == folder for name in edit)]
        self._edits = [edit for edit in self._edits if edit not in edits]
        for edit in edits:
            _do(self._durable, edit)

    def after_a_loss(self, keep: str, rng: Random) -> dict[str, bytes]:
        """Files that may be found: path below the root -> content.

        Args:
            keep: of what was not forced to disk: "nothing", "names", "bytes", "all" or "some".
        """
        n_names = {"nothing": 0, "bytes": 0, "some": rng.randint(0, len(self._edits))}.get(
            keep, len(self._edits)
        )
        names = dict(self._durable)
        for edit in self._edits[:n_names]:
            _do(names, edit)
        contents = {}
        for path, file in sorted(names.items()):
            if not isinstance(file, _File) or not self._reachable(path, names):
                continue
            writes = list(file.pending) if keep in ("bytes", "all") else []
            if keep == "some":
                writes = [change for change in file.pending if rng.random() < 0.5]
            contents[path[len(self.root) + 1 :]] = file.content(writes)
        return contents

    def _reachable(self, path: str, names: dict[str, _File | str]) -> bool:
        """True if all folders above a file are there."""
        folder = _parent(path)
        while folder != self.root:
            if names.get(folder) != "folder":
                return False
            folder = _parent(folder)
        return True


def _do(names: dict[str, _File | str], edit: _Edit) -> None:
    for name, entry in edit.items():
        if entry == "gone":
            names.pop(name, None)
        else:
            names[name] = entry


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
