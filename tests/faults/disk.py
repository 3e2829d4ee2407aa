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
    """What a log of the shim holds, in order."""
    at = 0
    while at < len(log):
        kind, n_path, n_other, has_data, offset, length = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        path = log[at : at + n_path].decode("utf-8", "surrogateescape")
        other = log[at + n_path : at + n_path + n_other].decode("utf-8", "surrogateescape")
        at += n_path + n_other
        data = log[at : at + length] if has_data else b""
        at += len(data)
        yield Change(kind, path, other, offset, length, data, at)


@dataclass(eq=False)
class _File:
    """What of a file is on disk for sure, and what was done to it since."""

    synced: bytearray
    pending: list[Change] = field(default_factory=list)

    def content(self, kept: list[Change]) -> bytes:
        found = bytearray(self.synced)
        for change in kept:
            if change.kind == TRUNCATE:
                del found[change.length :]
                found.extend(bytes(change.length - len(found)))
            else:
                found.extend(bytes(max(0, change.offset - len(found))))
                found[change.offset : change.offset + len(change.data)] = change.data
        return bytes(found)


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
        self._now = dict(self._durable)
        self._edits: list[_Edit] = []

    def apply(self, change: Change) -> None:
        """What a call did."""
        path, there = change.path, self._now.get(change.path)
        if change.kind in (WRITE, TRUNCATE):
            if isinstance(there, _File):  # else it was deleted while it was open
                there.pending.append(change)
        elif change.kind == SYNC:
            if isinstance(there, _File):
                there.synced, there.pending = bytearray(there.content(there.pending)), []
            else:
                self._sync_names(path)
        elif change.kind == CREATE:
            self._edit({path: _File(bytearray())})
        elif change.kind == MKDIR:
            self._edit({path: "folder"})
        elif change.kind in (UNLINK, RMDIR):
            self._edit({path: "gone"})
        elif change.kind == RENAME and there is not None:
            self._edit({path: "gone", change.other: there})

    def _edit(self, edit: _Edit) -> None:
        self._edits.append(edit)
        _do(self._now, edit)

    def _sync_names(self, folder: str) -> None:
        mine = [edit for edit in self._edits if any(_parent(name) == folder for name in edit)]
        self._edits = [edit for edit in self._edits if edit not in mine]
        for edit in mine:
            _do(self._durable, edit)

    def after_a_loss(self, keep: str, rng: Random) -> dict[str, bytes]:
        """What may be found: path below the root -> content.

        Args:
            keep: of what was not forced to disk: "nothing", "names", "bytes", "all" or "some".
        """
        n_names = {"nothing": 0, "bytes": 0, "some": rng.randint(0, len(self._edits))}.get(
            keep, len(self._edits)
        )
        names = dict(self._durable)
        for edit in self._edits[:n_names]:
            _do(names, edit)
        found = {}
        for path, file in sorted(names.items()):
            if not isinstance(file, _File) or not self._reachable(path, names):
                continue
            kept = list(file.pending) if keep in ("bytes", "all") else []
            if keep == "some":
                kept = [change for change in file.pending if rng.random() < 0.5]
            found[path[len(self.root) + 1 :]] = file.content(kept)
        return found

    def _reachable(self, path: str, names: dict[str, _File | str]) -> bool:
        """Whether all folders above a file are there."""
        folder = _parent(path)
        while folder != self.root:
            if names.get(folder) != "folder":
                return False
            folder = _parent(folder)
        return True


def _do(names: dict[str, _File | str], edit: _Edit) -> None:
    for name, what in edit.items():
        if what == "gone":
            names.pop(name, None)
        else:
            names[name] = what


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
