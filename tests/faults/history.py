"""The expected-state file: what each file held, in which order, and what was reported as committed.

A worker appends a line, forced to disk, before it edits and after a commit has returned. It may be killed between
any two; so what the index must hold of a file is not one text but one of a few: the last one that was
reported as committed, or any that came after it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.oracle import Documents, expected, stored_documents


class Log:
    """A worker's end of it."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("a", encoding="utf-8")

    def write(self, **line: Any) -> None:
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())


class History:
    """The harness's end of it.

    Attributes:
        versions: name -> every text that the file had, oldest first; None where there was no file.
        committed: name -> which of its versions is the oldest that the index may hold.
    """

    def __init__(self, log: Path) -> None:
        self._log, self._offset = log, 0
        self.versions: dict[str, list[bytes | None]] = {}
        self.committed: dict[str, int] = {}
        self.reported = 0

    def restart(self, files: Mapping[str, bytes]) -> None:
        """The index is known to hold just these files, and nothing earlier will be asked for again."""
        self.versions = {name: [raw] for name, raw in files.items()}
        self.committed = dict.fromkeys(files, 0)

    def read(self) -> None:
        """Take in what the worker wrote since; half a line at the end was never reported."""
        data = self._log.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        lines, self._offset = whole[self._offset :].splitlines(), len(whole)
        for line in lines:
            self.take(json.loads(line))

    def take(self, line: dict[str, Any]) -> None:
        """Take in one line of the log."""
        for name, text in line.get("edit", {}).items():
            self.add_version(name, None if text is None else text.encode())
        for name, sha256 in line.get("stored", ()):
            hashes = [raw and hashlib.sha256(raw).hexdigest() for raw in self.versions.get(name, [])]
            if sha256 in hashes:
                self._commit(name, len(hashes) - 1 - hashes[::-1].index(sha256))
        for name in line.get("removed", ()):
            if None in self.versions.get(name, []):
                versions = self.versions[name]
                self._commit(name, len(versions) - 1 - versions[::-1].index(None))
        if line.get("done"):
            for name, versions in self.versions.items():
                self._commit(name, len(versions) - 1)

    def add_version(self, name: str, raw: bytes | None) -> None:
        """A file was about to get this content, or was found with it."""
        if name not in self.versions:
            self.versions[name], self.committed[name] = [None], 0
        if self.versions[name][-1] != raw:
            self.versions[name].append(raw)

    def _commit(self, name: str, version: int) -> None:
        self.reported += version > self.committed[name]
        self.committed[name] = max(self.committed[name], version)

    def wrong(self, index: Path) -> list[str]:
        """Documents that were lost after their commit was reported, and documents that no file had."""
        have = stored_documents(index)
        problems = [
            f"phantom: no file was ever called '{name}'" for name in have.keys() - self.versions.keys()
        ]
        for name, versions in self.versions.items():
            may = [expected(name, raw) if raw else {} for raw in versions[self.committed[name] :]]
            if not _is_one_of(have.get(name, {}), may):
                before = [expected(name, raw) if raw else {} for raw in versions]
                kind = "lost" if have.get(name, {}) in before else "phantom"
                problems.append(f"{kind}: '{name}' is none of the {len(may)} versions that it may be")
        return problems


def _is_one_of(have: Documents, may: list[Documents]) -> bool:
    """True if a file's documents are those of one version, or, record by record, of several.

    The second is a file that was being committed in several batches.
    """
    if have in may:
        return True
    records = {record for version in may for record in version}
    has_several = len(records) > 1
    return has_several and all(
        any(have.get(record) == version.get(record) for version in may)
        for record in records | have.keys()
    )
